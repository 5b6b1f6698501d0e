package nova_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// destroyers are the machines that may emit each operation, or name each row,
// with what they may do with it. Whoever else began to would be a new way for
// bytes to go, and needs a proof of its own.
var destroyers = map[string][]string{
	// A slot goes by the trim-check, above the cut by the settlement that published
	// it, and with its whole star by decommission; a settled object by the reap-check
	// and the orphan duty. The absorb never trims.
	"core.Delete": {"core/admin/sweep.go", "core/duty/orphan.go", "core/duty/reapcheck.go", "core/duty/trimcheck.go", "core/protocol/fence.go"},
	"core.Abort":  {"core/duty/orphan.go", "core/protocol/publish.go"},
	// The one sanctioned listing is over a dead star's prefix: there is no periodic
	// sweep of a bucket and no backstop.
	"core.List": {"core/admin/sweep.go"},
	// Of exactly one key's uploads.
	"core.ListUploads": {"core/duty/orphan.go"},
	// The trim cursors: made by the mint, moved by the trim-check alone.
	"keys.ChainTrim": {"core/duty/trimcheck.go", "core/serve/mint.go"},
	// An intent is announced by a publish, and by nothing else: slots have none.
	"format.Intent": {"core/duty/orphan.go", "core/plan/ready.go", "core/protocol/announce.go", "core/protocol/publish.go"},
}

// kinds are those by which an operation could be built without its
// constructor.
var kinds = map[string]string{"core.KDelete": "core.Delete", "core.KList": "core.List", "core.KAbort": "core.Abort", "core.KListUploads": "core.ListUploads"}

func TestWhoDestroysAndWhoLists(t *testing.T) {
	found := map[string][]string{}
	sources(t, func(file, pkg string, src []byte) {
		if !strings.HasPrefix(pkg, "core/") || strings.HasSuffix(file, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if p, ok := x.X.(*ast.Ident); ok {
				name := p.Name + "." + x.Sel.Name
				if of, ok := kinds[name]; ok {
					name = of
				}
				if _, ok := destroyers[name]; ok && !slices.Contains(found[name], file) {
					found[name] = append(found[name], file)
				}
			}
			return true
		})
	})
	for name, want := range destroyers {
		got := found[name]
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s is used by %v, and may be by %v", name, got, want)
		}
	}
}
