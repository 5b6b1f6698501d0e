package nova_test

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "nova"

// layer says what the packages of one folder may import of this module, and of
// the world outside. The first layer whose folder holds a package counts.
type layer struct {
	folder  string   // "core/plan": this package; "sim/...": everything below as well
	may     []string // folders of this module
	tests   []string // what test files may import besides
	foreign []string // prefixes of foreign modules, "*" for any; tests: see testOnly
	pure    bool     // no impure package of the standard library, no goroutine, no channel
}

// layers is the table of ARCHITECTURE.md.
var layers = []layer{
	{folder: "core", pure: true, tests: []string{"plain", "sim/world"}},
	{folder: "core/format", pure: true, may: []string{"core"}, tests: []string{"plain"}},
	{folder: "core/keys", pure: true, may: []string{"core"}, tests: []string{"plain"}},
	{folder: "core/plan", pure: true, may: []string{"core", "core/format", "core/keys"}, tests: []string{"plain"}},
	{folder: "core/protocol/...", pure: true, may: []string{"core", "core/format", "core/keys", "core/plan", "core/protocol/..."}, tests: []string{"core/law", "plain", "sim/world"}},
	{folder: "core/...", pure: true, may: []string{"core/..."}, tests: []string{"plain", "sim/world"}},
	{folder: "plain", may: []string{"core"}},
	{folder: "faults/...", may: []string{"core/...", "faults/...", "."}}, // the root: the machines' text
	{folder: "sim/...", may: []string{"core/...", "plain", "faults/...", "sim/..."}, foreign: []string{"github.com/tidwall/btree", "golang.org/x/sync"}},
	{folder: "prod/chaos", may: []string{"core/...", "prod/...", "faults/..."}, foreign: []string{"*"}},
	{folder: "prod/...", may: []string{"core/...", "plain", "prod/..."}, foreign: []string{"*"}},
	{folder: "scenarios/...", may: []string{"..."}, foreign: []string{"*"}},
	{folder: "bench", may: []string{"..."}, foreign: []string{"*"}},
	{folder: "cmd/...", may: []string{"..."}, foreign: []string{"*"}},
	{folder: "."},
}

// testOnly is what any test file may import.
var testOnly = []string{"pgregory.net/rapid", "github.com/google/go-cmp"}

// impure is what a pure package may not import, with everything below it: what
// reads a clock, draws a number, waits, starts something or does I/O.
var impure = []string{"time", "os", "net", "sync", "context", "math/rand", "crypto/rand", "log", "runtime", "syscall", "unsafe", "plugin", "testing", "io/ioutil", "path/filepath"}

func holds(folder, pkg string) bool {
	if below, ok := strings.CutSuffix(folder, "..."); ok {
		return strings.HasPrefix(pkg+"/", below)
	}
	return folder == pkg
}

func below(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return p == "*" || p == pkg || strings.HasPrefix(pkg, p+"/") })
}

