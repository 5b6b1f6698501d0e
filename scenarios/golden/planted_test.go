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

var planted = flag.String("planted", "", "play the scripts with each of these planted bugs of faults/planted (names with commas between, or all), or each scripted one: each must be seen")

// TestThePlantedBugsAreSeen plants each bug and plays every script: at least one of
// them must come out otherwise. It takes a build a bug, so it is asked for by name:
//
//	go test ./scenarios/golden -run Planted -planted all -v -timeout 1h
func TestThePlantedBugsAreSeen(t *testing.T) {
	if *planted == "" || *planted == "scripted" {
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

// findings are the bugs of faults/planted, of findings and of gaps, that a script told
var findings = []string{"f10-a-look-beside-the-puts", "f4-armed-before-the-kill", "gap11-far-ahead-is-only-reported"}

// TestTheScriptedBugsAreSeen plants the bugs of the folder planted: those whose
// interleaving is too rare for seeds to meet, so that a script keeps it; and findings.
// They are planted together, which takes one build: of each its own script (see
// scriptOf) must come out otherwise. With -planted scripted they are planted one by one.
func TestTheScriptedBugsAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a build")
	}
	root, err := faults.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := faults.Load("planted")
	if err != nil {
		t.Fatal(err)
	}
	met, err := faults.Load(filepath.Join(root, "faults", "planted"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range met {
		if slices.Contains(findings, met[i].Name) {
			bugs = append(bugs, met[i])
		}
	}
	if *planted == "scripted" {
		for i := range bugs {
			t.Run(bugs[i].Name, func(t *testing.T) { seen(t, root, &bugs[i]) })
		}
		return
	}
	together := make([]*faults.Planted, len(bugs))
	for i := range bugs {
		together[i] = &bugs[i]
	}
	by := failing(t, root, "TestFindings|TestGaps|TestCases", together...)
	for i := range bugs {
		own := scriptOf(bugs[i].Name)
		if !slices.ContainsFunc(by, func(script string) bool { return strings.HasPrefix(script, own) }) {
			t.Errorf("%s: its script does not see it: %s", bugs[i].Name, bugs[i].Breaks)
		}
	}
	t.Logf("%d bugs; these scripts see them: %s", len(bugs), strings.Join(by, " "))
}

// scriptOf is how the name of a bug's own script begins: a bug is named for a
// finding (f3), a gap (gap11) or a case (c25).
func scriptOf(bug string) string {
	of, _, _ := strings.Cut(bug, "-")
	switch {
	case strings.HasPrefix(of, "gap"):
		return "gap-" + of[len("gap"):] + "-"
	case strings.HasPrefix(of, "f"):
		return "finding-" + of + "-"
	}
	return of + "-"
}

// seen plants one bug and plays the scripts: at least one must come out otherwise.
func seen(t *testing.T, root string, bug *faults.Planted) {
	by := failing(t, root, "TestCrashTable|TestDuties|TestCases|TestGaps|TestFindings", bug)
	if len(by) == 0 {
		t.Errorf("no script sees it: %s", bug.Breaks)
	}
	t.Logf("%d scripts see it: %s", len(by), strings.Join(by, " "))
}

// failing plants bugs, plays scripts, and returns those that come out otherwise.
func failing(t *testing.T, root, tests string, bugs ...*faults.Planted) (by []string) {
	overlay, err := faults.Overlay(root, t.TempDir(), bugs...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", overlay, ".", "-run", tests)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok && strings.Contains(name, "/") {
			name, _, _ = strings.Cut(name[strings.Index(name, "/")+1:], " ")
			by = append(by, name)
		}
	}
	if err != nil && len(by) == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	slices.Sort(by)
	broken := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if _, law, ok := strings.Cut(line, "BROKEN "); ok && !broken[law] {
			broken[law] = true
			t.Logf("broken: %s", strings.TrimSpace(law))
		}
	}
	return by
}
