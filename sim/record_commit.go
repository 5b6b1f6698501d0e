package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"nova/faults"
)

// source is the commit of the source that runs, with "+" if it was changed since; ""
// if that is not known. go run and go test do not stamp what they build: there it is
// that of the checkout in which the process stands.
var source = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if c := stamped(info.Settings); c != "" {
			return c
		}
	}
	root, err := faults.Root(".")
	if err != nil {
		return ""
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module nova\n") {
		return "" // of something else
	}
	return checkedOut(root)
})

// stamped is the commit that a build was stamped with, or "".
func stamped(settings []debug.BuildSetting) (commit string) {
	dirty := ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
}

// checkedOut is the commit of a checkout, or "" where git knows of none.
func checkedOut(root string) string {
	git := func(args ...string) (string, bool) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	// A checkout of something else around the source says nothing of it.
	if top, ok := git("rev-parse", "--show-prefix"); !ok || filepath.Clean("/"+top) != "/" {
		return ""
	}
	commit, ok := git("rev-parse", "HEAD")
	if !ok {
		return ""
	}
	if changes, ok := git("status", "--porcelain", "--untracked-files=no"); !ok || changes != "" {
		commit += "+"
	}
	return commit
}
