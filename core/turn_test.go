package core_test

import (
	"slices"
	"testing"

	"nova/core"
)

// two is a machine of two calls, one after the other.
type two struct {
	step  uint8
	call  core.Call
	first string
}

func (m *two) Step(t core.Turn) bool {
	for {
		switch m.step {
		case 0:
			r, ok := m.call.Await(t, core.Get("a"))
			if !ok {
				return false
			}
			m.first = r.Val
			m.step = 1
		case 1:
			if _, ok := m.call.Await(t, core.Get("b after "+m.first)); !ok {
				return false
			}
			m.step = 2
		default:
			return true
		}
	}
}

func TestOneEventForEachEffect(t *testing.T) {
	h := start(t, &two{})
	if got := h.keys(); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("the first turn emits %q, want only a", got)
	}
	h.answer(0, core.Reply{Val: "x"})
	if got := h.keys(); !slices.Equal(got, []string{"b after x"}) {
		t.Fatalf("the second turn emits %q, want only the second call", got)
	}
	h.answer(0, core.Reply{})
	if !h.done {
		t.Fatal("both effects are answered and the machine is not finished")
	}
}

func TestAwaitSendsOnce(t *testing.T) {
	var x core.Exchange
	var c core.Call
	if _, ok := c.Await(x.Start(), core.Get("a")); ok || len(x.Out) != 1 || !c.Sent() {
		t.Fatalf("the first Await: ok=%v, %d effects, sent=%v", ok, len(x.Out), c.Sent())
	}
	// A turn that brings nothing for this call must not send it again.
	if _, ok := c.Await(x.Start(), core.Get("a")); ok || len(x.Out) != 0 {
		t.Fatalf("a call in flight: ok=%v, %d effects", ok, len(x.Out))
	}
	// Once its reply is taken it is ready again.
	turn := x.Deliver(core.Path{}, core.Reply{Val: "v"})
	if r, ok := c.Await(turn, core.Get("a")); !ok || r.Val != "v" || c.Sent() {
		t.Fatalf("the reply: ok=%v, sent=%v", ok, c.Sent())
	}
	if _, ok := c.Await(turn, core.Get("a")); ok || len(x.Out) != 1 {
		t.Fatalf("awaiting again in the same turn must send anew: ok=%v, %d effects", ok, len(x.Out))
	}
}

func TestAwaitFuncBuildsTheOperationOnce(t *testing.T) {
	var x core.Exchange
	var c core.Call
	built := 0
	op := func() core.Op { built++; return core.Get("a") }
	c.AwaitFunc(x.Start(), op)
	c.AwaitFunc(x.Start(), op)
	if _, ok := c.AwaitFunc(x.Deliver(core.Path{}, core.Reply{}), op); !ok || built != 1 {
		t.Fatalf("answered=%v, built %d times, want once", ok, built)
	}
}

func TestAnEventThatFindsNoCallIsDetected(t *testing.T) {
	var x core.Exchange
	var a, b core.Call
	at := func(t core.Turn) {
		a.Await(t.In(1), core.Get("a"))
		b.Await(t.In(2), core.Get("b"))
	}
	at(x.Start())
	path := x.Out[0].At

	for name, p := range map[string]core.Path{
		"a branch that does not exist": core.Path{}.Then(3),
		"above the call":               {},
		"below the call":               path.Then(0),
	} {
		at(x.Deliver(p, core.Reply{}))
		if x.Consumed() {
			t.Errorf("an event at %s (%s) was taken for consumed", p, name)
		}
	}
	at(x.Deliver(path, core.Reply{}))
	if !x.Consumed() {
		t.Error("the event of a call in flight was not consumed")
	}

	// The branch was dropped in flight: its event must be seen to be orphaned.
	x.Deliver(core.Path{}.Then(2), core.Reply{})
	if x.Consumed() {
		t.Error("a machine that drops a branch in flight goes unnoticed")
	}
}

func TestAnEventIsConsumedByOneCallOnly(t *testing.T) {
	var x core.Exchange
	var a, b core.Call
	a.Await(x.Start().In(1), core.Get("a"))
	b.Await(x.Start().In(1), core.Get("b")) // a broken machine: two calls at one path
	turn := x.Deliver(core.Path{}.Then(1), core.Reply{})
	_, one := a.Await(turn.In(1), core.Get("a"))
	_, other := b.Await(turn.In(1), core.Get("b"))
	if !one || other {
		t.Fatalf("first call answered=%v, second=%v: one event answers one call", one, other)
	}
}

func TestInShowsTheEventOnItsBranchOnly(t *testing.T) {
	var x core.Exchange
	var deep, sibling, above core.Call
	step := func(t core.Turn) (d, s, a bool) {
		_, d = deep.Await(t.In(1).In(2), core.Get("deep"))
		_, s = sibling.Await(t.In(2).In(2), core.Get("sibling"))
		_, a = above.Await(t.In(1), core.Get("above"))
		return
	}
	step(x.Start())
	if len(x.Out) != 3 {
		t.Fatalf("%d effects, want 3", len(x.Out))
	}
	for i, want := range []core.Path{core.Path{}.Then(1).Then(2), core.Path{}.Then(2).Then(2), core.Path{}.Then(1)} {
		if x.Out[i].At != want {
			t.Errorf("effect %d is at %s, want %s", i, x.Out[i].At, want)
		}
	}
	if d, s, a := step(x.Deliver(core.Path{}.Then(1).Then(2), core.Reply{})); !d || s || a {
		t.Errorf("event at 1.2: deep=%v sibling=%v above=%v", d, s, a)
	}
}

func TestNotesAreDataOnTheSide(t *testing.T) {
	var x core.Exchange
	turn := x.Start()
	turn.Note(core.NoteAcked, 3)
	turn.In(1).NoteOf(core.NoteLost, 1, "k")
	want := []core.Note{{Kind: core.NoteAcked, N: 3}, {Kind: core.NoteLost, N: 1, Key: "k"}}
	if !slices.Equal(x.Notes, want) {
		t.Fatalf("notes are %v, want %v", x.Notes, want)
	}
	if x.Start(); len(x.Notes) != 0 || len(x.Out) != 0 {
		t.Fatal("a new turn begins with the last one's notes or effects")
	}
}

func TestAttemptsAreUnique(t *testing.T) {
	var x core.Exchange
	e := core.Env{Process: "p1"}
	x.Now = 1000
	seen := map[string]bool{}
	for _, turn := range []core.Turn{x.Start(), x.Start().In(1), x.Start().In(1).In(1), x.Start().In(11)} {
		seen[e.Attempt(turn)] = true
	}
	x.Now = 1001
	seen[e.Attempt(x.Start())] = true
	other := core.Env{Process: "p2"}
	seen[other.Attempt(x.Start())] = true
	if len(seen) != 6 {
		t.Fatalf("%d attempt ids for 6 attempts: %v", len(seen), seen)
	}
}

// An effect allocates nothing, at any depth and any width: what a machine costs
// is what it does.
func TestAnEffectAllocatesNothing(t *testing.T) {
	var x core.Exchange
	var m nested
	var g wide
	m.Step(x.Start())
	deep := x.Out[0].At
	g.Step(x.Start())
	lane := x.Out[77].At
	for name, f := range map[string]func(){
		"four levels down": func() { m.Step(x.Deliver(deep, core.Reply{Rev: 1})) },
		"128 abreast":      func() { g.Step(x.Deliver(lane, core.Reply{Rev: 1})) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations an effect", name, n)
		}
	}
}
