package faults_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nova/faults"
)

// FuzzParse: a plan that parses is printed as one that parses to the same; nothing
// else comes of a text but an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "none", " late  cut-after=7 ", "at=put-before-commit", "cut=", "late=1000001", "at=", "none=1", "late=+1",
		"at=duty.ReapCheck.Step/reapDelete:delete=silent at=protocol.Walk.Step/walkKill:txn@teardown", "at=put-before-commit at=put-before-commit at=put-before-commit"} {
		f.Add(s)
	}
	for seed := range uint64(8) {
		f.Add(faults.Draw(seed).String())
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := faults.Parse(s)
		if err != nil {
			if !errors.Is(err, faults.ErrPlan) || p != (faults.Plan{}) {
				t.Fatalf("Parse(%q) = %+v, %v", s, p, err)
			}
			return
		}
		for _, k := range faults.All() {
			if p.Rate[k] > faults.Million {
				t.Fatalf("Parse(%q) has %s at %d", s, k, p.Rate[k])
			}
		}
		if again, err := faults.Parse(p.String()); err != nil || again != p {
			t.Fatalf("Parse(%q) = %q, which parses as %q, %v", s, p, again, err)
		}
	})
}

// FuzzParseAim: an aim that parses is printed as one that parses to the same.
func FuzzParseAim(f *testing.F) {
	for _, s := range []string{"", "put-before-commit", "put-before-commit=after", "=", "@", "@=", "duty.ReapCheck.Step/reapDelete:delete=silent",
		"protocol.Walk.Step/walkKill:txn@teardown", "protocol.Walk.Step/walkKill:txn@teardown=before", "protocol.Walk.Step/walkKill:txn@star", "protocol.Walk.Step/walkKill:txn@"} {
		f.Add(s)
	}
	for i := range faults.Table {
		f.Add(faults.Table[i].Name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := faults.ParseAim(s)
		if err != nil {
			if !errors.Is(err, faults.ErrPlan) || a != (faults.Aim{}) {
				t.Fatalf("ParseAim(%q) = %+v, %v", s, a, err)
			}
			return
		}
		if (a == faults.Aim{}) != (s == "") {
			t.Fatalf("ParseAim(%q) is nowhere", s)
		}
		if again, err := faults.ParseAim(a.String()); err != nil || again != a {
			t.Fatalf("ParseAim(%q) = %q, which parses as %+v, %v", s, a, again, err)
		}
	})
}

// FuzzParsePlanted: a bug that parses says what it breaks, changes sources only, and
// passes its mark; in a source that has each text that it looks for once, it applies.
func FuzzParsePlanted(f *testing.F) {
	files, err := filepath.Glob("planted/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for i, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if f.Add(string(text)); i < 12 {
			f.Add(strings.Replace(string(text), "\n--- replace\n", "\n", 1))
			f.Add(strings.Replace(string(text), "--- find\n", "--- find\n\n--- find\n", 1))
			f.Add(string(text[:len(text)/2]))
		}
	}
	f.Add("breaks: x\nfile: core/../a.go\nlaw: 1\n--- find\na\n--- replace\ncore.Planted()\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := faults.ParsePlanted("name", text)
		if err != nil {
			if !errors.Is(err, faults.ErrPlanted) || !reflect.DeepEqual(p, faults.Planted{}) {
				t.Fatalf("%+v, %v", p, err)
			}
			return
		}
		marked := false
		for _, e := range p.Edits {
			marked = marked || strings.Contains(e.Replace, "Planted()")
			if filepath.Clean(e.File) != e.File || !strings.HasPrefix(e.File, "core/") && !strings.HasPrefix(e.File, "prod/") || !strings.HasSuffix(e.File, ".go") {
				t.Fatalf("it changes %q", e.File)
			}
			if strings.TrimSpace(e.Find) == "" {
				t.Fatal("it looks for nothing")
			}
		}
		if p.Breaks == "" || len(p.Edits) == 0 || !marked {
			t.Fatalf("%+v", p)
		}
		for _, file := range p.Files() {
			src, edits := "", 0
			for _, e := range p.Edits {
				if e.File == file {
					src += "\x00" + e.Find + "\x00"
					edits++
				}
			}
			if out, err := p.Apply(file, src); err == nil {
				if edits == 1 && strings.Count(out, "\x00") < 2 {
					t.Fatalf("it changes what is around its text: %q", out)
				}
			} else if edits == 1 && strings.Count(src, p.Edits[0].Find) == 1 || !errors.Is(err, faults.ErrPlanted) {
				t.Fatalf("in %q: %v", src, err)
			}
		}
	})
}
