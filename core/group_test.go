package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"nova/core"
)

// lane is a child of two calls.
type lane struct{ m two }

// readers is a machine that runs n lanes abreast and keeps what each read last.
type readers struct {
	n, width int
	started  []int
	lanes    core.Group[lane]
	results  core.Results[string]
	ready    bool
}

func (m *readers) Step(t core.Turn) bool {
	if !m.ready {
		m.results.Make(m.n)
		m.ready = true
	}
	return m.lanes.Run(t, m.n, m.width, func(i int, l *lane, t core.Turn) bool {
		if l.m.step == 0 && !l.m.call.Sent() {
			m.started = append(m.started, i)
		}
		if !l.m.Step(t) {
			return false
		}
		m.results.Set(i, l.m.first)
		return true
	})
}

func TestGroupRespectsWidthAndStartsInOrder(t *testing.T) {
	for _, c := range []struct{ n, width int }{{0, 1}, {1, 1}, {5, 1}, {5, 2}, {5, 5}, {5, 9}, {300, 128}} {
		t.Run(fmt.Sprintf("%d abreast %d", c.n, c.width), func(t *testing.T) {
			m := &readers{n: c.n, width: c.width}
			h := start(t, m)
			rng := rand.New(rand.NewPCG(uint64(c.n), uint64(c.width)))
			most := len(h.pending)
			for !h.done {
				i := rng.IntN(len(h.pending))
				lane := h.pending[i].At.At(0)
				h.answer(i, core.Reply{Val: fmt.Sprint("v", lane)})
				most = max(most, len(h.pending))
			}
			if most != min(c.n, c.width) {
				t.Errorf("at most %d effects in flight, want %d", most, min(c.n, c.width))
			}
			if !slices.IsSorted(m.started) || len(m.started) != c.n {
				t.Errorf("lanes started in the order %v", m.started)
			}
			for i, v := range m.results.All() {
				if v != fmt.Sprint("v", i) {
					t.Errorf("result %d is %q: results are kept by index, not by arrival", i, v)
				}
			}
		})
	}
}

// Every order of arrival of four lanes, two abreast, ends in the same state.
func TestGroupForgetsTheOrderOfArrival(t *testing.T) {
	var orders int
	var walk func(choices []int)
	walk = func(choices []int) {
		m := &readers{n: 4, width: 2}
		h := start(t, m)
		for _, c := range choices {
			lane := h.pending[c].At.At(0)
			h.answer(c, core.Reply{Val: fmt.Sprint("v", lane)})
		}
		if h.done {
			orders++
			if got := m.results.All(); !slices.Equal(got, []string{"v0", "v1", "v2", "v3"}) {
				t.Fatalf("order %v: results %q", choices, got)
			}
			if !m.lanes.Idle() {
				t.Fatalf("order %v: finished and not idle", choices)
			}
			return
		}
		for c := range h.pending {
			walk(append(choices[:len(choices):len(choices)], c))
		}
	}
	walk(nil)
	if orders < 10 {
		t.Fatalf("only %d orders were walked", orders)
	}
}

func TestGroupDrains(t *testing.T) {
	m := &readers{n: 3, width: 3}
	h := start(t, m)
	for len(h.pending) > 0 {
		if h.done {
			t.Fatalf("finished with %d lanes in flight", len(h.pending))
		}
		h.answer(0, core.Reply{})
	}
	if !h.done {
		t.Fatal("all lanes are finished and the group is not")
	}
}

func TestGroupStaysDoneUntilZeroed(t *testing.T) {
	m := &readers{n: 2, width: 2}
	h := start(t, m)
	for !h.done {
		h.answer(0, core.Reply{})
	}
	for range 3 {
		if h.turn(h.x.Start()); !h.done || len(h.pending) != 0 {
			t.Fatalf("a finished group started again: done=%v, %d effects", h.done, len(h.pending))
		}
	}
	m.lanes = core.Group[lane]{}
	if h.turn(h.x.Start()); h.done || len(h.pending) != 2 {
		t.Fatalf("a zeroed group must start anew: done=%v, %d effects", h.done, len(h.pending))
	}
}

func TestGroupLanesThatFinishAtOnce(t *testing.T) {
	var g core.Group[struct{}]
	var x core.Exchange
	ran := 0
	if !g.Run(x.Start(), 1000, 2, func(int, *struct{}, core.Turn) bool { ran++; return true }) || ran != 1000 {
		t.Fatalf("%d of 1000 lanes ran", ran)
	}
}

func TestGroupRefusesBounds(t *testing.T) {
	var x core.Exchange
	for name, f := range map[string]func(){
		"no width": func() {
			var g core.Group[struct{}]
			g.Run(x.Start(), 1, 0, nil)
		},
		"more lanes than slots": func() {
			var g core.Group[struct{}]
			g.Run(x.Start(), core.MaxGroup+1, 1, nil)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// side steps two groups side by side: the trap is that one which is finished
// starts again while the other still runs.
type side struct {
	left, right core.Group[two]
	runs        [2][3]int
}

func (m *side) Step(t core.Turn) bool {
	l := m.left.Run(t.In(1), 1, 1, func(i int, c *two, t core.Turn) bool {
		if !c.call.Sent() && c.step == 0 {
			m.runs[0][i]++
		}
		return c.Step(t)
	})
	r := m.right.Run(t.In(2), 3, 2, func(i int, c *two, t core.Turn) bool {
		if !c.call.Sent() && c.step == 0 {
			m.runs[1][i]++
		}
		return c.Step(t)
	})
	return l && r
}

func TestTwoGroupsSideBySide(t *testing.T) {
	for seed := range uint64(200) {
		m := &side{}
		h := start(t, m)
		rng := rand.New(rand.NewPCG(seed, 1))
		for n := 0; !h.done; n++ {
			if n > 8 {
				t.Fatalf("seed %d: more than the 8 effects of four lanes", seed)
			}
			h.answer(rng.IntN(len(h.pending)), core.Reply{})
		}
		if m.runs != [2][3]int{{1}, {1, 1, 1}} {
			t.Fatalf("seed %d: lanes ran %v times, each must run once", seed, m.runs)
		}
	}
}

// An event for a lane that has gone is not swallowed.
func TestGroupLeavesForeignEventsAlone(t *testing.T) {
	m := &readers{n: 2, width: 1}
	var x core.Exchange
	m.Step(x.Start())
	for _, p := range []core.Path{core.Path{}.Then(1), core.Path{}.Then(7), {}} {
		if m.Step(x.Deliver(p, core.Reply{})); x.Consumed() {
			t.Errorf("the event at %s, where no lane runs, was consumed", p)
		}
	}
}

func TestResults(t *testing.T) {
	var r core.Results[int]
	r.Make(3)
	r.Set(2, 7)
	*r.At(0) = 5
	if got := r.All(); r.Len() != 3 || !slices.Equal(got, []int{5, 0, 7}) {
		t.Fatalf("results are %v", got)
	}
	if r.Make(1); r.Len() != 1 || *r.At(0) != 0 {
		t.Fatal("Make keeps what was there before")
	}
}
