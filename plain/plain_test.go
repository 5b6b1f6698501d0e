package plain_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"nova/core"
	"nova/plain"

	"pgregory.net/rapid"
)

// leaf waits once, and notes its result by index.
type leaf struct {
	call core.Call
	n    uint32
}

// tree is a machine with everything that a state may hold: padding, strings,
// payload slices, marks, groups inside of groups, results.
type tree struct {
	step  uint8
	at    core.Ms
	name  string
	kind  core.Class
	marks []core.Mark
	row   core.Row //lint:ignore U1000 read by reflection
	set   [2]core.Obj
	group core.Group[branch]
	got   core.Results[branch]
}

type branch struct {
	on    bool //lint:ignore U1000 read by reflection
	inner core.Group[leaf]
	out   core.Results[string]
}

func (b *branch) Step(t core.Turn) bool {
	if b.out.Len() == 0 {
		b.out.Make(3)
	}
	return b.inner.Run(t, 3, 2, func(i int, l *leaf, t core.Turn) bool {
		r, ok := l.call.Await(t, core.Get(string(rune('a'+i))))
		if !ok {
			return false
		}
		l.n++
		b.out.Set(i, r.Val)
		return true
	})
}

func (m *tree) Step(t core.Turn) bool {
	if m.got.Len() == 0 {
		m.got.Make(3)
	}
	return m.group.Run(t, 3, 2, func(i int, b *branch, t core.Turn) bool {
		if !b.Step(t) {
			return false
		}
		*m.got.At(i) = *b
		return true
	})
}

// drive starts a machine and answers n of its effects, the k-th of the pending ones each time.
func drive(m core.Machine, n, k int) (pending []core.Effect) {
	var x core.Exchange
	m.Step(x.Start())
	pending = append(pending, x.Out...)
	for range n {
		if len(pending) == 0 {
			return nil
		}
		i := k % len(pending)
		e := pending[i]
		pending = append(pending[:i:i], pending[i+1:]...)
		m.Step(x.Deliver(e.At, core.Reply{Val: "v" + e.Op.Key}))
		pending = append(pending, x.Out...)
	}
	return pending
}

func TestCloneIsIndependent(t *testing.T) {
	for n := range 9 {
		m := &tree{name: "root", marks: []core.Mark{{Key: "k", Rev: 7}}}
		pending := drive(m, n, 1)
		before := plain.Append(nil, m)
		c := plain.Machine(m).(*tree)
		if !plain.Equal(m, c) || plain.Hash(m) != plain.Hash(c) {
			t.Fatalf("after %d replies the clone differs:\n%s\n%s", n, plain.Print(m), plain.Print(c))
		}
		var x core.Exchange
		for len(pending) > 0 { // the original runs to its end; the clone must not feel it
			e := pending[0]
			pending = pending[1:]
			m.Step(x.Deliver(e.At, core.Reply{Val: "other"}))
			pending = append(pending, x.Out...)
		}
		if string(plain.Append(nil, c)) != string(before) {
			t.Fatalf("after %d replies a step of the original changed its clone:\n%s", n, plain.Print(c))
		}
	}
}

func TestOrdersMerge(t *testing.T) {
	a, b := &tree{}, &tree{}
	drive(a, 9, 0)
	drive(b, 9, 1)
	if !plain.Equal(a, b) {
		t.Errorf("two orders of the same replies end in different states:\n%s\n%s", plain.Print(a), plain.Print(b))
	}
	c := &tree{}
	drive(c, 4, 0)
	if plain.Equal(a, c) || plain.Hash(a) == plain.Hash(c) {
		t.Error("different states are equal")
	}
}

func TestEncodingTellsStatesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := func(name string) *tree {
			return &tree{
				step:  uint8(rapid.IntRange(0, 1).Draw(t, name+"step")),
				at:    core.Ms(rapid.IntRange(0, 1).Draw(t, name+"at")),
				name:  rapid.SampledFrom([]string{"", "a", "aa"}).Draw(t, name+"name"),
				marks: rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 1), func(i int) core.Mark { return core.Mark{Key: "a", Rev: int64(i)} }), 0, 2).Draw(t, name+"marks"),
				set:   [2]core.Obj{{Key: rapid.SampledFrom([]string{"", "a"}).Draw(t, name+"set")}},
			}
		}
		a, b := gen("a."), gen("b.")
		same := a.step == b.step && a.at == b.at && a.name == b.name && a.set == b.set && len(a.marks) == len(b.marks)
		for i := range a.marks {
			same = same && a.marks[i] == b.marks[i]
		}
		if got := plain.Equal(a, b); got != same {
			t.Fatalf("Equal = %v, want %v:\n%s\n%s", got, same, plain.Print(a), plain.Print(b))
		}
	})
}

func TestCheckRefuses(t *testing.T) {
	type selfish struct {
		kids []*selfish //lint:ignore U1000 read by reflection
	}
	for name, c := range map[string]struct {
		typ  reflect.Type
		want string
	}{
		"pointer":   {reflect.TypeFor[struct{ p *int }](), ".p is a ptr"},
		"map":       {reflect.TypeFor[struct{ a []struct{ m map[string]int } }](), ".a[].m is a map"},
		"func":      {reflect.TypeFor[struct{ f func() }](), "func"},
		"chan":      {reflect.TypeFor[struct{ c chan int }](), "chan"},
		"interface": {reflect.TypeFor[struct{ e error }](), "interface"},
		"float":     {reflect.TypeFor[[2]float64](), "float64"},
		"recursion": {reflect.TypeFor[selfish](), "ptr"},
		"in a lane": {reflect.TypeFor[core.Group[struct{ p *int }]](), ".live.M.p is a ptr"},
		"owned":     {reflect.TypeFor[struct{ a []core.Results[int] }](), "payload"},
	} {
		err := plain.Check(c.typ)
		if !errors.Is(err, plain.ErrNotPlain) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Check = %v, want an error with %q", name, err, c.want)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[tree](), reflect.TypeFor[core.Effect](), reflect.TypeFor[core.Reply](), reflect.TypeFor[core.Env]()} {
		if err := plain.Check(typ); err != nil {
			t.Errorf("Check(%s): %v", typ, err)
		}
	}
}

func TestPrint(t *testing.T) {
	m := &tree{name: "a b", kind: core.Express, marks: []core.Mark{{Key: "k", Rev: 7}}}
	drive(m, 3, 0)
	got := plain.Print(m)
	for _, want := range []string{`name:"a b"`, "kind:express", "marks:[Mark{Key:k Rev:7}]", "group:Group{next:2", `out:Results{[va vb ""]}`} {
		if !strings.Contains(got, want) {
			t.Errorf("Print lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "step:0") {
		t.Errorf("Print shows zero fields:\n%s", got)
	}
}

func BenchmarkClone(b *testing.B) {
	m := &tree{}
	drive(m, 4, 0)
	b.ReportAllocs()
	for b.Loop() {
		plain.Machine(m)
	}
}

func BenchmarkAppend(b *testing.B) {
	m := &tree{}
	drive(m, 4, 0)
	var buf []byte
	for b.Loop() {
		buf = plain.Append(buf[:0], m)
	}
}
