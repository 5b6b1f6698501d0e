package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nova/sim"
)

func TestSimRecords(t *testing.T) {
	dir := t.TempDir()
	path, err := sim.Recorded(sim.Config{Seed: 6, Effects: 200, Scene: sim.Nova}).Record.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.html")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"sim", "replay", path}, 0, "identical: every law holds"},
		{[]string{"sim", "replay", path, "--log"}, 0, " reply "},
		{[]string{"sim", "shrink", path}, 1, "the record has none"},
		{[]string{"sim", "shrink", "6", "--effects", "200"}, 0, "there is nothing to shrink"},
		{[]string{"sim", "run", "--seeds", "6..8", "--effects", "200", "--html", page, "--progress"}, 0, "page: "},
	} {
		code, out, errs := nova(t, "", c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("nova %s: exit %d, want %d and %q:\n%.300s%.300s", strings.Join(c.args, " "), code, c.code, c.says, out, errs)
		}
	}
	if b, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(b), "<!doctype html>") {
		t.Errorf("no page: %v", err)
	}
}

func TestSimProgress(t *testing.T) {
	var out strings.Builder
	p := newSimProgress(&out, true, 3)
	c := &sim.Count{Effects: 5000}
	for range 3 {
		p.ran(c, 1)
	}
	p.end()
	if got := out.String(); !strings.HasPrefix(got, "3 of 3 seeds, ") || !strings.HasSuffix(got, " things reached, 1 broken\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("off a terminal it says %q", got)
	}
	if got := p.text(c, 0, 2*time.Second); !strings.Contains(got, "2500 effects/s, 0 of ") {
		t.Errorf("%q", got)
	}
	if p := newSimProgress(&out, false, 3); p != nil {
		t.Error("it speaks unasked")
	}
}
