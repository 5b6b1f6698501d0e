package faults_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nova/faults"
)

const wellFormed = `breaks: a sentence
file: core/duty/reap.go
law: 4 1
with: -actors 3 -quiet
--- find
if confirmed {
	del()
}
--- replace
if core.Planted() {
	del()
}
--- find
second
--- replace

--- file core/duty/orphan.go
--- find
third
--- replace
3rd
line
`

const reap = "core/duty/reap.go"

func TestParsePlanted(t *testing.T) {
	p, err := faults.ParsePlanted("x", wellFormed)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "x" || p.Breaks != "a sentence" || !slices.Equal(p.Laws, []int{4, 1}) || strings.Join(p.With, "|") != "-actors|3|-quiet" || len(p.Edits) != 3 || strings.Join(p.Files(), " ") != reap+" core/duty/orphan.go" {
		t.Fatalf("parsed as %+v", p)
	}
	if got, err := p.Apply("core/duty/orphan.go", "a third"); err != nil || got != "a 3rd\nline" {
		t.Fatalf("applied to the second file as %q (%v)", got, err)
	}
	got, err := p.Apply(reap, "a\nif confirmed {\n\tdel()\n}\nb second c\n")
	if want := "a\nif core.Planted() {\n\tdel()\n}\nb  c\n"; err != nil || got != want {
		t.Fatalf("applied as %q (%v), want %q", got, err, want)
	}
	for _, src := range []string{"second", "if confirmed {\n\tdel()\n}", "if confirmed {\n\tdel()\n} second second"} {
		if _, err := p.Apply(reap, src); !errors.Is(err, faults.ErrPlanted) {
			t.Errorf("applied to %q: %v", src, err)
		}
	}
}

func TestParsePlantedRefuses(t *testing.T) {
	for what, from := range map[string][2]string{
		"nothing that it breaks":     {"breaks: a sentence\n", ""},
		"no file":                    {"file: core/duty/reap.go\n", ""},
		"a file of no machine":       {"core/duty/reap.go", "sim/world.go"},
		"a test":                     {"reap.go", "reap_test.go"},
		"a path that leaves":         {"core/duty/reap.go", "core/../prod/x.go"},
		"an unknown header":          {"law: 4", "laws: 4"},
		"no number of a law":         {"law: 4", "law: all"},
		"no law":                     {"law: 4 1\n", ""},
		"no mark":                    {"core.Planted()", "true"},
		"nothing to find":            {"if confirmed {\n\tdel()\n}\n", "\n"},
		"an edit without a replace":  {"second\n--- replace\n", "second\n"},
		"a header without its colon": {"law: 4", "law 4"},
		"no edit":                    {"--- find\n", "--- fin\n"},
	} {
		text := strings.Replace(wellFormed, from[0], from[1], 1)
		if what == "no edit" {
			text = strings.ReplaceAll(wellFormed, from[0], from[1])
		}
		if p, err := faults.ParsePlanted("x", text); !errors.Is(err, faults.ErrPlanted) {
			t.Errorf("%s: parsed as %+v (%v)", what, p, err)
		}
	}
}

