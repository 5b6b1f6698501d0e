package nova_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// row is one requirement of CHECKLIST.md.
type row struct {
	line             int
	id, what, status string
	decision         string // decided: the number of docs/decisions
	code, tests      []string
}

var backquoted = regexp.MustCompile("^(`[^`]+`( `[^`]+`)*)?$")

// names splits a cell of backquoted names.
func names(cell string) ([]string, error) {
	if !backquoted.MatchString(cell) {
		return nil, fmt.Errorf("%q is no list of `names`", cell)
	}
	return strings.Fields(strings.ReplaceAll(cell, "`", "")), nil
}

// parseChecklist reads the rows of every table whose first column is an id.
func parseChecklist(text string) (rows []row, err error) {
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| id |") {
			continue
		}
		// A pipe inside a requirement is escaped.
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
		if len(cells) != 5 {
			return nil, fmt.Errorf("line %d: %d cells, want id, requirement, code, test, status", i+1, len(cells))
		}
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		r := row{line: i + 1, id: cells[0], what: cells[1], status: cells[4]}
		r.status, r.decision, _ = strings.Cut(r.status, " ")
		if r.code, err = names(cells[2]); err == nil {
			r.tests, err = names(cells[3])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d (%s): %w", i+1, r.id, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// symbols holds every package-level name of the tree as folder.Name, methods and
// fields as folder.Type.Name; tests hold those of test files.
type symbols struct{ code, tests map[string]bool }

func readSymbols(t *testing.T) symbols {
	t.Helper()
	s := symbols{map[string]bool{}, map[string]bool{}}
	sources(t, func(file, pkg string, src []byte) {
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		into := s.code
		if strings.HasSuffix(file, "_test.go") {
			into = s.tests
		}
		if pkg == "." {
			pkg = "nova"
		}
		for _, d := range f.Decls {
			declare(into, pkg, d)
		}
	})
	return s
}

func declare(into map[string]bool, pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		into[pkg+"."+name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				into[pkg+"."+spec.Name.Name] = true
				members(into, pkg+"."+spec.Name.Name, spec.Type)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					into[pkg+"."+n.Name] = true
				}
			}
		}
	}
}

// members declares the fields of a struct and the methods of an interface.
func members(into map[string]bool, of string, x ast.Expr) {
	var list *ast.FieldList
	switch x := x.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, n := range field.Names {
			into[of+"."+n.Name] = true
		}
	}
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}

// faultsOf says what is wrong with the rows, given the names that exist.
func faultsOf(rows []row, s symbols) (out []string) {
	say := func(r row, format string, a ...any) {
		out = append(out, fmt.Sprintf("line %d: %s: %s", r.line, r.id, fmt.Sprintf(format, a...)))
	}
	seen := map[string]int{}
	for _, r := range rows {
		if at, ok := seen[r.id]; ok {
			say(r, "the id is taken by line %d", at)
		}
		seen[r.id] = r.line
		if r.what == "" {
			say(r, "it requires nothing")
		}
		for _, name := range r.code {
			if !s.code[name] {
				say(r, "no symbol %s", name)
			}
		}
		for _, name := range r.tests {
			if !s.tests[name] {
				say(r, "no test %s", name)
			}
		}
		switch r.status {
		case "done":
			if len(r.code) == 0 || len(r.tests) == 0 {
				say(r, "it is done, and names %d symbols and %d tests", len(r.code), len(r.tests))
			}
		case "decided":
			if len(r.code) == 0 || len(r.tests) == 0 || r.decision == "" {
				say(r, "it is decided otherwise, and names %d symbols, %d tests and the decision %q", len(r.code), len(r.tests), r.decision)
			}
		case "built":
			if len(r.code) == 0 || len(r.tests) != 0 {
				say(r, "it is built: it must name its code, and no test yet")
			}
		case "open":
			if len(r.code)+len(r.tests) != 0 {
				say(r, "it is open, and names something")
			}
		default:
			say(r, "the status %q is none of done, decided, built, open", r.status)
		}
	}
	return out
}

