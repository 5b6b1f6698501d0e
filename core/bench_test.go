package core_test

import (
	"testing"

	"nova/core"
)

// The figures are for one effect: a machine is stepped with the reply to its last
// effect and emits the next.

// reader awaits one point read after another.
type reader struct {
	call core.Call
	sum  int64
}

func (m *reader) Step(t core.Turn) bool {
	for {
		r, ok := m.call.Await(t, core.Get("due/reap/0001/key"))
		if !ok {
			return false
		}
		m.sum += r.Rev
	}
}

func BenchmarkEffect(b *testing.B) {
	var x core.Exchange
	var m reader
	m.Step(x.Start())
	at := x.Out[0].At
	b.ReportAllocs()
	for b.Loop() {
		m.Step(x.Deliver(at, core.Reply{Rev: 1}))
		at = x.Out[0].At
	}
}

// resolver awaits one compare-and-delete after another: the writes of a
// transaction are one slice, the only allocation of an effect.
type resolver struct {
	call core.Call
	mark core.Mark
}

func (m *resolver) Step(t core.Turn) bool {
	for {
		r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Txn(core.If(m.mark), core.Del(m.mark.Key)) })
		if !ok {
			return false
		}
		m.mark.Rev = r.Rev
	}
}

func BenchmarkEffectTxn(b *testing.B) {
	var x core.Exchange
	m := resolver{mark: core.Mark{Key: "due/reap/0001/key", Rev: 1}}
	m.Step(x.Start())
	at := x.Out[0].At
	b.ReportAllocs()
	for b.Loop() {
		m.Step(x.Deliver(at, core.Reply{Rev: 1}))
		at = x.Out[0].At
	}
}

// nested hands its turn down through four levels.
type nested struct{ m reader }

func (m *nested) Step(t core.Turn) bool { return m.m.Step(t.In(1).In(2).In(3).In(4)) }

func BenchmarkEffectDepth4(b *testing.B) {
	var x core.Exchange
	var m nested
	m.Step(x.Start())
	at := x.Out[0].At
	if at.Len() != 4 {
		b.Fatalf("depth %d", at.Len())
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Step(x.Deliver(at, core.Reply{Rev: 1}))
		at = x.Out[0].At
	}
}

// wide keeps 128 readers abreast: finding the addressed lane is what is measured.
type wide struct{ lanes core.Group[reader] }

func (m *wide) Step(t core.Turn) bool {
	return m.lanes.Run(t, 128, 128, func(_ int, r *reader, t core.Turn) bool { return r.Step(t) })
}

func BenchmarkEffectGroup128(b *testing.B) {
	var x core.Exchange
	var m wide
	m.Step(x.Start())
	var at [128]core.Path
	for i := range x.Out {
		at[i] = x.Out[i].At
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		m.Step(x.Deliver(at[i&127], core.Reply{Rev: 1}))
		i += 37 // odd: every lane in turn, never in order
	}
}

// A whole group of 128 lanes with two effects each, started and drained.
func BenchmarkGroup128(b *testing.B) {
	var x core.Exchange
	var pending []core.Path
	b.ReportAllocs()
	effects := 0
	for b.Loop() {
		var g core.Group[two]
		step := func(_ int, m *two, t core.Turn) bool { return m.Step(t) }
		done := g.Run(x.Start(), 128, 128, step)
		pending = pending[:0]
		for i := range x.Out {
			pending = append(pending, x.Out[i].At)
		}
		for !done {
			at := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			done = g.Run(x.Deliver(at, core.Reply{}), 128, 128, step)
			effects++
			for i := range x.Out {
				pending = append(pending, x.Out[i].At)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(effects), "ns/effect")
}
