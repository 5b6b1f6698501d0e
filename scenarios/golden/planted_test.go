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

var planted = flag.String("planted", "", "play the scripts with each of these planted bugs of faults/planted (names with commas between, or all): each must be seen")

// TestThePlantedBugsAreSeen plants each bug and plays every script: at least one of
// them must come out otherwise. It takes a build a bug, so it is asked for by name:
//
//	go test ./scenarios/golden -run Planted -planted all -v -timeout 1h
func TestThePlantedBugsAreSeen(t *testing.T) {
	if *planted == "" {
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
		if *planted != "all" && !slices.Contains(strings.Split(*planted, ","), bugs[i].Name) {
			continue
		}
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
			switch {
			case err == nil:
				t.Errorf("no script sees it: %s", bugs[i].Breaks)
			case len(seen) == 0:
				t.Fatalf("%v\n%s", err, out)
			default:
				t.Logf("%d scripts see it: %s", len(seen), strings.Join(seen, " "))
			}
		})
	}
}
