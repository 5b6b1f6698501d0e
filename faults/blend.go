package faults

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// which is the environment variable that says which bug of a blend is awake, by
// its number.
const which = "NOVA_PLANTED"

// The blend's mark stands where the mark of a single bug does, and counts for the
// bug that is awake; nothing of another is ever run.
const (
	blendText = markText + `
// PlantedBug is the number of the bug that is awake; 0: none is.
var PlantedBug int
`
	blendExitText = exitText + `
func init() {
	if n := os.Getenv("` + which + `"); n != "" {
		if _, err := fmt.Sscan(n, &core.PlantedBug); err != nil {
			panic("` + which + `: " + err.Error())
		}
	}
}
`
)

// Blend plants many bugs side by side, asleep: each function that a bug changes is
// there as it was and as the bug makes it, and begins by asking which bug is awake.
// So one build serves them all. Bug i of bugs is awake where NOVA_PLANTED is i+1 in
// the environment. Returned are the overlay for go build, and the bugs that have to be
// built alone, because they change more than functions, or do not apply.
func Blend(root, scratch string, bugs []Planted) (overlay string, alone []int, err error) {
	apart := map[int]bool{}
	byFile := map[string][]int{}
	for i := range bugs {
		for _, f := range bugs[i].Files() {
			byFile[f] = append(byFile[f], i)
		}
	}
	blends := map[string]*blend{}
	for file, is := range byFile {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		var b *blend
		if err == nil {
			b, err = newBlend(string(src))
		}
		if err == nil {
			blends[file] = b
		}
		for _, i := range is {
			if with, e := bugs[i].Apply(file, string(src)); err != nil || e != nil || !b.add(i+1, with) {
				apart[i] = true
			}
		}
	}
	texts := map[string]string{markFile: blendText, exitFile: blendExitText}
	for file, b := range blends {
		texts[file] = b.text(func(n int) bool { return apart[n-1] })
	}
	for i := range bugs {
		if apart[i] {
			alone = append(alone, i)
		}
	}
	overlay, err = writeOverlay(root, scratch, texts)
	return overlay, alone, err
}

// blend is one file with all that bugs make of it.
type blend struct {
	src     string
	pkg     string
	funcs   map[string]function
	rest    string // the file without its functions and imports
	imports []string
	changed []change
	more    map[int][]string // imports that a bug adds
}

// function is a top-level function of a file.
type function struct {
	key      string // its receiver's type and its name
	text     string
	at, name int    // where it begins in the file, and its name in it
	body     int    // where its body begins in the file
	call     string // what follows the name in a call of it from its own body; "": it cannot be called so
	on       string // receiver and dot, in such a call
	returns  bool
}

// change is what a bug makes of a function.
type change struct {
	bug int
	was function
	is  function
}

func newBlend(src string) (*blend, error) {
	b := &blend{src: src, more: map[int][]string{}}
	var err error
	b.pkg, b.funcs, b.imports, b.rest, err = taken(src)
	return b, err
}

// add takes up what a bug makes of the file; false: it changes more than functions
// can hold.
func (b *blend) add(bug int, src string) bool {
	_, funcs, imports, rest, err := taken(src)
	if err != nil || rest != b.rest || len(funcs) != len(b.funcs) {
		return false
	}
	var changed []change
	for key, is := range funcs {
		was, ok := b.funcs[key]
		switch {
		case !ok:
			return false
		case was.text == is.text:
		case was.call == "" || signature(was, b.src) != signature(is, src):
			return false
		default:
			changed = append(changed, change{bug, was, is})
		}
	}
	b.changed = append(b.changed, changed...)
	for _, i := range imports {
		if !slices.Contains(b.imports, i) {
			b.more[bug] = append(b.more[bug], i)
		}
	}
	return len(changed) > 0
}

func signature(f function, src string) string { return src[f.at:f.body] }

