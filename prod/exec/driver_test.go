package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nova/core"
)

// fan runs n operations abreast, then finishes.
type fan struct {
	op      func(i int) core.Op
	n       int
	g       core.Group[one]
	replies []core.Reply
}

type one struct{ c core.Call }

func (f *fan) Step(t core.Turn) bool {
	return f.g.Run(t, f.n, f.n, func(i int, m *one, t core.Turn) bool {
		r, ok := m.c.Await(t, f.op(i))
		if ok {
			f.replies[i] = *r
			t.Note(core.NoteDutyRun, 1)
		}
		return ok
	})
}

func newFan(n int, op func(i int) core.Op) *fan {
	return &fan{op: op, n: n, replies: make([]core.Reply, n)}
}

func TestRunGathersGets(t *testing.T) {
	var notes, ops atomic.Int64
	f := newBench(t, func(o *Options) {
		o.OnNote = func(core.Note) { notes.Add(1) }
		o.OnOp = func(d Done) {
			if d.Kind == core.KGet && (d.Outcome == core.OK || d.Outcome == core.Absent) {
				ops.Add(1)
			}
		}
	})
	for i := range 300 {
		if i%3 == 0 {
			f.do(t, core.Txn(core.Put(fmt.Sprint("k", i), fmt.Sprint("v", i))), core.OK)
		}
	}
	m := newFan(300, func(i int) core.Op { return core.Get(fmt.Sprint("k", i)) })
	if err := f.Run(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for i, r := range m.replies {
		want := core.Reply{Outcome: core.Absent}
		if i%3 == 0 {
			want = core.Reply{Val: fmt.Sprint("v", i), Rev: int64(i/3 + 1)}
		}
		if d := cmp.Diff(want, r); d != "" {
			t.Fatalf("get %d: %s", i, d)
		}
	}
	if d := cmp.Diff([]int{44, 128, 128}, sortedSizes(f.meta.gets)); d != "" {
		t.Error(d)
	}
	if notes.Load() != 300 || ops.Load() != 300 {
		t.Errorf("%d notes, %d ops", notes.Load(), ops.Load())
	}
}

func TestRunGathersDeletes(t *testing.T) {
	f := newBench(t, func(o *Options) { o.DeleteDelay = time.Second })
	tries := map[string]int{}
	f.a.before = func(op core.Op) (core.Outcome, error) {
		f.a.mu.Lock()
		defer f.a.mu.Unlock()
		tries[op.Key]++
		switch {
		case op.Key == "k7":
			return core.Refused, errors.New("denied")
		case op.Key == "k8" && tries[op.Key] < 3:
			return core.Unknown, errors.New("busy")
		case op.Key == "k9":
			return core.Unknown, errors.New("busy")
		}
		return core.OK, nil
	}
	m := newFan(2500, func(i int) core.Op { return core.Delete(core.Obj{Store: "a", Key: fmt.Sprint("k", i)}) })
	if err := f.Run(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for i, r := range m.replies {
		want := core.OK
		switch i {
		case 7:
			want = core.Refused
		case 9:
			want = core.Unknown
		}
		if r.Outcome != want {
			t.Errorf("delete %d: %s", i, r.Outcome)
		}
	}
	if d := cmp.Diff([]int{1, 2, 2, 500, 1000, 1000}, sortedSizes(f.a.deletes)); d != "" {
		t.Error(d)
	}
}

func TestRetriesOnlyWhatIsSafe(t *testing.T) {
	o := core.Obj{Store: "a", Key: "k"}
	for _, c := range []struct {
		op    core.Op
		tries int64
	}{
		{core.Get("k"), 4}, {core.Scan("a", "b", 1), 4}, {core.Txn(core.Put("k", "v")), 1},
		{core.Stat(o), 4}, {core.ReadTail(o, 1), 4}, {core.ReadRange(o, 0, 1), 4}, {core.List("a", "x", "", 1), 4},
		{core.ListUploads(o), 4}, {core.Abort(o, "u"), 4}, {core.Delete(o), 4},
		{core.Create(o, core.Bytes("x"), soon()), 1}, {core.CreateUpload(o, soon()), 1},
		{core.UploadPart(o, "u", 1, core.Bytes("x"), soon()), 1}, {core.Complete(o, "u", nil, soon()), 1},
		{core.CopyPart(o, "u", 1, core.Piece{Kind: core.Range, From: o, Len: 1}, soon()), 1},
	} {
		f := newBench(t, nil)
		var n atomic.Int64
		f.meta.before = func(string) core.Outcome { n.Add(1); return core.Unknown }
		f.a.before = func(core.Op) (core.Outcome, error) { n.Add(1); return core.Unknown, errors.New("fault") }
		f.do(t, c.op, core.Unknown)
		if n.Load() != c.tries {
			t.Errorf("%s was sent %d times, not %d", c.op.Kind, n.Load(), c.tries)
		}
	}
}

func TestNotAfterAndStores(t *testing.T) {
	f := newBench(t, nil)
	past := core.Ms(time.Now().UnixMilli())
	for _, op := range []core.Op{
		core.Create(core.Obj{Store: "a", Key: "k"}, core.Bytes("x"), past),
		core.CreateUpload(core.Obj{Store: "a", Key: "k"}, 0),
		core.Create(core.Obj{Store: "nowhere", Key: "k"}, core.Bytes("x"), soon()),
		core.Stat(core.Obj{Store: "nowhere", Key: "k"}),
		core.Delete(core.Obj{Store: "nowhere", Key: "k"}),
		{Kind: core.KNone},
	} {
		f.do(t, op, core.Refused)
	}
	if len(f.a.objects) != 0 {
		t.Error("a put was sent past its time")
	}
}

// slow is a machine that breaks one contract.
type broken struct {
	how  string
	a, b core.Call
	step int
}

func (m *broken) Step(t core.Turn) bool {
	m.step++
	wait := core.Wait(t.Now + 1)
	switch m.how {
	case "done early":
		m.a.Await(t.In(0), wait)
		return true
	case "nothing awaited":
		return false
	case "one path twice":
		m.a.Await(t, wait)
		m.b.Await(t, wait)
	case "event dropped":
		if m.step == 1 {
			m.a.Await(t.In(0), wait)
		}
	}
	return false
}

func TestRunRefusesBrokenMachines(t *testing.T) {
	for _, how := range []string{"done early", "nothing awaited", "one path twice", "event dropped"} {
		f := newBench(t, nil)
		if err := f.Run(t.Context(), &broken{how: how}); !errors.Is(err, ErrMachine) {
			t.Errorf("%s: %v", how, err)
		}
	}
}

func TestShutdownDropsTheMachine(t *testing.T) {
	f := newBench(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	m := newFan(40, func(i int) core.Op {
		switch i % 4 {
		case 0:
			return core.Take("requests")
		case 1:
			return core.Wait(1 << 60)
		case 2:
			return core.Get("k")
		}
		return core.Delete(core.Obj{Store: "a", Key: "k"})
	})
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := f.Run(ctx, m); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !f.Queue("requests").TryPush("x") {
		t.Error("the queue is gone")
	}
}

func TestWaitAndNudge(t *testing.T) {
	f := newBench(t, nil)
	now := core.Ms(time.Now().UnixMilli())
	f.do(t, core.Wait(now-5), core.OK)
	f.do(t, core.Wait(now+30), core.OK)
	if took := core.Ms(time.Now().UnixMilli()) - now; took < 30 {
		t.Errorf("woke after %d ms", took)
	}
	done := make(chan core.Reply)
	go func() { done <- f.Do(t.Context(), core.Wait(now+3_600_000)) }()
	for {
		f.Nudge()
		select {
		case r := <-done:
			if r.Outcome != core.OK {
				t.Error(r.Outcome)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// echo answers every request of a queue, forever.
type echo struct {
	step       int
	take, give core.Call
	val        string
}

func (m *echo) Step(t core.Turn) bool {
	for {
		switch m.step {
		case 0:
			r, ok := m.take.Await(t, core.Take("in"))
			if !ok {
				return false
			}
			m.val, m.step = r.Val, 1
		case 1:
			if _, ok := m.give.Await(t, core.Give("out", "re: "+m.val)); !ok {
				return false
			}
			m.step = 0
		}
	}
}

func TestQueues(t *testing.T) {
	f := newBench(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx, &echo{}) }()
	var want, got []string
	for i := range 2000 {
		v := fmt.Sprint(i)
		if err := f.Queue("in").Push(ctx, v); err != nil {
			t.Fatal(err)
		}
		want = append(want, "re: "+v)
	}
	for range want {
		v, err := f.Queue("out").Answer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	if !slices.Equal(want, got) {
		t.Error("answers differ")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := f.Queue("out").Answer(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for f.Queue("full").TryPush("x") {
	}
	if err := f.Queue("full").Push(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWidths(t *testing.T) {
	f := newBench(t, func(o *Options) { o.Widths.Reads = 3 })
	var now, most atomic.Int64
	f.a.before = func(core.Op) (core.Outcome, error) {
		n := now.Add(1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return core.OK, nil
	}
	if err := f.Run(t.Context(), newFan(50, func(int) core.Op { return core.Stat(core.Obj{Store: "a", Key: "k"}) })); err != nil {
		t.Fatal(err)
	}
	if most.Load() != 3 {
		t.Errorf("%d stats were abreast", most.Load())
	}
}
