package faults_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"nova/faults"
)

// blended is a toy whose functions are of every shape, and bugs of each.
var blended = map[string]string{
	"go.mod":         "module nova\n\ngo 1.26.0\n",
	"core/engine.go": "package core\n\nfunc Add(a, b int) (sum int) {\n\tsum = a + b\n\treturn\n}\n",
	"core/duty/a.go": `package duty

const grace = 10

type list[T any] struct{ all []T }

func (l *list[T]) len() int { return len(l.all) }

func sum(of string, ns ...int) (n int) {
	for _, k := range ns {
		n += k
	}
	return n
}

func first[T any](l *list[T], none T) T {
	if l.len() == 0 {
		return none
	}
	return l.all[0]
}

var said string

func say(what string) { said = what }

func unnamed(string) int { return 1 }

// Says is what all of them come to.
func Says() []any {
	say("well")
	return []any{(&list[int]{[]int{7, 8}}).len(), sum("x", 1, 2, 3), first(&list[int]{}, 9), said, unnamed(""), grace}
}
`,
	"planted/1-method.txt":   "breaks: x\nfile: core/duty/a.go\nlaw: 4\n--- find\nlen() int { return len(l.all) }\n--- replace\nlen() int { core.Planted(); return 0 }\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n",
	"planted/2-variadic.txt": "breaks: x\nfile: core/duty/a.go\nlaw: 4\n--- find\n\t\tn += k\n--- replace\n\t\tn -= core.Add(k, 0)\n\t\tcore.Planted()\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n",
	"planted/3-generic.txt":  "breaks: x\nfile: core/duty/a.go\nlaw: 4\n--- find\n\t\treturn none\n--- replace\n\t\tcore.Planted()\n\t\tvar nothing T\n\t\treturn nothing\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n",
	"planted/4-silent.txt":   "breaks: x\nfile: core/duty/a.go\nlaw: 4\n--- find\n{ said = what }\n--- replace\n{ core.Planted(); said = \"badly\" }\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n",
	"planted/5-unnamed.txt":  "breaks: x\nfile: core/duty/a.go\nlaw: 4\n--- find\nunnamed(string) int { return 1 }\n--- replace\nunnamed(string) int { core.Planted(); return 2 }\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n",
	"planted/6-constant.txt": "breaks: x\nfile: core/duty/a.go\nlaw: 4\n--- find\ngrace = 10\n--- replace\ngrace = 11\n--- find\n{ said = what }\n--- replace\n{ core.Planted(); said = what }\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n",
	"planted/7-twice.txt":    "breaks: x\nfile: core/duty/a.go\nlaw: 4\n--- find\n\t\tn += k\n--- replace\n\t\tcore.Planted()\n\t\tn += 2 * k\n--- find\npackage duty\n--- replace\npackage duty\n\nimport \"nova/core\"\n--- file core/engine.go\n--- find\n\tsum = a + b\n--- replace\n\tsum = a + b\n\tPlanted()\n",
	faults.Simulator + "/main.go": `package main

import (
	"fmt"

	"nova/core"
	"nova/core/duty"
)

var atExit []func()

func main() {
	fmt.Println(append(duty.Says(), core.Add(2, 2))...)
	for _, f := range atExit {
		f()
	}
}
`}

// One build does what each of the builds of one bug alone does, and, asleep, what
// the source does; what cannot sleep is built alone.
func TestBlend(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, blended)
	bugs, err := faults.Load(filepath.Join(dir, "planted"))
	if err != nil {
		t.Fatal(err)
	}
	_, alone, err := faults.Blend(dir, filepath.Join(dir, "look"), bugs)
	if err != nil || !slices.Equal(alone, []int{4, 5}) {
		t.Errorf("alone are %v (%v)", alone, err)
	}
	builds, err := faults.NewBuilds(t.Context(), dir, filepath.Join(dir, "scratch"), bugs)
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := builds.Wake(t.Context(), 0)
	if err != nil || first.Env == "" {
		t.Fatalf("the first is built alone: %v", err)
	}
	asleep, err := exec.Command(first.Binary).CombinedOutput()
	if want := "2 6 9 well 1 10 4\nplanted passed: 0\n"; err != nil || string(asleep) != want {
		t.Errorf("asleep it says %q (%v), want %q", asleep, err, want)
	}
	for i, want := range []string{
		"0 6 9 well 1 10 4\nplanted passed: 2\n",
		"2 -6 9 well 1 10 4\nplanted passed: 3\n",
		"2 6 0 well 1 10 4\nplanted passed: 1\n",
		"2 6 9 badly 1 10 4\nplanted passed: 1\n",
		"2 6 9 well 2 10 4\nplanted passed: 1\n",
		"2 6 9 well 1 11 4\nplanted passed: 1\n",
		"2 12 9 well 1 10 4\nplanted passed: 4\n",
	} {
		a, fate, err := builds.Wake(t.Context(), i)
		if err != nil {
			t.Errorf("%s: %v: %v", bugs[i].Name, fate, err)
			continue
		}
		got, err := a.Command(t.Context(), dir).CombinedOutput()
		if err != nil || string(got) != want {
			t.Errorf("%s says %q (%v), want %q", bugs[i].Name, got, err, want)
		}
	}
}