// text is the file with every bug in it that is not built alone.
func (b *blend) text(apart func(bug int) bool) string {
	slices.SortFunc(b.changed, func(x, y change) int {
		if x.was.at != y.was.at {
			return x.was.at - y.was.at
		}
		return x.bug - y.bug
	})
	core := "core."
	if b.pkg == "core" {
		core = ""
	}
	var out, variants strings.Builder
	at := 0
	for _, c := range b.changed {
		if apart(c.bug) {
			continue
		}
		name := fmt.Sprintf("%s__%d", c.was.ident(), c.bug)
		out.WriteString(b.src[at:c.was.body])
		at = c.was.body
		does := fmt.Sprintf("%s%s%s", c.was.on, name, c.was.call)
		if c.was.returns {
			does = "return " + does
		} else {
			does += "; return"
		}
		fmt.Fprintf(&out, " if %sPlantedBug == %d { %s };", core, c.bug, does)
		variants.WriteString("\n" + c.is.text[:c.is.name] + name + c.is.text[c.is.name+len(c.is.ident()):] + "\n")
	}
	out.WriteString(b.src[at:])
	out.WriteString(variants.String())
	return b.imported(out.String(), apart)
}

// imported is the text with what its bugs import besides, and with the core.
func (b *blend) imported(text string, apart func(bug int) bool) string {
	var more []string
	for bug, is := range b.more {
		for _, i := range is {
			if !apart(bug) && !slices.Contains(more, i) {
				more = append(more, i)
			}
		}
	}
	if b.pkg != "core" && !slices.Contains(b.imports, `"nova/core"`) && !slices.Contains(more, `"nova/core"`) && strings.Contains(text, "core.PlantedBug") {
		more = append(more, `"nova/core"`)
	}
	slices.Sort(more)
	clause := "package " + b.pkg + "\n"
	for _, i := range more {
		text = strings.Replace(text, clause, clause+"import "+i+"\n", 1)
	}
	return text
}

func (f function) ident() string {
	return f.key[strings.LastIndexByte(f.key, '.')+1:]
}

// taken takes a file apart: its package, its functions by receiver and name, its
// imports, and the rest.
func taken(src string) (pkg string, funcs map[string]function, imports []string, rest string, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", nil, nil, "", err
	}
	off := func(p token.Pos) int { return set.Position(p).Offset }
	funcs = map[string]function{}
	var left bytes.Buffer
	for _, d := range f.Decls {
		from, to := off(d.Pos()), off(d.End())
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				left.WriteString(src[from:to])
				continue
			}
			fn := function{text: src[from:to], at: from, name: off(d.Name.Pos()) - from, body: off(d.Body.Lbrace) + 1, returns: d.Type.Results != nil && len(d.Type.Results.List) > 0}
			fn.key, fn.on, fn.call = called(d, src, off)
			funcs[fn.key] = fn
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				left.WriteString(src[from:to] + "\n")
				continue
			}
			for _, s := range d.Specs {
				imports = append(imports, src[off(s.Pos()):off(s.End())])
			}
		}
	}
	return f.Name.Name, funcs, imports, left.String(), nil
}

// called is how a function calls its like with what it was called with itself.
func called(d *ast.FuncDecl, src string, off func(token.Pos) int) (key, on, call string) {
	key = "." + d.Name.Name
	if d.Recv != nil {
		r := d.Recv.List[0]
		key = src[off(r.Type.Pos()):off(r.Type.End())] + key
		if len(r.Names) != 1 || r.Names[0].Name == "_" {
			return key, "", ""
		}
		on = r.Names[0].Name + "."
	}
	var args []string
	for _, p := range d.Type.Params.List {
		if len(p.Names) == 0 {
			return key, "", ""
		}
		for _, n := range p.Names {
			if n.Name == "_" {
				return key, "", ""
			}
			a := n.Name
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				a += "..."
			}
			args = append(args, a)
		}
	}
	types := ""
	if tp := d.Type.TypeParams; tp != nil {
		var ts []string
		for _, p := range tp.List {
			for _, n := range p.Names {
				ts = append(ts, n.Name)
			}
		}
		types = "[" + strings.Join(ts, ", ") + "]"
	}
	return key, on, types + "(" + strings.Join(args, ", ") + ")"
}
