package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Simulator is the package of the simulator's own main: it links the core, the
// simulator and this package, and nothing of etcd or of an SDK, so that sixty
// bugs are built in minutes. It runs atExit's functions before it ends.
const Simulator = "sim/cmd/novasim"

// The mark stands in files that only a planted build has.
const (
	markFile = "core/planted.go"
	markText = `package core

// PlantedPassed counts how often a planted bug was reached.
var PlantedPassed uint64

// Planted marks a planted bug as reached; it is true, so that a condition can
// pass it.
//
//go:noinline
func Planted() bool { PlantedPassed++; return true }
`
	exitFile = Simulator + "/planted.go"
	exitText = `package main

import (
	"fmt"
	"os"

	"nova/core"
)

func init() {
	atExit = append(atExit, func() { fmt.Fprintln(os.Stderr, "planted passed:", core.PlantedPassed) })
}
`
	// markSymbol is the mark's name in the table of functions of a binary that
	// calls it; the linker drops it from one that does not.
	markSymbol = "nova/core.Planted\x00"
)

// Root is the module's root: the nearest folder at or above dir with a go.mod.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("find the module's root: no go.mod here or above: run it inside the source tree")
		}
		dir = up
	}
}

// Overlay writes into scratch the sources with bugs planted and returns the path
// of the JSON file that `go build -overlay` takes. Every path in it is absolute:
// a relative one is resolved against the working directory, and from a folder
// below the root the program without the bug would be built, without a word.
func Overlay(root, scratch string, bugs ...*Planted) (string, error) {
	byFile := map[string][]*Planted{}
	for _, p := range bugs {
		for _, file := range p.Files() {
			byFile[file] = append(byFile[file], p)
		}
	}
	texts := map[string]string{markFile: markText, exitFile: exitText}
	for file, ps := range byFile {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", fmt.Errorf("%w %s does not apply: %w", ErrPlanted, ps[0].Name, err)
		}
		if texts[file], err = plant(file, string(src), ps...); err != nil {
			return "", err
		}
	}
	return writeOverlay(root, scratch, texts)
}

// writeOverlay writes what stands in place of files of the module, by their names;
// what ends the simulator only where there is one.
func writeOverlay(root, scratch string, texts map[string]string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if scratch, err = filepath.Abs(scratch); err != nil {
		return "", err
	}
	if err := os.MkdirAll(scratch, 0o777); err != nil {
		return "", fmt.Errorf("make the overlay's folder: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(Simulator))); err != nil {
		delete(texts, exitFile)
	}
	replace := map[string]string{}
	for file, text := range texts {
		at := filepath.Join(scratch, strings.ReplaceAll(file, "/", "~"))
		replace[filepath.Join(root, filepath.FromSlash(file))] = at
		if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			return "", fmt.Errorf("write the overlay: %w", err)
		}
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o666)
}

// Build builds the simulator under an overlay, and refuses a binary that the
// mark is not in: the bug would not be either.
func Build(ctx context.Context, root, overlay, binary string) error {
	if err := goBuild(ctx, root, "-overlay", overlay, "-ldflags", "-s -w", "-o", binary, "./"+Simulator); err != nil {
		return err
	}
	b, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(markSymbol)) {
		return fmt.Errorf("%w: the mark is not in %s: the program was built without the bug, or nothing calls what it changes", ErrPlanted, binary)
	}
	return nil
}

// goBuild runs go build in the module's root.
func goBuild(ctx context.Context, root string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}
