package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nova/sim"
)

func TestReplayAndShrink(t *testing.T) {
	dir := t.TempDir()
	path, err := sim.Recorded(sim.Config{Seed: 5, Effects: 200, Scene: sim.Nova}).Record.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.html")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"replay " + path, 0, "identical: every law holds"},
		{"replay -log " + path, 0, " land "},
		{"replay -story -html " + page + " " + path, 0, "identical"},
		{"shrink " + path, 1, "the record has none"},
		{"replay", 2, "usage"},
		{"shrink", 2, "usage"},
		{"replay -nope", 2, "-nope"},
		{"replay " + filepath.Join(dir, "none"), 2, "no such file"},
		{"shrink " + filepath.Join(dir, "none"), 2, "no such file"},
	} {
		var out bytes.Buffer
		if code := run(strings.Fields(c.args), &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("novasim %s: exit %d, want %d and %q:\n%.400s", c.args, code, c.code, c.says, out.String())
		}
	}
	if b, err := os.ReadFile(page); err != nil || !bytes.HasPrefix(b, []byte("<!doctype html>")) {
		t.Errorf("no page: %v", err)
	}
}
