package boundaries

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// others are the machines that a process runs beside the duties, by the name of
// what it is for. The duties are the drains of duty.Auditor, by the names of its
// fields.
var others = map[string][]string{
	"auditor":      {"duty.registrar"},
	"star":         {"serve.Star"},
	"create":       {"serve.Create"},
	"delete":       {"serve.Delete"},
	"trim":         {"serve.Trim"},
	"policy":       {"serve.SetPolicy"},
	"read":         {"serve.ReadPlan", "serve.Fetch"},
	"decommission": {"admin.Decommission"},
	"unpark":       {"admin.Unpark"},
}

// machines is which types a struct is made of, and which types' methods call a
// function: what a process comes by, once its root is known. Machines are embedded
// by value, so that the types of the fields say it all.
type machines struct {
	parts   map[string]map[string]bool // by "duty.Era"
	callers map[string]map[string]bool // of a function without a receiver, by "duty.ripen"
	drains  map[string]string          // the fields of duty.Auditor, in lower case: the duty's type
}

// learn takes note of a file.
func (m *machines) learn(f *ast.File) {
	pkg := f.Name.Name
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					m.typ(pkg, t)
				}
			}
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			by := pkg + "." + strings.TrimSuffix(receiver(d), ".")
			ast.Inspect(d.Body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if id, ok := c.Fun.(*ast.Ident); ok {
						add(m.callers, pkg+"."+id.Name, by)
					}
				}
				return true
			})
		}
	}
}

func (m *machines) typ(pkg string, t *ast.TypeSpec) {
	st, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	name := pkg + "." + t.Name.Name
	for _, f := range st.Fields.List {
		if x, ok := f.Type.(*ast.IndexExpr); ok && name == "duty.Auditor" && len(f.Names) == 1 {
			if of, ok := x.Index.(*ast.Ident); ok {
				m.drains[strings.ToLower(f.Names[0].Name)] = pkg + "." + of.Name
			}
		}
		ast.Inspect(f.Type, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok {
					add(m.parts, name, id.Name+"."+n.Sel.Name)
				}
				return false
			case *ast.Ident:
				add(m.parts, name, pkg+"."+n.Name)
			}
			return true
		})
	}
}

func add(m map[string]map[string]bool, k, v string) {
	if m[k] == nil {
		m[k] = map[string]bool{}
	}
	m[k][v] = true
}

// roots gives each boundary the names of the processes that may come by.
func (m *machines) roots(list []Boundary) {
	roots := maps.Clone(others)
	for name, duty := range m.drains {
		roots[name] = []string{"duty.Drain", duty}
	}
	for _, name := range slices.Sorted(maps.Keys(roots)) {
		of := map[string]bool{}
		var with func(string)
		with = func(t string) {
			if !of[t] {
				of[t] = true
				for p := range m.parts[t] {
					with(p)
				}
			}
		}
		for _, t := range roots[name] {
			with(t)
		}
		for i := range list {
			if b := &list[i]; m.emits(b, of) {
				b.Roots = append(b.Roots, name)
			}
		}
	}
}

// emits reports whether one of these types emits at a boundary: itself, or by a
// function that it calls.
func (m *machines) emits(b *Boundary, of map[string]bool) bool {
	fn := b.Name[:strings.IndexAny(b.Name, "/:")]
	if by := fn[:strings.LastIndexByte(fn, '.')]; strings.Contains(by, ".") {
		return of[by]
	}
	for by := range m.callers[fn] {
		if of[by] {
			return true
		}
	}
	return false
}
