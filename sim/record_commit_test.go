package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestStamped(t *testing.T) {
	at := func(rev, mod string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.modified", Value: mod}, {Key: "vcs.revision", Value: rev}}
	}
	if a, b, c := stamped(at("abc", "false")), stamped(at("abc", "true")), stamped(nil); a != "abc" || b != "abc+" || c != "" {
		t.Errorf("%q %q %q", a, b, c)
	}
}

// A checkout's commit has a "+" once a file of it was changed; where there is no
// checkout, or only one around the folder, none is made up.
func TestCheckedOut(t *testing.T) {
	dir := t.TempDir()
	if got := checkedOut(dir); got != "" {
		t.Errorf("no checkout is at %q", got)
	}
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("a")
	git("add", "f")
	git("commit", "-q", "-m", "m")
	clean := checkedOut(dir)
	if len(clean) != 40 {
		t.Errorf("it is at %q", clean)
	}
	write("b")
	if got := checkedOut(dir); got != clean+"+" {
		t.Errorf("changed, it is at %q", got)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := checkedOut(below); got != "" {
		t.Errorf("a folder of another checkout is at %q", got)
	}
}
