package boundaries

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"nova/core"
)

// Boundary is one place that emits an effect.
type Boundary struct {
	Name string
	Ops  []core.Kind // that it may emit
	File string      // from the module's root, with slashes
	Line int

	Roots []string // what the processes that may come by are for, in order: "denorm", "gc", "star"
}

// Changes reports whether an effect of the place may change the world. Where none
// can, a cut before it and a cut before its reply leave the same behind.
func (b *Boundary) Changes() bool {
	return slices.ContainsFunc(b.Ops, func(k core.Kind) bool { op := core.Op{Kind: k}; return op.Mutates() })
}

// ErrSource is wrapped by every error of Read.
var ErrSource = errors.New("boundaries of the source")

// Read lists the places of every package below core of a source tree, in the
// order of their names. It refuses a place whose operation it cannot tell, and two
// on one line: a run could not tell them apart.
//
// Planted bugs that are built side by side have functions besides those that they
// change (see variant): their places are no boundaries of their own, so that what a
// seed draws does not depend on which bugs are asleep in a build.
func Read(tree fs.FS) ([]Boundary, error) {
	list, _, err := read(tree)
	return list, err
}

// read is Read; and the places of variants, each with the name that it goes by.
func read(tree fs.FS) (list, variants []Boundary, err error) {
	r := reader{set: token.NewFileSet(), makers: map[string][]maker{},
		machines: machines{map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]string{}}}
	files, err := fs.Glob(tree, "core/*/*.go")
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		f, err := parser.ParseFile(r.set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		r.files = append(r.files, f)
		r.learn(f)
		r.machines.learn(f)
	}
	others := r
	for _, f := range r.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if name, ok := variant(fn.Name.Name); ok {
				others.function(f.Name.Name, receiver(fn)+name, fn)
			} else {
				r.function(f.Name.Name, receiver(fn)+fn.Name.Name, fn)
			}
		}
	}
	if len(r.found) == 0 {
		return nil, nil, fmt.Errorf("%w: none in %d files", ErrSource, len(r.files))
	}
	if err := r.finish(); err != nil {
		return nil, nil, err
	}
	r.machines.roots(r.found)
	return r.found, others.found, nil
}

// variant is the name of the function that another stands beside, as a planted bug
// makes it: "Step" of "Step__12".
func variant(name string) (of string, ok bool) {
	of, number, ok := strings.Cut(name, "__")
	return of, ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// reader is one reading of a tree.
type reader struct {
	set    *token.FileSet
	files  []*ast.File
	makers map[string][]maker // functions that return an operation, by their last name
	found  []Boundary
	err    error

	machines machines
}

// maker is a function that builds an operation.
type maker struct {
	pkg string
	fn  *ast.FuncDecl
}

// learn takes note of the functions of a file that build operations.
func (r *reader) learn(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
			continue
		}
		if _, is := variant(fn.Name.Name); is {
			continue
		}
		if isOp(fn.Type.Results.List[0].Type) {
			r.makers[fn.Name.Name] = append(r.makers[fn.Name.Name], maker{f.Name.Name, fn})
		}
	}
}

func isOp(t ast.Expr) bool {
	s, ok := t.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Op" && isCore(s.X)
}

func isCore(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "core"
}

// function finds the places of one function, with the innermost case that each
// stands in.
func (r *reader) function(pkg, name string, fn *ast.FuncDecl) {
	name = pkg + "." + name
	var walk func(n ast.Node, in string)
	walk = func(n ast.Node, in string) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.CaseClause:
				if m != n {
					label := in
					if l := caseOf(m); l != "" {
						label = "/" + l
					}
					for _, s := range m.Body {
						walk(s, label)
					}
					return false
				}
			case *ast.CallExpr:
				if op, ok := emitted(m); ok {
					r.place(pkg, name+in, m, op)
				}
			}
			return true
		})
	}
	walk(fn.Body, "")
}

// receiver is the type of a method, with a dot behind it.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "."
		default:
			return "?."
		}
	}
}

