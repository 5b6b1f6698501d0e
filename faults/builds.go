package faults

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Builds are the simulator's binaries with planted bugs: one for all that can be
// planted side by side, and one for each other, built when it is asked for. The
// mutants are run from it, and so are the tests that need a bug to look at.
type Builds struct {
	root, scratch string
	bugs          []Planted
	blend         string // the binary of them all
	alone         []bool // by bug: it is not in it
}

// NewBuilds builds the one for all, below a scratch folder. If that cannot be built,
// each bug is built alone: one of them does not compile, and its own build says so.
func NewBuilds(ctx context.Context, root, scratch string, bugs []Planted) (*Builds, error) {
	b := &Builds{root: root, scratch: scratch, bugs: bugs, blend: filepath.Join(scratch, "blend", "novasim"), alone: make([]bool, len(bugs))}
	overlay, alone, err := Blend(root, filepath.Join(scratch, "blend"), bugs)
	if err != nil {
		return nil, err
	}
	for _, i := range alone {
		b.alone[i] = true
	}
	if len(alone) < len(bugs) && Build(ctx, root, overlay, b.blend) != nil {
		for i := range b.alone {
			b.alone[i] = true
		}
	}
	return b, ctx.Err()
}

// Awake is the simulator with bug i: a binary, and the variable of its environment
// that wakes the bug.
type Awake struct {
	Binary string
	Env    string // "": it is the only bug in it
}

// Command is a run of it in the module's root.
func (a Awake) Command(ctx context.Context, root string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.Binary, args...)
	cmd.Dir = root
	if a.Env != "" {
		cmd.Env = append(cmd.Environ(), a.Env)
	}
	return cmd
}

// Wake is the simulator with bug i of the bugs. Why there is none, Fate says:
// NotApplied or NotBuilt.
func (b *Builds) Wake(ctx context.Context, i int) (Awake, Fate, error) {
	if !b.alone[i] {
		return Awake{b.blend, fmt.Sprintf("%s=%d", which, i+1)}, 0, nil
	}
	dir := filepath.Join(b.scratch, b.bugs[i].Name)
	overlay, err := Overlay(b.root, dir, &b.bugs[i])
	if err != nil {
		return Awake{}, NotApplied, err
	}
	a := Awake{Binary: filepath.Join(dir, "novasim")}
	if err := Build(ctx, b.root, overlay, a.Binary); err != nil {
		return Awake{}, NotBuilt, err
	}
	return a, 0, nil
}
