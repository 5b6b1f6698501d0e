package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"run", "-seeds", "0..3", "-plan", "none", "-effects", "300"}, &out, &errs); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out.String(), errs.String())
	}
	if !strings.HasPrefix(out.String(), "3 seeds, ") || !strings.HasSuffix(out.String(), " 0 broken\n") {
		t.Errorf("it says %q", out.String())
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{
		{}, {"walk"}, {"run", "-seeds", "5"}, {"run", "-seeds", "5..5"}, {"run", "-seeds", "x..5"},
		{"run", "-plan", "x"}, {"run", "-at", "nowhere"}, {"run", "-nope"}, {"mutants", "-nope"}, {"mutants", "-from", "x"}, {"mutants", "-only", "no-such-bug"},
	} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != 2 || errs.Len() == 0 {
			t.Errorf("%q: exit %d, says %q", args, code, errs.String())
		}
	}
}
