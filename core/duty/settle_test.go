package duty

import (
	"fmt"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func runSettle(d *Settle, t core.Turn, e *core.Env, due *Due) core.Verdict { return d.Step(t, e, due) }

func settlePass(l *lab) *labProc { return l.start(pass(keys.Settle, runSettle)) }

// settleWorld is an express chain (two stores) of a star that is dead: one batch
// absorbed, two slots committed above it, a third in one store only; its mint row
// and its settle marker, ripe now.
func settleWorld(t *testing.T) *lab {
	l := newLab(t)
	l.mint("s", 1, core.Express)
	l.put(keys.Mint("s", core.Express), format.EncodeNumber(1))
	l.create(1, 0)
	l.create(2, 0)
	l.batch("s", 1, false, []append1{{1, 2}, {2, 1}})
	l.slot("s", 1, 1, 2, append1{1, 3}, append1{2, 1})
	l.slot("s", 1, 2, 2, append1{2, 2})
	l.slot("s", 1, 3, 1, append1{1, 4})
	l.markSettle(l.now)
	return l
}

// slot puts a slot that is not absorbed into the first n stores of its chain.
func (l *lab) slot(star string, epoch, slot uint64, n int, ps ...append1) {
	c, _ := format.DecodeChainConst(l.rows[keys.ChainConst(star, epoch)].Val)
	body := ""
	var chunks []format.Chunk
	for _, p := range ps {
		at := uint64(len(l.want[p.stream]) / recordSize)
		data := ""
		for k := range uint64(p.count) {
			data += record(p.stream, at+k)
		}
		l.want[p.stream] += data
		chunks = append(chunks, format.Chunk{Stream: p.stream, First: at, Count: uint32(p.count), CRC: format.CRC([]byte(data)),
			Off: int64(len(body)), Len: int64(len(data)), Oldest: l.now, Newest: l.now})
		body += data
	}
	tail, _ := format.Finish(format.SlotObject, int64(len(body)), chunks)
	for i, st := range c.Stores {
		o := core.Obj{Store: st, Key: keys.Slot(star, epoch, slot)}
		if l.taken[o] = i >= n; i < n {
			l.objs[o] = body + tail
		}
	}
}

func (l *lab) markSettle(at core.Ms) string {
	k := keys.DueSettle(keys.ShardOfChain("s", 1, l.dials.Shards), at, "s", 1)
	l.put(k, format.SettleMark{}.Encode())
	return k
}

func (l *lab) head() format.ChainHead {
	h, _ := format.DecodeChainHead(l.rows[keys.ChainHead("s", 1)].Val)
	return h
}

// settledWell holds a world to what settling it must leave. Slot 3 was not
// acknowledged, since one store has it not: it is cut off, or, where that store did
// not answer, adopted.
func settledWell(l *lab, at string) {
	l.t.Helper()
	h := l.head()
	if h.State != format.ChainSettled || h.Cut < 3 || h.Cut > 4 || h.Checkpoint != h.Cut {
		l.t.Errorf("%s: the head is %+v", at, h)
	}
	for id := range uint64(3) {
		want := l.want[id]
		if id == 1 && h.Cut == 3 {
			want = want[:len(want)-4*recordSize]
		}
		if got := l.read(id); got != want {
			l.t.Errorf("%s: stream %d reads %q, not %q", at, id, got, want)
		}
	}
	for o := range l.objs {
		if _, _, slot, err := keys.ParseSlot(o.Key); err == nil && slot >= h.Cut {
			l.t.Errorf("%s: %v stands above the cut", at, o)
		}
	}
	if ks := append(l.keys("due/settle/"), l.keys("lease/")...); len(ks) > 0 {
		l.t.Errorf("%s: left %v", at, ks)
	}
}

func (l *lab) drainSettle() {
	l.t.Helper()
	l.drainAll(keys.Settle, 1<<60, func() *labProc { return settlePass(l) })
}

// A dead star's class head is settled: absorbed at once, its garbage gone twice,
// one request lifetime apart.
func TestSettleDeadStar(t *testing.T) {
	l := settleWorld(t)
	settlePass(l).run()
	h := l.head()
	if h.State != format.ChainSwept || h.Checkpoint != 3 {
		t.Fatalf("after one pass: %+v", h)
	}
	again := keys.DueSettle(keys.ShardOfChain("s", 1, l.dials.Shards), h.SweptAt+l.dials.RequestLife, "s", 1)
	if ks := l.keys("due/settle/"); len(ks) != 1 || ks[0] != again {
		t.Fatalf("re-armed as %v, not %s", ks, again)
	}
	l.now = h.SweptAt + l.dials.RequestLife - 1
	settlePass(l).run()
	if h := l.head(); h.State != format.ChainSwept {
		t.Fatalf("one tick too early: %+v", h)
	}
	l.drainSettle()
	settledWell(l, "in the end")
}

// A live star's class head is deferred; once a newer epoch is minted it is
// superseded, and settles whatever the star does.
func TestSettleDefersTheLiveHead(t *testing.T) {
	l := settleWorld(t)
	l.put(keys.Star("s"), "alive")
	for range 3 {
		wrote, was := l.wrote, l.now
		p := settlePass(l)
		p.run()
		if l.wrote != wrote+1 || p.notes[core.NoteSettleDeferred] != 1 {
			t.Fatalf("%d writes, deferred %d times", l.wrote-wrote, p.notes[core.NoteSettleDeferred])
		}
		ks := l.keys("due/settle/")
		if want := keys.DueSettle(keys.ShardOfChain("s", 1, l.dials.Shards), was+l.dials.LiveHeadProbe, "s", 1); len(ks) != 1 || ks[0] != want {
			t.Fatalf("deferred to %v", ks)
		}
		l.now += l.dials.LiveHeadProbe
	}
	l.put(keys.Mint("s", core.Express), format.EncodeNumber(2))
	l.drainSettle()
	settledWell(l, "superseded")
}

// A chain whose record is gone, or that is settled, has its marker resolved.
func TestSettleResolves(t *testing.T) {
	l := settleWorld(t)
	l.drainSettle()
	l.markSettle(l.now)
	wrote := l.wrote
	settlePass(l).run()
	if len(l.keys("due/settle/")) != 0 || l.wrote != wrote+1 {
		t.Errorf("a settled chain: %v, %d writes", l.keys("due/settle/"), l.wrote-wrote)
	}
	for _, part := range []string{keys.ChainConst("s", 1), keys.ChainHead("s", 1), keys.ChainTrim("s", 1)} {
		delete(l.rows, part)
	}
	l.markSettle(l.now)
	settlePass(l).run()
	if len(l.keys("due/settle/")) != 0 {
		t.Errorf("a reaped chain: %v", l.keys("due/settle/"))
	}
}

// The duty is cut at every effect, in every way; the next run converges on the
// same cut, and no second clock is left.
func TestSettleConvergesAfterEveryCut(t *testing.T) {
	l := settleWorld(t)
	n := sweep(l, settlePass, func(l *lab) { l.drainSettle() }, settledWell)
	swept := settleWorld(t)
	settlePass(swept).run()
	swept.now = swept.head().SweptAt + swept.dials.RequestLife
	n += sweep(swept, settlePass, func(l *lab) { l.drainSettle() }, settledWell)
	live := settleWorld(t)
	live.put(keys.Star("s"), "alive")
	n += sweep(live, settlePass, func(l *lab) {
		if ks := l.keys("due/settle/"); len(ks) != 1 {
			l.t.Errorf("%d clocks: %v", len(ks), ks)
		}
		delete(l.rows, keys.Star("s"))
		l.drainSettle()
	}, settledWell)
	if n < 250 {
		t.Errorf("only %d cuts", n)
	}
	t.Logf("%d cuts", n)
}

// C5: every kind of answer to any one read or write of a pass. None of them may
// settle what is not settled, or lose what was committed.
func TestSettleUnderEveryAnswer(t *testing.T) {
	for _, o := range []core.Outcome{core.Unknown, core.Refused, core.NoSpace, core.Damaged, core.OutOfRange} {
		for k := 0; ; k++ {
			l := settleWorld(t)
			n := 0
			l.deny = func(op *core.Op) (core.Outcome, bool) {
				meta := o == core.NoSpace || o == core.Unknown || o == core.Refused
				if op.Kind == core.KWait || op.IsMeta() && !meta || op.IsStore() && o == core.NoSpace {
					return 0, false
				}
				n++
				return o, n == k+1
			}
			settlePass(l).run()
			l.deny = nil
			if n <= k {
				break
			}
			l.drainSettle()
			h := l.head()
			if h.State != format.ChainSettled || h.Checkpoint != h.Cut || h.Cut > 4 {
				t.Fatalf("%s at %d: the head is %+v", o, k, h)
			}
			if o != core.Damaged && o != core.OutOfRange { // those say that a replica is torn: read-any has the other
				settledWell(l, fmt.Sprintf("%s at %d", o, k))
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

// Every store of the set is away: the epoch waits, and nothing is decided.
func TestSettleWaitsForAStore(t *testing.T) {
	l := settleWorld(t)
	l.deny = func(op *core.Op) (core.Outcome, bool) { return core.Unknown, op.IsStore() }
	settlePass(l).run()
	if h := l.head(); h.State != format.ChainOpen || h.Checkpoint != 1 || len(l.keys("due/settle/")) != 1 || len(l.keys("lease/")) != 0 {
		t.Fatalf("with no store: %+v, %v, %v", h, l.keys("due/settle/"), l.keys("lease/"))
	}
	l.deny = nil
	l.drainSettle()
	settledWell(l, "once they are back")
}
