package scenarios_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nova/faults"
)

// What only a host can get wrong has planted bugs too. TestTheHostsBugsAreSeen
// plants each of the folder planted under the tests that must see it.
func TestTheHostsBugsAreSeen(t *testing.T) {
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
	tests := map[string][2]string{ // by bug: package, and test
		"gap12-a-second-put-may-win": {"./prod/s3store", "TestProbeRefuses"},
	}
	if len(bugs) != len(tests) {
		t.Errorf("%d bugs, and %d of them with a test", len(bugs), len(tests))
	}
	for i := range bugs {
		must := tests[bugs[i].Name]
		overlay, err := faults.Overlay(root, t.TempDir(), &bugs[i])
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", filepath.Clean(overlay), must[0], "-run", must[1]+"$")
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: "+must[1]) {
			t.Errorf("%s: %s does not see it: %v\n%s", bugs[i].Name, must[1], err, out)
		}
	}
}