// caseOf is the constant of a case of a machine's switch: other switches, on
// outcomes and the like, are no steps.
func caseOf(c *ast.CaseClause) string {
	if len(c.List) != 1 {
		return ""
	}
	if id, ok := c.List[0].(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// emitted is the operation of a call that emits one.
func emitted(c *ast.CallExpr) (ast.Expr, bool) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || len(c.Args) != 2 || s.Sel.Name != "Await" && s.Sel.Name != "AwaitFunc" {
		return nil, false
	}
	return c.Args[1], true
}

// place adds one place.
func (r *reader) place(pkg, name string, c *ast.CallExpr, op ast.Expr) {
	// The position of a call, at run time, is that of its parenthesis.
	at := r.set.Position(c.Lparen)
	kinds := r.kinds(pkg, op, 0)
	if len(kinds) == 0 && r.err == nil {
		r.err = fmt.Errorf("%w: %s:%d: %s emits an operation that is not to be told from its text", ErrSource, at.Filename, at.Line, name)
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = k.String()
	}
	r.found = append(r.found, Boundary{Name: name + ":" + strings.Join(words, "+"), Ops: kinds, File: path.Clean(at.Filename), Line: at.Line})
}

// kinds is what an expression may build: a constructor of core's, a literal, a
// function literal or the call of a function that ends in one of them.
func (r *reader) kinds(pkg string, x ast.Expr, deep int) (kinds []core.Kind) {
	if deep > 4 {
		return nil
	}
	switch x := x.(type) {
	case *ast.FuncLit:
		return r.returned(pkg, x.Body, deep)
	case *ast.Ident: // a function, named
		return r.made(pkg, x.Name, deep)
	case *ast.CallExpr:
		switch f := x.Fun.(type) {
		case *ast.Ident:
			return r.made(pkg, f.Name, deep)
		case *ast.SelectorExpr:
			if k, ok := kindOf(kebab(f.Sel.Name)); ok && isCore(f.X) {
				return []core.Kind{k}
			}
			return r.made(pkg, f.Sel.Name, deep)
		}
	case *ast.CompositeLit: // core.Op{Kind: core.KTxn, …}
		for _, e := range x.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, isKey := kv.Key.(*ast.Ident)
			if val, ok := kv.Value.(*ast.SelectorExpr); ok && isKey && key.Name == "Kind" && isCore(val.X) {
				if k, ok := kindOf(kebab(strings.TrimPrefix(val.Sel.Name, "K"))); ok {
					kinds = append(kinds, k)
				}
			}
		}
	}
	return kinds
}

// made is what the functions of a name build: those of the package, if it has any.
func (r *reader) made(pkg, name string, deep int) (kinds []core.Kind) {
	ms := r.makers[name]
	if own := slices.DeleteFunc(slices.Clone(ms), func(m maker) bool { return m.pkg != pkg }); len(own) > 0 {
		ms = own
	}
	for _, m := range ms {
		kinds = append(kinds, r.returned(m.pkg, m.fn.Body, deep+1)...)
	}
	return kinds
}

func (r *reader) returned(pkg string, body *ast.BlockStmt, deep int) (kinds []core.Kind) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) == 1 {
				kinds = append(kinds, r.kinds(pkg, n.Results[0], deep)...)
			}
		}
		return true
	})
	return kinds
}

// finish gives places of one name their numbers, in the order of the source, and
// orders all by name.
func (r *reader) finish() error {
	if r.err != nil {
		return r.err
	}
	seen, lines := map[string]int{}, map[string]string{}
	for i := range r.found {
		b := &r.found[i]
		at := fmt.Sprintf("%s:%d", b.File, b.Line)
		if other, ok := lines[at]; ok {
			return fmt.Errorf("%w: %s: %s and %s on one line", ErrSource, at, other, b.Name)
		}
		lines[at] = b.Name
		seen[b.Name]++
		if n := seen[b.Name]; n > 1 {
			b.Name += fmt.Sprintf("#%d", n)
		}
	}
	slices.SortFunc(r.found, func(x, y Boundary) int { return cmp.Compare(x.Name, y.Name) })
	return nil
}

// kebab is a Go name as the kinds are written: CreateUpload, create-upload.
func kebab(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

func kindOf(name string) (core.Kind, bool) {
	for k := core.KNone + 1; int(k) < core.Kinds; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return core.KNone, false
}