// toy is a module of the same shape as this one: a core, and a simulator whose
// laws notice some of what is planted in it.
var toy = map[string]string{
	"go.mod":         "module nova\n\ngo 1.26.0\n",
	"core/engine.go": "package core\n\ntype Ms int64\n",
	"core/duty/a.go": "package duty\n\nimport \"nova/core\"\n\nfunc Grace() core.Ms { return 10 }\n\nfunc Rare(n int) bool { return n == 12345 }\n",
	"core/duty/b.go": "package duty\n\nfunc Name() string { return \"b\" }\n",
	"core/duty/c.go": "package duty\n\nfunc Unused() int { return 1 }\n",
	faultsSimMain[0]: faultsSimMain[1],
	"planted/a.txt":  "breaks: the grace\nfile: core/duty/a.go\nlaw: 4\n--- find\nreturn 10\n--- replace\ncore.Planted(); return 5\n",
	"planted/b.txt":  "breaks: a name that no law looks at\nfile: core/duty/b.go\nlaw: 4\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n--- find\nreturn \"b\"\n--- replace\ncore.Planted(); return \"c\"\n",
	"planted/c.txt":  "breaks: what never happens\nfile: core/duty/a.go\nlaw: 4\n--- find\nreturn n == 12345\n--- replace\nreturn n == 12345 && core.Planted()\n",
	"planted/d.txt":  "breaks: nothing, its text is gone\nfile: core/duty/a.go\nlaw: 4\n--- find\nreturn 11\n--- replace\ncore.Planted(); return 5\n",
	"planted/e.txt":  "breaks: the compiler\nfile: core/duty/a.go\nlaw: 4\n--- find\nreturn 10\n--- replace\ncore.Planted(); return \"x\"\n",
	"planted/f.txt":  "breaks: nothing, it is linked into no simulator\nfile: core/duty/c.go\nlaw: 4\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n--- find\nreturn 1\n--- replace\ncore.Planted(); return 2\n",
	"planted/g.txt":  "breaks: the grace, by another law\nfile: core/duty/a.go\nlaw: 2\n--- find\nreturn 10\n--- replace\ncore.Planted(); return 5\n",
	"planted/h.txt":  "breaks: the process\nfile: core/duty/a.go\nlaw: 4\n--- find\nreturn 10\n--- replace\ncore.Planted(); panic(\"planted\")\n",
	"cmd/deep/.keep": "",
}

var faultsSimMain = [2]string{faults.Simulator + "/main.go", `package main

import (
	"fmt"
	"os"

	"nova/core/duty"
)

var atExit []func()

func main() {
	code := 0
	for seed := 7; seed < 10; seed++ {
		if duty.Rare(seed + len(os.Args)) {
			fmt.Println("rare")
		}
		_ = duty.Name()
		if seed == 8 && duty.Grace() < 10 {
			fmt.Printf("broken: law=4 seed=%d effects=%d too early\n", seed, 33)
			code = 1
			break
		}
	}
	for _, f := range atExit {
		f()
	}
	os.Exit(code)
}
`}

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Every fate, on a toy, and started in a folder below the root: from there a
// relative path in the overlay would build the program without the bug.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, toy)
	t.Chdir(filepath.Join(dir, "cmd", "deep"))
	var out bytes.Buffer
	err := faults.Mutants(t.Context(), faults.MutantsOptions{Dir: filepath.Join(dir, "planted"), Seeds: 3, From: []uint{7}}, &out)
	if !errors.Is(err, faults.ErrMutants) {
		t.Fatalf("seven of eight bugs live, and the run ends with %v", err)
	}
	fates := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		if len(line) > 1 && line[1] == ' ' && line[0] != ' ' {
			fates[line[:1]] = strings.Fields(line)
		}
	}
	for bug, want := range map[string]string{
		"a": "a killed 4 8 33 ",
		"b": "b SURVIVED 3 ",
		"c": "c NEVER REACHED 0 ",
		"d": "d DOES NOT APPLY 0 ",
		"e": "e DOES NOT BUILD 0 ",
		"f": "f DOES NOT BUILD 0 ",
		"g": "g killed 4 (want 2) 8 33 ",
		"h": "h DID NOT RUN 0 ",
	} {
		if got := strings.Join(fates[bug], " "); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, want := range []string{"1 of 8 killed", "the mark is not in", "occurs 0 times in core/duty/a.go", "panic: planted"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}

	out.Reset()
	if err := faults.Mutants(t.Context(), faults.MutantsOptions{Dir: filepath.Join(dir, "planted"), Only: []string{"a"}}, &out); err != nil {
		t.Errorf("the one that is killed: %v\n%s", err, out.String())
	}
	if err := faults.Mutants(t.Context(), faults.MutantsOptions{Dir: filepath.Join(dir, "planted"), Only: []string{"z"}}, &out); !errors.Is(err, faults.ErrPlanted) {
		t.Errorf("a bug that does not exist: %v", err)
	}
}

// Every bug that is planted in this tree still applies. That it compiles, and what
// sees it, TestPlantedAreKilled says.
func TestPlantedApply(t *testing.T) {
	root, err := faults.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := faults.Load(filepath.Join(root, "faults", "planted"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range bugs {
		if _, err := faults.Overlay(root, t.TempDir(), &bugs[i]); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d planted bugs", len(bugs))
}
