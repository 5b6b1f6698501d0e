package boundaries_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"nova"
	"nova/core"
	"nova/core/keys"
	"nova/faults/boundaries"
)

const root = "../.."

// The committed list, the tree and what was compiled name the same places: a new
// effect is a new line.
func TestListIsTheSource(t *testing.T) {
	list, err := boundaries.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if want := boundaries.Text(list); boundaries.List != want {
		t.Errorf("list.txt is not what the source emits: go generate ./faults/boundaries\n%s", difference(boundaries.List, want))
	}
	if !slices.EqualFunc(list, boundaries.All(), func(x, y boundaries.Boundary) bool { return x.Name == y.Name && x.File == y.File && x.Line == y.Line }) {
		t.Error("the text in the build is not that of the tree")
	}
	for i, b := range list {
		if boundaries.Index(b.Name) != i {
			t.Errorf("%s has two places", b.Name)
		}
		if len(b.Ops) == 0 || len(b.Roots) == 0 || !slices.IsSorted(b.Roots) {
			t.Errorf("%s emits %v in %v", b.Name, b.Ops, b.Roots)
		}
	}
	if boundaries.Index("duty.ReapCheck.Step/reapDelete:delete") < 0 || boundaries.Index("no") != -1 {
		t.Error("Index does not find what there is, or finds what there is not")
	}
}

// What a process comes by is told from what its root is made of.
func TestRoots(t *testing.T) {
	roots := map[string]int{}
	for i, p := range boundaries.Points() {
		roots[p.Root]++
		if boundaries.PointOf(p.Boundary, p.Root) != i {
			t.Errorf("%s is not found", p)
		}
	}
	for q := range keys.Queue(keys.Queues) {
		if roots[q.String()] < 15 {
			t.Errorf("%s comes by %d places", q, roots[q.String()])
		}
	}
	if len(roots) != keys.Queues+9 {
		t.Errorf("%v", roots)
	}
	for _, c := range []struct {
		boundary, root string
		comes          bool
	}{
		{"protocol.Walk.Step/walkKill:txn", "teardown", true},
		{"protocol.Walk.Step/walkKill:txn", "retention", true},
		{"protocol.Walk.Step/walkKill:txn", "reap", false},
		{"protocol.partSend.step/partPut:upload-part+copy-part", "gc", true},
		{"protocol.partSend.step/partPut:upload-part+copy-part", "denorm", true},
		{"duty.ripen:txn", "teardown", true},
		{"duty.ripen:txn", "gc", false},
		{"protocol.Settlement.putHead:txn", "star", true},
		{"duty.Era.Step/eraClose:txn", "star", false},
	} {
		if got := boundaries.PointOf(boundaries.Index(c.boundary), c.root) >= 0; got != c.comes {
			t.Errorf("%s comes by %s: %v", c.root, c.boundary, got)
		}
	}
}

func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	for _, l := range as {
		if !slices.Contains(bs, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range bs {
		if !slices.Contains(as, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// The build holds every file of the machines, and no test.
func TestSourceIsWhole(t *testing.T) {
	var want []string
	files, err := filepath.Glob(filepath.Join(root, "core", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if rel, _ := filepath.Rel(root, f); !strings.HasSuffix(f, "_test.go") {
			want = append(want, filepath.ToSlash(rel))
		}
	}
	got, err := fs.Glob(nova.Source, "core/*/*")
	if err != nil || !slices.Equal(got, want) || len(got) < 50 {
		t.Errorf("the build holds\n%v, %v; the tree\n%v", got, err, want)
	}
}

// Nothing emits but by Await and AwaitFunc, called where they are named: no other
// code writes an exchange, and nobody keeps one of the two as a value.
func TestNothingElseEmits(t *testing.T) {
	places, machines := 0, map[string]bool{}
	for _, b := range boundaries.All() {
		machines[path.Dir(b.File)] = true
	}
	err := fs.WalkDir(nova.Source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(nova.Source, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		called := map[*ast.SelectorExpr]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					called[s] = true
				}
			case *ast.SelectorExpr:
				switch n.Sel.Name {
				case "Await", "AwaitFunc":
					if places++; !called[n] {
						t.Errorf("%s: %s is kept, not called", set.Position(n.Pos()), n.Sel.Name)
					}
				case "Out", "Sites", "Exchange":
					if !machines[path.Dir(name)] {
						break // a name of its own
					}
					t.Errorf("%s: a machine touches its exchange: %s", set.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(boundaries.All()); places != n || n < 150 {
		t.Errorf("%d places are in the text, and %d boundaries are known", places, n)
	}
}

const machine = `package duty

import "nova/core"

type M[T any] struct{ call core.Call }

func (m *M[T]) Step(t core.Turn) bool {
	switch 1 {
	case stepRead:
		r, ok := m.call.Await(t, core.Get("a"))
		switch r.Outcome {
		case core.OK:
			_, _ = m.call.AwaitFunc(t, func() core.Op { return made() })
		}
		return ok
	case stepWrite:
		_, _ = m.call.AwaitFunc(t, func() core.Op {
			if t.Now > 0 {
				return core.CopyPart(o, "", 1, p, 0)
			}
			return core.Op{Kind: core.KUploadPart}
		})
	}
	_, _ = m.call.AwaitFunc(t, made)
	_, _ = m.call.Await(t, core.Txn())
	return true
}

func made() core.Op { return core.Txn() }
`

func TestNames(t *testing.T) {
	list, err := boundaries.Read(fstest.MapFS{"core/duty/m.go": {Data: []byte(machine)}, "core/duty/m_test.go": {Data: []byte("no Go")}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range list {
		got = append(got, b.Name)
	}
	want := []string{"duty.M.Step/stepRead:get", "duty.M.Step/stepRead:txn", "duty.M.Step/stepWrite:upload-part+copy-part", "duty.M.Step:txn", "duty.M.Step:txn#2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if b := list[0]; b.Changes() || !list[1].Changes() || b.File != "core/duty/m.go" || b.Line != 10 || b.Ops[0] != core.KGet {
		t.Errorf("%+v", b)
	}
}

func TestReadRefuses(t *testing.T) {
	in := func(body string) fstest.MapFS {
		return fstest.MapFS{"core/duty/m.go": {Data: []byte("package duty\nfunc (m *M) f(t core.Turn) {\n" + body + "\n}\n")}}
	}
	for what, tree := range map[string]fstest.MapFS{
		"no place":                in("m.call.Sent()"),
		"no Go":                   in("{"),
		"an operation by name":    in("m.call.Await(t, op)"),
		"one that nothing builds": in("m.call.AwaitFunc(t, func() core.Op { return m.next() })"),
		"two on one line":         in("a.Await(t, core.Get(k)); b.Await(t, core.Get(k))"),
	} {
		if list, err := boundaries.Read(tree); !errors.Is(err, boundaries.ErrSource) {
			t.Errorf("%s: %v, %v", what, list, err)
		}
	}
}
