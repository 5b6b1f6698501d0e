package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nova/faults"
)

// The canary is a bug that breaks a share of the seeds that is known: about a third
// of fifty. Where it breaks none, the pipeline is silent, not the code sound; where
// it breaks all, it would not notice one that is half deaf. The bounds are far from
// what is seen (17), for the core may change.
const (
	canarySeeds  = 50
	canaryFewest = 5
	canaryMost   = 40
)

func TestCanary(t *testing.T) {
	root, err := faults.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := faults.Load(filepath.Join(root, "faults", "canary"))
	if err != nil || len(bugs) != 1 {
		t.Fatalf("%d canaries, %v", len(bugs), err)
	}
	dir := t.TempDir()
	overlay, err := faults.Overlay(root, dir, &bugs[0])
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "novasim")
	if err := faults.Build(context.Background(), root, overlay, binary); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "-all", "-seeds", fmt.Sprintf("0..%d", canarySeeds), "-record", dir, "-planted", bugs[0].Name}, bugs[0].With...)
	out, err := exec.Command(binary, args...).Output()
	broken := strings.Count("\n"+string(out), "\nbroken: law=1 ")
	if all := strings.Count("\n"+string(out), "\nbroken: "); broken < canaryFewest || broken > canaryMost || all != broken {
		t.Fatalf("the canary breaks law 1 in %d of %d seeds, and others in %d; it is to break between %d and %d (%v):\n%s", broken, canarySeeds, all-broken, canaryFewest, canaryMost, err, out)
	}
	t.Logf("the canary breaks %d of %d seeds", broken, canarySeeds)

	// What it found is written, repeats to the byte where the bug is, and is gone
	// where it is not.
	files, err := filepath.Glob(filepath.Join(dir, "*.record"))
	if err != nil || len(files) != broken {
		t.Fatalf("%d records of %d, %v", len(files), broken, err)
	}
	out, err = exec.Command(binary, "replay", files[0]).Output()
	if code, ok := err.(*exec.ExitError); !ok || code.ExitCode() != 1 || !bytes.HasPrefix(out, []byte("identical: it breaks law 1 ")) {
		t.Errorf("its record does not repeat (%v): %s", err, out)
	}
	small := filepath.Join(dir, "small")
	out, err = exec.Command(binary, "shrink", "-budget", "4s", "-o", small, files[0]).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("law 1 watched is broken")) {
		t.Errorf("its record does not shrink (%v): %s", err, out)
	}
	sound := filepath.Join(dir, "sound")
	build := exec.Command("go", "build", "-o", sound, "./"+faults.Simulator)
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, f := range []string{files[0], small} {
		if out, err := exec.Command(sound, "replay", f).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "the law holds now") {
			t.Errorf("%s without the canary (%v): %s", f, err, out)
		}
	}
}