func TestChecklist(t *testing.T) {
	text, err := os.ReadFile("CHECKLIST.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parseChecklist(string(text))
	if err != nil {
		t.Fatalf("CHECKLIST.md: %v", err)
	}
	for _, why := range faultsOf(rows, readSymbols(t)) {
		t.Errorf("CHECKLIST.md: %s", why)
	}
	for _, r := range rows {
		if r.decision == "" {
			continue
		}
		if files, err := filepath.Glob("docs/decisions/" + r.decision + "-*.md"); err != nil || len(files) != 1 || r.status != "decided" {
			t.Errorf("CHECKLIST.md: line %d: %s: %s by %q, and of that decision there are %d", r.line, r.id, r.status, r.decision, len(files))
		}
	}
	// Nothing falls off the list: what is numbered is numbered without holes.
	have, count := map[string]bool{}, map[string]int{}
	for _, r := range rows {
		have[r.id] = true
		count[r.status]++
	}
	for prefix, n := range map[string]int{"R": 82, "TD": 16, "ST": 20, "RT": 14, "RC": 12, "TC": 11, "SR": 29, "GC": 10, "OR": 8, "ND": 5, "G": 22, "L": 9, "C": 45} {
		for i := 1; i <= n; i++ {
			if id := fmt.Sprint(prefix, i); !have[id] {
				t.Errorf("CHECKLIST.md: there is no row %s", id)
			}
		}
	}
	t.Logf("%d rows: %d done, %d built, %d open", len(rows), count["done"], count["built"], count["open"])
}

func TestTheChecklistIsHeldToItsWord(t *testing.T) {
	s := symbols{map[string]bool{"core/plan.Judge": true}, map[string]bool{"core/plan.TestJudge": true}}
	for line, want := range map[string]string{
		"| A1 | it | `core/plan.Judge` | `core/plan.TestJudge` | done |":         "",
		"| A1 | it | `core/plan.Judge` |  | built |":                             "",
		"| A1 | it |  |  | open |":                                               "",
		"| A1 | a\\|b |  |  | open |":                                            "",
		"| A1 | it | `core/plan.Nope` | `core/plan.TestJudge` | done |":          "no symbol core/plan.Nope",
		"| A1 | it | `core/plan.Judge` | `core/plan.TestNope` | done |":          "no test core/plan.TestNope",
		"| A1 | it | `core/plan.Judge` |  | done |":                              "1 symbols and 0 tests",
		"| A1 | it |  | `core/plan.TestJudge` | done |":                          "0 symbols and 1 tests",
		"| A1 | it |  |  | built |":                                              "it must name its code",
		"| A1 | it | `core/plan.Judge` |  | open |":                              "names something",
		"| A1 | it |  |  | soon |":                                               "none of done, decided, built, open",
		"| A1 | it | `core/plan.Judge` | `core/plan.TestJudge` | decided 0023 |": "",
		"| A1 | it | `core/plan.Judge` | `core/plan.TestJudge` | decided |":      "the decision \"\"",
		"| A1 | it | `core/plan.Judge` |  | decided 0023 |":                      "0 tests",
		"| A1 |  |  |  | open |":                                                 "requires nothing",
		"| A1 | it |  |  | open |\n| A1 | it |  |  | open |":                     "the id is taken by line 1",
	} {
		rows, err := parseChecklist(line)
		if err != nil || len(rows) == 0 {
			t.Errorf("%s: %d rows, %v", line, len(rows), err)
			continue
		}
		got := strings.Join(faultsOf(rows, s), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: says %q, want %q", line, got, want)
		}
	}
	for _, line := range []string{"| A1 | it | open |", "| A1 | it | core/plan.Judge |  | built |"} {
		if _, err := parseChecklist(line); err == nil {
			t.Errorf("%s: parsed", line)
		}
	}
}
