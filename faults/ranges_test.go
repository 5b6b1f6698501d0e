package faults_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"nova/faults"
)

// ranged is a toy whose simulator reads its seeds. Each third seed of a range
// breaks law 4 whatever is planted; the bug breaks it at each sixth, but for the
// last range, and is met in the small worlds too.
var ranged = map[string]string{
	"go.mod":         "module nova\n\ngo 1.26.0\n",
	"core/engine.go": "package core\n\ntype Ms int64\n",
	"core/duty/a.go": "package duty\n\nimport \"nova/core\"\n\nfunc Grace() core.Ms { return 10 }\n",
	"planted/a.txt":  "breaks: the grace\nfile: core/duty/a.go\nlaw: 4\n--- find\nreturn 10\n--- replace\ncore.Planted(); return 5\n",
	faults.Simulator + "/main.go": `package main

import (
	"fmt"
	"os"

	"nova/core/duty"
)

var atExit []func()

func main() {
	var from, to int
	if os.Args[1] == "run" {
		fmt.Sscanf(os.Args[3], "%d..%d", &from, &to)
	} else if duty.Grace() < 10 {
		fmt.Println("broken: law=4 seed=17 effects=1 in a small world")
	}
	for seed := from; seed < to; seed++ {
		if n := seed % 1000; n == 3 || n == 6 && duty.Grace() < 10 && seed < 2000 {
			fmt.Printf("broken: law=4 seed=%d effects=33 too early\n", seed)
			break
		}
	}
	for _, f := range atExit {
		f()
	}
}
`}

// What a seed breaks without the bug kills no bug; and a bug must be killed on every
// range.
func TestMutantsOnRanges(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, ranged)
	t.Chdir(dir)
	o := faults.MutantsOptions{Dir: filepath.Join(dir, "planted"), Seeds: 9, From: []uint{0, 1000}}
	var out bytes.Buffer
	if err := faults.Mutants(t.Context(), o, &out); err != nil || !strings.Contains(out.String(), "killed  4       6, 1006  33") {
		t.Errorf("on two ranges: %v\n%s", err, out.String())
	}
	out.Reset()
	o.From = []uint{0, 2000}
	if err := faults.Mutants(t.Context(), o, &out); !errors.Is(err, faults.ErrMutants) || !strings.Contains(out.String(), "killed, SURVIVED") || !strings.Contains(out.String(), "seed 2003, breaks law 4 without the bug too") {
		t.Errorf("on a range where it lives: %v\n%s", err, out.String())
	}
}

func TestStrategies(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, ranged)
	t.Chdir(dir)
	o := faults.StrategiesOptions{MutantsOptions: faults.MutantsOptions{Dir: filepath.Join(dir, "planted"), Seeds: 9, From: []uint{0, 1000}}, Strategies: []string{"seeds", "pct", "exhaustive"}, Repeat: 2}
	var out bytes.Buffer
	err := faults.Strategies(t.Context(), o, &out)
	for _, want := range []string{"2/2 7.0 [", "2/2 17 [", "1/1 17 ["} {
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q: %v\n%s", want, err, out.String())
		}
	}
	out.Reset()
	o.From = []uint{0, 2000}
	if err := faults.Strategies(t.Context(), o, &out); !errors.Is(err, faults.ErrMutants) || !strings.Contains(out.String(), "1/2 16 [") {
		t.Errorf("seeds miss it on one range: %v\n%s", err, out.String())
	}

	// One that breaks a law before it passes its mark has no row, and the next one has.
	writeTree(t, dir, map[string]string{"planted/0.txt": "breaks: the grace\nfile: core/duty/a.go\nlaw: 4\n--- find\nreturn 10\n--- replace\nif n := 5; n < 10 {\n\t\treturn core.Ms(n)\n\t}\n\tcore.Planted()\n\treturn 5\n"})
	out.Reset()
	o.From, o.Strategies = []uint{0, 1000}, []string{"seeds"}
	err = faults.Strategies(t.Context(), o, &out)
	for _, want := range []string{"before the bug was reached", "2/2 7.0 ["} {
		if !errors.Is(err, faults.ErrMutants) || !strings.Contains(err.Error(), "1 of 2") || !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q: %v\n%s", want, err, out.String())
		}
	}
}
