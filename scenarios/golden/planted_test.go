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
		t.Run(bugs[i].Name, func(t *testing.T) { seen(t, root, &bugs[i]) })
	}
}

// TestTheScriptedBugsAreSeen plants the bugs of the folder planted: those whose
// interleaving is too rare for seeds to meet, so that a script keeps it.
func TestTheScriptedBugsAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a build a bug")
	}
	root, err := faults.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := faults.Load("planted")
	if err != nil {
		t.Fatal(err)
	}
	if len(bugs) == 0 {
		t.Fatal("no bug in the folder planted")
	}
	for i := range bugs {
		t.Run(bugs[i].Name, func(t *testing.T) { seen(t, root, &bugs[i]) })
	}
}

// seen plants one bug and plays the scripts: at least one must come out otherwise.
func seen(t *testing.T, root string, bug *faults.Planted) {
	overlay, err := faults.Overlay(root, t.TempDir(), bug)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, ".", "-run", "TestCrashTable|TestDuties|TestCases|TestGaps|TestFindings")
	out, err := cmd.CombinedOutput()
	var by []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok && strings.Contains(name, "/") {
			name, _, _ = strings.Cut(name[strings.Index(name, "/")+1:], " ")
			by = append(by, name)
		}
	}
	slices.Sort(by)
	switch {
	case err == nil:
		t.Errorf("no script sees it: %s", bug.Breaks)
	case len(by) == 0:
		t.Fatalf("%v\n%s", err, out)
	default:
		t.Logf("%d scripts see it: %s", len(by), strings.Join(by, " "))
	}
}