func layerOf(pkg string) (layer, bool) {
	i := slices.IndexFunc(layers, func(l layer) bool { return holds(l.folder, pkg) })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

// judge says why a file of pkg may not import what it imports, or "".
func judge(pkg, imported string, isTest bool) string {
	l, ok := layerOf(pkg)
	if !ok {
		return fmt.Sprintf("%s is in no layer: add it to the table here and in ARCHITECTURE.md", pkg)
	}
	inner, ok := strings.CutPrefix(imported, module+"/")
	if imported == module {
		inner, ok = ".", true
	}
	if ok {
		allowed := l.may
		if isTest {
			allowed = append(slices.Clone(allowed), append(l.tests, pkg)...)
		}
		if !slices.ContainsFunc(allowed, func(f string) bool { return holds(f, inner) }) {
			return fmt.Sprintf("%s may not import %s", pkg, imported)
		}
		return ""
	}
	if !strings.Contains(strings.Split(imported, "/")[0], ".") { // the standard library
		if l.pure && !isTest && below(impure, imported) {
			return fmt.Sprintf("%s is pure and may not import %s", pkg, imported)
		}
		return ""
	}
	if below(l.foreign, imported) || isTest && below(testOnly, imported) {
		return ""
	}
	return fmt.Sprintf("%s may not import the foreign %s", pkg, imported)
}

// sources calls f for every Go file of the module that a build could take.
func sources(t *testing.T, f func(file, pkg string, src []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(file), path.Dir(filepath.ToSlash(file)), src)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ignored reports whether a file says that no build takes it.
func ignored(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if !constraint.IsGoBuild(c.Text) || c.Pos() > f.Package {
				continue
			}
			if x, err := constraint.Parse(c.Text); err == nil && x.String() == "ignore" {
				return true
			}
		}
	}
	return false
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	sources(t, func(file, pkg string, src []byte) {
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		if ignored(f) {
			return
		}
		seen[pkg] = true
		if _, ok := layerOf(pkg); !ok {
			t.Errorf("%s: %s is in no layer: add it to the table here and in ARCHITECTURE.md", file, pkg)
			return
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if why := judge(pkg, imported, strings.HasSuffix(file, "_test.go")); why != "" {
				t.Errorf("%s: %s", file, why)
			}
		}
	})
	if !seen["core"] || !seen["."] {
		t.Fatalf("the walk found only %v: it does not see the tree", seen)
	}
}

// The core starts nothing and waits for nothing.
func TestTheCoreStartsNothing(t *testing.T) {
	sources(t, func(file, pkg string, src []byte) {
		if l, ok := layerOf(pkg); !ok || !l.pure || strings.HasSuffix(file, "_test.go") {
			return
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, src, 0)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s: a %T in the core", set.Position(n.Pos()), n)
			}
			return true
		})
	})
}

// The table itself is held to what it must refuse.
func TestTheTableRefuses(t *testing.T) {
	for _, c := range []struct {
		pkg, imported string
		test, refused bool
	}{
		{"core", "time", false, true},
		{"core", "strconv", false, false},
		{"core", "time", true, false},
		{"core", "log/slog", false, true},
		{"core/duty", "math/rand/v2", false, true},
		{"core/duty", "nova/core/protocol", false, false},
		{"core/keys", "nova/core/plan", false, true},
		{"core/plan", "nova/core/protocol", false, true},
		{"core/protocol", "nova/core/duty", false, true},
		{"core/duty", "nova/sim/world", false, true},
		{"core/duty", "nova/sim/world", true, false},
		{"core/duty", "nova/sim", true, true},
		{"core/duty", "pgregory.net/rapid", false, true},
		{"core/duty", "pgregory.net/rapid", true, false},
		{"sim", "nova/prod/exec", false, true},
		{"sim/world", "nova/prod/exec", true, true},
		{"sim", "go.etcd.io/etcd/client/v3", false, true},
		{"sim", "nova/faults", false, false},
		{"prod/exec", "nova/sim", false, true},
		{"prod/exec", "nova/sim/world", true, true},
		{"prod/exec", "nova/faults", false, true},
		{"prod/chaos", "nova/faults", false, false},
		{"prod/exec", "nova/core/duty", false, false},
		{"faults", "nova/sim", false, true},
		{"faults/boundaries", "nova", false, false},
		{"core/duty", "nova", false, true},
		{"prod/exec", "nova", false, true},
		{"scenarios", "nova/sim", false, false},
		{"scenarios", "nova/prod/s3store", true, false},
		{"cmd/nova", "nova/sim", false, false},
		{"elsewhere", "fmt", false, true},
	} {
		if why := judge(c.pkg, c.imported, c.test); (why != "") != c.refused {
			t.Errorf("%s importing %s (test=%v): refused=%v (%s), want %v", c.pkg, c.imported, c.test, why != "", why, c.refused)
		}
	}
}
