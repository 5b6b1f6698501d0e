package boundaries

import (
	_ "embed"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"

	"nova"
)

// List is list.txt: the names as they were committed.
//
//go:embed list.txt
var List string

// Text is a list as list.txt holds it.
func Text(list []Boundary) string {
	var b strings.Builder
	b.WriteString("# Every place that emits an effect, and what the processes are for that come by.\n")
	b.WriteString("# Made by go generate ./faults/boundaries.\n")
	for i := range list {
		b.WriteString(list[i].Name + " " + strings.Join(list[i].Roots, " ") + "\n")
	}
	return b.String()
}

// All is the boundaries of the machines that this program was built with, in the
// order of their names. It panics if its own source cannot be read: it was built.
var All = sync.OnceValue(func() []Boundary { return built().list })

// built is what the source of this program says.
var built = sync.OnceValue(func() (b struct{ list, variants []Boundary }) {
	var err error
	if b.list, b.variants, err = read(nova.Source); err != nil {
		panic(err)
	}
	return b
})

// Point is a crash point: a boundary, of a process that is for something. One
// machine runs in many duties, and a cut in one of them is no cut in another.
type Point struct {
	Boundary int // index of All
	Root     string
}

// String is the point's name: "protocol.Walk.Step/walkKill:txn@teardown".
func (p Point) String() string { return All()[p.Boundary].Name + "@" + p.Root }

// Points is every crash point, in the order of the boundaries and then of the roots.
var Points = sync.OnceValue(func() (ps []Point) {
	for i := range All() {
		for _, root := range All()[i].Roots {
			ps = append(ps, Point{i, root})
		}
	}
	return ps
})

// PointOf is where a boundary stands in Points for a process of a root; -1: the
// source says that no such process comes by.
func PointOf(boundary int, root string) int {
	if i, ok := pointOf()[Point{boundary, root}]; ok {
		return i
	}
	return -1
}

var pointOf = sync.OnceValue(func() map[Point]int {
	m := map[Point]int{}
	for i, p := range Points() {
		m[p] = i
	}
	return m
})

// byPlace finds a boundary by package and file and line: "duty/era.go:66". A place of
// a variant is the boundary that it stands for; -1: there is none.
var byPlace = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for _, v := range built().variants {
		m[place(v.File, v.Line)] = Index(v.Name)
	}
	for i, b := range All() {
		m[place(b.File, b.Line)] = i
	}
	return m
})

func place(file string, line int) string {
	return fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(file)), path.Base(file), line)
}

// Index is where a boundary of that name stands in All, or -1.
func Index(name string) int {
	for i, b := range All() {
		if b.Name == name {
			return i
		}
	}
	return -1
}

// Emitted is what a host gives an Exchange as Where: the place of the Await call
// that is being made, for At.
func Emitted() uintptr {
	var pc [1]uintptr
	runtime.Callers(4, pc[:]) // Callers, Emitted, Call.send, Call.Await, and the place
	return pc[0]
}

// seen remembers what At has found.
var seen sync.Map

// At is the boundary of a place that Emitted has told, as an index of All; -1 for
// one that is not in the core: a machine of a host's own.
func At(pc uintptr) int {
	if i, ok := seen.Load(pc); ok {
		return i.(int)
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	i := -1
	if strings.HasPrefix(f.Function, "nova/core/") {
		var ok bool
		if i, ok = byPlace()[place(f.File, f.Line)]; !ok {
			panic(fmt.Sprintf("boundaries: an effect is emitted at %s:%d (%s), and the list has no such place", f.File, f.Line, f.Function))
		}
	}
	seen.Store(pc, i)
	return i
}
