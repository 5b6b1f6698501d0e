package golden_test

import (
	"flag"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nova/faults"
)

var planted = flag.Bool("planted", false, "play the scripts once with each planted bug of faults/planted: each must be seen")

// unseen are planted bugs that no script can see, and why.
var unseen = map[string]string{}

// TestThePlantedBugsAreSeen plants each bug and plays every script: at least one of
// them must come out otherwise. It takes a build a bug, so it is asked for by name:
//
//	go test ./scenarios/golden -run Planted -planted -v -timeout 1h
func TestThePlantedBugsAreSeen(t *testing.T) {
	if !*planted {
		t.Skip("without -planted")
	}
	root, err := faults.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := faults.Load(filepath.Join(root, "faults", "planted"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range bugs {
		t.Run(bugs[i].Name, func(t *testing.T) {
			overlay, err := faults.Overlay(root, t.TempDir(), &bugs[i])
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, ".", "-run", "TestCrashTable|TestDuties|TestCases|TestGaps|TestFindings")
			out, err := cmd.CombinedOutput()
			var seen []string
			for line := range strings.Lines(string(out)) {
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok && strings.Contains(name, "/") {
					name, _, _ = strings.Cut(name[strings.Index(name, "/")+1:], " ")
					seen = append(seen, name)
				}
			}
			slices.Sort(seen)
			switch why := unseen[bugs[i].Name]; {
			case err == nil && why == "":
				t.Errorf("no script sees it: %s", bugs[i].Breaks)
			case err == nil:
				t.Logf("no script sees it: %s", why)
			case len(seen) == 0:
				t.Fatalf("%v\n%s", err, out)
			default:
				t.Logf("%d scripts see it: %s", len(seen), strings.Join(seen, " "))
			}
		})
	}
}
