package exec

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"nova/core"
)

// notebook is a witness in memory.
type notebook struct{ lines []string }

func (n *notebook) Turn(x *core.Exchange, first, done bool) {
	what := "start"
	if !first {
		what = x.Ev.At.String() + "=" + x.Ev.Reply.Val
	}
	for _, e := range x.Out {
		what += " " + e.Op.String()
	}
	n.lines = append(n.lines, fmt.Sprint(what, " ", done))
}

func (n *notebook) Fell(x *core.Exchange, first bool, why any) {
	n.lines = append(n.lines, fmt.Sprint("fell ", x.Ev.Reply.Val, " ", first, " ", why))
}

func (n *notebook) Over(err error) { n.lines = append(n.lines, fmt.Sprint("over ", err)) }

// reading reads rows one after another.
type reading struct {
	keys []string
	call core.Call
	fall bool
}

func (m *reading) Step(t core.Turn) bool {
	for len(m.keys) > 0 {
		r, ok := m.call.Await(t.In(1), core.Get(m.keys[0]))
		if !ok {
			return false
		}
		if m.fall && r.Val == "2" {
			panic("two")
		}
		m.keys = m.keys[1:]
	}
	return true
}

func TestWitness(t *testing.T) {
	meta := &fakeMeta{rows: map[string]core.Row{"a": {Mark: core.Mark{Key: "a", Rev: 1}, Val: "1"}, "b": {Mark: core.Mark{Key: "b", Rev: 2}, Val: "2"}}}
	run := func(m core.Machine) (n *notebook, fell any) {
		d, err := New(Options{Dials: core.Spec(), Meta: meta, Stores: map[core.Store]ObjectStore{"s": &fakeStore{}}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		n = &notebook{}
		defer func() { fell = recover() }()
		if err := d.RunBefore(context.Background(), m, n); err != nil && !errors.Is(err, ErrMachine) {
			t.Error(err)
		}
		return n, nil
	}
	n, fell := run(&reading{keys: []string{"a", "b"}})
	if want := "[start get a false 1=1 get b false 1=2 true over <nil>]"; fmt.Sprint(n.lines) != want || fell != nil {
		t.Errorf("%v, %v\nwant %s", n.lines, fell, want)
	}
	n, fell = run(&reading{keys: []string{"a", "b"}, fall: true})
	if want := "[start get a false 1=1 get b false fell 2 false two over <nil>]"; fmt.Sprint(n.lines) != want || fell != "two" {
		t.Errorf("%v, %v\nwant %s", n.lines, fell, want)
	}
	n, _ = run(&idle{})
	if want := "[start false over the machine broke its contract: it waits for nothing]"; fmt.Sprint(n.lines) != want {
		t.Errorf("%v\nwant %s", n.lines, want)
	}
}

// idle asks for nothing and is not done.
type idle struct{}

func (idle) Step(core.Turn) bool { return false }
