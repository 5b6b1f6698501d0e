package serve

import (
	"fmt"
	"slices"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/protocol"
)

// pausePut pauses a process just before it delivers its next slot PUT.
func (w *world) pausePut(p *proc) {
	w.fate = func(q *proc, ef *core.Effect) fate {
		if q == p && ef.Op.Kind == core.KCreate {
			p.paused = true
			return frozen
		}
		return landed
	}
	w.until("a put is held", func() bool { return p.paused })
	w.fate = nil
}

// C1, gap 5: a writer is paused before its PUT; its chain is settled; the PUT goes
// through afterwards. It is not acknowledged, and nothing of it stays.
func TestZombieWriter(t *testing.T) {
	for _, late := range []core.Ms{1000, 60_000, 600_000, 3_600_000} {
		w := newWorld(t, 3, "a", "b")
		w.check = w.laws
		c := newClient(w)
		x := w.create("x")
		p := w.star("p1", "s1")
		c.mustOpen(p, x)
		c.await(p, c.append(p, x))
		held := c.append(p, x, x)
		w.pausePut(p)
		w.expire("p1")
		q := w.star("p2", "s2")
		if a := c.mustOpen(q, x); a.Next == 0 {
			t.Fatalf("the open settled too little: next is %d", a.Next)
		}
		c.await(q, c.append(q, x))
		w.auditor("aud")
		w.run(late)
		p.paused = false
		a := c.await(p, held)
		if a.Outcome == Acked && a.Acks[0].Reason == None {
			t.Fatalf("%d ms late: acknowledged %+v", late, a)
		}
		c.await(q, c.close(q))
		if a := c.await(p, c.close(p)); a.Outcome != Closed {
			t.Fatalf("the zombie does not close: %+v", a)
		}
		w.run(20 * 60_000)
		w.settled()
		c.verify()
	}
}

// Gap 16: a store of three is away. The star goes on without it, and loses nothing.
func TestStoreAway(t *testing.T) {
	w := newWorld(t, 5, "a", "b", "c")
	w.check = w.laws
	c := newClient(w)
	x := w.create("x")
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	c.await(p, c.append(p, x))
	w.down["b"] = true
	for range 9 {
		c.append(p, x)
	}
	if a := c.await(p, c.append(p, x)); a.Outcome != Acked || a.Acks[0].Reason != None {
		t.Fatalf("append with a store away: %+v", a)
	}
	ks := w.keys("chain/s1/")
	con, err := format.DecodeChainConst(w.rows[ks[3]].val)
	if err != nil || len(con.Stores) != 2 || con.Stores[0] != "a" || con.Stores[1] != "c" {
		t.Fatalf("the second epoch is on %v: %v", con.Stores, err)
	}
	c.await(p, c.close(p))
	w.auditor("aud")
	w.run(10 * 60_000)
	w.down["b"] = false
	w.settled()
	c.verify()
	if len(c.acked) != 11 {
		t.Fatalf("%d of 11 appends were acknowledged", len(c.acked))
	}
}

// Every store is away, for a while: appends wait, and nothing is lost.
func TestEveryStoreAway(t *testing.T) {
	w := newWorld(t, 5, "a")
	w.check = w.laws
	c := newClient(w)
	x := w.create("x")
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	w.down["a"] = true
	id := c.append(p, x)
	w.run(10 * 60_000)
	if a, ok := answerTo(p, id); ok {
		t.Fatalf("answered %+v with no store", a)
	}
	w.down["a"] = false
	if a := c.await(p, id); a.Outcome != Acked || a.Acks[0] != (Ack{}) {
		t.Fatalf("append: %+v", a)
	}
	c.await(p, c.close(p))
	w.auditor("aud")
	w.settled()
	c.verify()
}

// Gap 19: a stream's tail lies in an epoch that two crashes have left behind.
func TestOpenAfterTwoCrashes(t *testing.T) {
	w := newWorld(t, 9, "a")
	w.check = w.laws
	c := newClient(w)
	x, y := w.create("x"), w.create("y")
	var next uint64
	for i := range 4 {
		p := w.star(fmt.Sprint("p", i), "s1")
		if i%2 == 0 { // between, the star comes back and leads another stream only
			a := c.mustOpen(p, x)
			if a.Next != next {
				t.Fatalf("crash %d: next is %d, not %d", i, a.Next, next)
			}
			k := c.await(p, c.append(p, x))
			next = k.Acks[0].First + uint64(c.sent[k.ID].chunks[0].Count)
		} else {
			c.mustOpen(p, y)
			c.await(p, c.append(p, y))
		}
		p.kill()
		w.expire(p.env.Process)
	}
	w.auditor("aud")
	w.settled()
	c.verify()
}

// C19: an append after the tombstone is refused, never acknowledged; the other
// streams of its slot are not held up.
func TestAppendAfterTombstone(t *testing.T) {
	w := newWorld(t, 11, "a")
	w.check = w.laws
	c := newClient(w)
	x, y := w.create("x"), w.create("y")
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	c.mustOpen(p, y)
	c.await(p, c.append(p, x, y))
	var d Delete
	if v := once(w, "del", func(t core.Turn, e *core.Env) core.Verdict { return d.Step(t, e, x) }); v != core.Done || d.Reason != None {
		t.Fatalf("delete: %s, %s", v, d.Reason)
	}
	a := c.await(p, c.append(p, x, y))
	if a.Outcome != Acked || a.Acks[0].Reason != Deleted || a.Acks[1].Reason != None {
		t.Fatalf("append: %+v", a)
	}
	if a := c.await(p, c.open(p, x)); a.Outcome != Failed || a.Reason != Deleted {
		t.Fatalf("open: %+v", a)
	}
	c.await(p, c.close(p))
	c.verify(x)
	if n := w.notes[core.NoteAbsorbDropped]; n == 0 {
		t.Error("nothing of the deleted stream was dropped")
	}
}

// A stream has one leader; who holds it goes on holding it.
func TestOneLeader(t *testing.T) {
	w := newWorld(t, 13, "a")
	c := newClient(w)
	x := w.create("x")
	p, q := w.star("p1", "s1"), w.star("p2", "s2")
	c.mustOpen(p, x)
	if a := c.await(q, c.open(q, x)); a.Outcome != Failed || a.Reason != Held {
		t.Fatalf("a second open: %+v", a)
	}
	if a := c.await(q, c.append(q, x)); a.Acks[0].Reason != NotOpen {
		t.Fatalf("append without a lead: %+v", a)
	}
	if a := c.await(q, c.open(q, x+77)); a.Reason != NoStream {
		t.Fatalf("open of nothing: %+v", a)
	}
	k := c.await(p, c.append(p, x))
	if a := c.mustOpen(p, x); a.Next != k.Acks[0].First+uint64(c.sent[k.ID].chunks[0].Count) {
		t.Fatalf("a second open by the leader: %+v", a)
	}
	c.await(p, c.close(p))
	if a := c.mustOpen(q, x); a.Next == 0 {
		t.Fatalf("handed over: %+v", a)
	}
}

// A key of an earlier session is waited for, never overwritten.
func TestRegistrationWaits(t *testing.T) {
	w := newWorld(t, 15, "a")
	p := w.star("p1", "s1")
	w.until("p1 is registered", func() bool { return w.rows[keys.Star("s1")].owner == "p1" })
	w.star("p2", "s1")
	w.run(60_000)
	if w.rows[keys.Star("s1")].owner != "p1" {
		t.Fatal("the registration was overwritten")
	}
	p.kill()
	w.expire("p1")
	w.until("p2 is registered", func() bool { return w.rows[keys.Star("s1")].owner == "p2" })
}

// Gap 20: record times do not decrease, and are not ahead of the star's clock.
func TestRecordTimesAreClamped(t *testing.T) {
	for _, c := range []struct{ limit, last, oldest, newest, o, n core.Ms }{
		{100, 0, 10, 20, 10, 20},
		{100, 50, 10, 20, 50, 50},
		{100, 50, 10, 70, 50, 70},
		{100, 50, 900, 20, 100, 100},
		{100, 50, 60, 1 << 50, 60, 100},
		{100, 1 << 50, 60, 70, 100, 100},
		{100, 0, 30, 20, 30, 30},
	} {
		if o, n := clamp(c.limit, c.last, c.oldest, c.newest); o != c.o || n != c.n {
			t.Errorf("%+v: %d, %d", c, o, n)
		}
	}
}

// batchOf is the committed slots of a chain from its checkpoint on.
func (w *world) batchOf(star string, epoch uint64, n int) (protocol.Chain, []protocol.SlotFooter) {
	con, err := format.DecodeChainConst(w.rows[keys.ChainConst(star, epoch)].val)
	if err != nil {
		w.fail("%v", err)
	}
	h, _ := format.DecodeChainHead(w.rows[keys.ChainHead(star, epoch)].val)
	c := protocol.Chain{Star: star, Epoch: epoch, Const: con}
	var slots []protocol.SlotFooter
	for k := h.Checkpoint; len(slots) < n; k++ {
		body, ok := w.objects[c.Slot(0, k)]
		if !ok {
			break
		}
		tail, err := format.ParseTail(body, int64(len(body)))
		if err != nil {
			w.fail("%v", err)
		}
		slots = append(slots, protocol.SlotFooter{Slot: k, Window: tail.Window, Footer: tail.Footer})
	}
	return c, slots
}

// Gaps 14 and 15: absorbers of one chain race with batches of different length,
// and any of them may be cut anywhere. Every slot below the checkpoint owes its
// rewrite to a standing marker, and every record stands once.
func TestAbsorbersRace(t *testing.T) {
	for seed := range uint64(150) {
		w := newWorld(t, seed, "a")
		w.dials.StreamsPerTxn, w.dials.SpansPerRow, w.dials.SizeTrigger = 2, 2+int(seed%3), 300
		w.dials.AbsorbEvery = 1 << 40 // the star itself does not
		w.check = w.laws
		c := newClient(w)
		var ids []uint64
		p := (*proc)(nil)
		for i := range 3 {
			ids = append(ids, w.create(fmt.Sprint(i)))
		}
		p = w.star("p1", "s1")
		for _, id := range ids {
			c.mustOpen(p, id)
		}
		for i := range 6 {
			c.await(p, c.append(p, ids[i%3], ids[(i+1)%3], ids[i%3]))
		}
		c.hear()
		p.kill()
		absorber := func(name string, n int) *proc {
			chain, slots := w.batchOf("s1", 1, n)
			return w.start(name, func(p *proc) func(core.Turn) bool {
				var a protocol.Absorb
				v := core.Working
				return func(t core.Turn) bool {
					if len(slots) > 0 && v == core.Working {
						v = a.Step(t, &p.env, &protocol.Batch{Chain: &chain, Slots: slots})
					}
					if v == core.Broken {
						w.fail("broken")
					}
					return v != core.Working || len(slots) == 0
				}
			})
		}
		w.fate = func(_ *proc, ef *core.Effect) fate {
			return []fate{landed, landed, landed, landed, landed, landed, landed, lost, dropped, cutAfter}[w.rng.IntN(10)]
		}
		x, y := absorber("x", 1+int(seed%3)), absorber("y", 2+int(seed%5))
		for !(x.done || x.dead) || !(y.done || y.dead) {
			if !w.turnOnce() {
				break
			}
		}
		w.fate = nil
		w.late = nil
		w.expire("p1")
		w.auditor("aud")
		w.settled()
		c.verify()
	}
}

// The checkpoint goes nowhere without the marker as it was armed (gap 14).
func TestCheckpointComparesTheMarker(t *testing.T) {
	w := newWorld(t, 21, "a")
	w.dials.AbsorbEvery = 1 << 40
	w.check = w.laws
	c := newClient(w)
	x := w.create("x")
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	c.await(p, c.append(p, x))
	p.kill()
	chain, slots := w.batchOf("s1", 1, 9)
	hit := false
	w.fate = func(p *proc, ef *core.Effect) fate {
		if ef.Op.Kind == core.KTxn && !hit {
			for _, ws := range ef.Op.Txn {
				if ws.At.Key == keys.ChainHead("s1", 1) && ws.Verb == core.VPut { // just before: an era resolves the marker
					hit = true
					for _, k := range append(w.keys("due/denorm/"), w.keys("sched/denorm/")...) {
						delete(w.rows, k)
					}
				}
			}
		}
		return landed
	}
	var a protocol.Absorb
	if v := once(w, "x", func(t core.Turn, e *core.Env) core.Verdict {
		return a.Step(t, e, &protocol.Batch{Chain: &chain, Slots: slots})
	}); v != core.Done || !hit {
		t.Fatalf("absorb: %s, %v", v, hit)
	}
	w.laws()
	c.verify()
}

// C35: a batch that names hundreds of streams, and one whose chunks make more rows than a
// transaction holds, stay within etcd's limits (core.CheckTxn, at every send).
func TestWideAndDeepBatches(t *testing.T) {
	w := newWorld(t, 23, "a")
	c := newClient(w)
	p := w.star("p1", "s1")
	var ids []uint64
	for i := range 300 {
		ids = append(ids, w.create(fmt.Sprint("n", i)))
	}
	for _, id := range ids {
		c.open(p, id)
	}
	w.until("all are open", func() bool { return w.notes[core.NoteOpened] == 300 })
	c.append(p, ids...)
	c.append(p, ids...)
	deep := make([]uint64, 2000)
	for i := range deep {
		deep[i] = ids[7]
	}
	w.dials.SpansPerRow = 8
	p.env.Dials.SpansPerRow = 8
	c.await(p, c.append(p, deep...))
	c.await(p, c.close(p))
	c.verify()
	w.laws()
	if n := len(w.keys(fmt.Sprintf("ref/%016x/", ids[7]))); n < 200 {
		t.Fatalf("the deep stream has %d rows", n)
	}
}

// What is gone from every replica below the cut is said, and nothing is absorbed
// over it; what is torn in one replica only is read from the next.
func TestSettleOverLostSlots(t *testing.T) {
	for _, x := range []struct {
		name string
		harm func(w *world, slot [2]core.Obj)
		want core.Verdict
	}{
		{"gone here", func(w *world, o [2]core.Obj) { delete(w.objects, o[0]) }, core.Done},
		{"torn here", func(w *world, o [2]core.Obj) { w.objects[o[0]] = "torn" }, core.Done},
		{"empty there", func(w *world, o [2]core.Obj) { w.objects[o[1]] = "" }, core.Done},
		{"gone", func(w *world, o [2]core.Obj) { delete(w.objects, o[0]); delete(w.objects, o[1]) }, core.Broken},
		{"torn", func(w *world, o [2]core.Obj) { w.objects[o[0]], w.objects[o[1]] = "torn", "" }, core.Broken},
		{"away", func(w *world, o [2]core.Obj) { w.down["a"], w.down["b"] = true, true }, core.Again},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(t, 1, "a", "b")
			w.dials.AbsorbEvery = 1 << 40
			c := newClient(w)
			id := w.create("x")
			p := w.star("p1", "s1")
			c.mustOpen(p, id)
			for range 6 {
				c.await(p, c.append(p, id))
			}
			p.kill()
			w.expire("p1")
			w.late = nil
			// The cut is published; then harm is done to a slot below it.
			w.fate = func(q *proc, ef *core.Effect) fate {
				h, _ := format.DecodeChainHead(w.rows[keys.ChainHead("s1", 1)].val)
				if h.State == format.ChainCut && x.harm != nil {
					x.harm(w, [2]core.Obj{{Store: "a", Key: keys.Slot("s1", 1, 2)}, {Store: "b", Key: keys.Slot("s1", 1, 2)}})
					x.harm = nil
				}
				return landed
			}
			var s protocol.Settlement
			v := once(w, "settler", func(t core.Turn, e *core.Env) core.Verdict { return s.Step(t, e, "s1", 1, true) })
			if v != x.want || (v == core.Broken) != (s.Why != "") {
				t.Fatalf("%s, %q; want %s", v, s.Why, x.want)
			}
			if len(w.keys("lease/settle/")) > 0 {
				t.Fatal("the claim was left behind")
			}
			if v == core.Done {
				c.verify()
			} else if len(w.keys("ref/")) > 0 {
				t.Fatalf("absorbed over what is lost: %v", w.keys("ref/"))
			}
		})
	}
}

// Two settlers of one chain, one of which is paused anywhere and goes on after its
// session has gone: one cut, and every record once.
func TestTwoSettlers(t *testing.T) {
	for k := range 120 {
		w := newWorld(t, uint64(k), "a", "b")
		w.dials.AbsorbEvery, w.dials.SettleBatch, w.dials.Pipeline = 1<<40, 2, 2
		w.check = w.laws
		c := newClient(w)
		x := w.create("x")
		p := w.star("p1", "s1")
		c.mustOpen(p, x)
		for range 5 {
			c.append(p, x, x)
		}
		w.run(core.Ms(k%7) * 3)
		p.kill()
		w.expire("p1")
		settler := func(name string) (*proc, *core.Verdict) {
			v := core.Working
			return w.start(name, func(p *proc) func(core.Turn) bool {
				var s protocol.Settlement
				return func(t core.Turn) bool {
					if v == core.Working {
						v = s.Step(t, &p.env, "s1", 1, true)
					}
					return v != core.Working
				}
			}), &v
		}
		q, v := settler("q1")
		n := 0
		w.fate = func(p *proc, _ *core.Effect) fate {
			if p == q {
				if n++; n == k/2+1 {
					q.paused = true
					return frozen
				}
			}
			return landed
		}
		w.until("paused or done", func() bool { return q.done || q.paused })
		w.fate = nil
		w.expire("q1")
		r, u := settler("q2")
		w.until("the second is done", func() bool { return r.done })
		if *u != core.Done {
			t.Fatalf("paused at %d: the second ends %s", k/2, *u)
		}
		w.now += core.Ms(k%3) * 100_000
		q.paused = false
		w.until("the first is done", func() bool { return q.done })
		if *v == core.Broken {
			t.Fatalf("paused at %d: the first ends %s", k/2, *v)
		}
		w.auditor("aud")
		w.settled()
		c.verify()
		w.until("the claim is given back", func() bool { return len(w.keys("lease/settle/")) == 0 })
	}
}

// RT1: retention is armed once, in the transaction that writes a stream's first
// ref: at that ref's newest record time plus the policy. Later absorbs arm
// nothing, however the policy came, and every stream with refs and a policy has
// exactly one clock of that policy, whatever replies are lost.
func TestRetentionIsArmedAtTheBirthCommit(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, seed, "a")
		w.dials.PlanTTL = 1
		made := func(name string, age core.Ms) (id uint64) {
			var c Create
			if v := once(w, "create "+name, creating(&c, Spec{Bucket: "b", Name: name, MaxAge: age})); v != core.Done || c.Reason != None {
				t.Fatalf("create: %s %s", v, c.Reason)
			}
			return c.ID
		}
		aged, late, never := made("aged", 5_000_000), made("late", 0), made("never", 0)
		if n := len(w.keys("due/retention/")); n != 0 {
			t.Fatalf("an empty stream has %d clocks", n)
		}
		c, p := newClient(w), w.star("p1", "s1")
		for _, id := range []uint64{aged, late, never} {
			c.mustOpen(p, id)
		}
		first := map[uint64]bool{} // whether the transaction that first wrote a ref of it armed it
		w.check = func() {
			for _, id := range []uint64{aged, late} {
				refs := len(w.keys(fmt.Sprintf("ref/%016x/", id)))
				d, err := format.DecodeStream(w.rows[keys.Stream(id)].val)
				if err != nil {
					w.fail("descriptor: %v", err)
				}
				clocks := 0
				for _, k := range w.keys("due/retention/") {
					m, err := format.DecodeRetentionMark(w.rows[k].val)
					if due, err2 := keys.ParseDue(k); err != nil || err2 != nil {
						w.fail("%s: %v %v", k, err, err2)
					} else if due.Stream == id && m.Policy == d.Policy {
						clocks++
					}
				}
				if want := min(1, refs) * int(min(1, d.MaxAge)); clocks != want {
					w.fail("seed %d: stream %d has %d rows, a policy of %d and %d clocks", seed, id, refs, d.MaxAge, clocks)
				}
				first[id] = first[id] || refs > 0
			}
		}
		lossy := w.rng.IntN(2) == 0
		w.fate = func(_ *proc, ef *core.Effect) fate {
			if lossy && ef.Op.Kind == core.KTxn {
				return []fate{landed, landed, lost, dropped}[w.rng.IntN(4)]
			}
			return landed
		}
		at := w.now
		c.append(p, aged, late, never)
		var pol SetPolicy
		v := core.Working
		w.start("policy", func(p *proc) func(core.Turn) bool { // races the birth commit
			return func(t core.Turn) bool {
				if v == core.Working || v == core.Again {
					v = pol.Step(t, &p.env, late, 7_000_000)
				}
				return v != core.Working
			}
		})
		for range 4 {
			w.now += 3000
			c.append(p, aged, late)
		}
		c.await(p, c.close(p))
		w.until("the policy is set", func() bool { return v != core.Working })
		if v == core.Done && pol.Reason != None {
			t.Fatalf("policy: %s", pol.Reason)
		}
		if !first[aged] || !first[late] {
			t.Fatal("nothing was absorbed")
		}
		for _, k := range w.keys("due/retention/") {
			due, _ := keys.ParseDue(k)
			if due.Stream == aged && (due.At < at+5_000_000 || due.At > w.now+5_000_000) {
				t.Errorf("seed %d: armed at %d, appended at %d", seed, due.At, at)
			}
		}
	}
}

// The marker follows the first ref's newest record time, not the clock.
func TestRetentionFollowsRecordTime(t *testing.T) {
	w := newWorld(t, 1, "a")
	var cr Create
	once(w, "create", creating(&cr, Spec{Bucket: "b", Name: "n", MaxAge: 1000}))
	c, p := newClient(w), w.star("p1", "s1")
	c.mustOpen(p, cr.ID)
	old := w.now - 400_000
	w.now = old // the records say so
	c.append(p, cr.ID)
	w.now = old + 400_000
	c.await(p, c.close(p))
	ks := w.keys("due/retention/")
	want := keys.DueRetention(keys.ShardOfStream(cr.ID, w.dials.Shards), old+1000, cr.ID)
	if len(ks) != 1 || ks[0] != want {
		t.Errorf("armed %v, want %s", ks, want)
	}
}

// ST16: opens of a star that wait for one dead epoch share one walk of it: one
// claim, none lost, and every one of them is opened.
func TestOpensShareOneWalk(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, "a")
		w.check = w.laws
		c := newClient(w)
		p := w.star("p1", "s1")
		var ids []uint64
		for i := range 6 {
			ids = append(ids, w.create(fmt.Sprint("x", i)))
			c.mustOpen(p, ids[i])
		}
		for range 5 {
			c.await(p, c.append(p, ids...))
		}
		p.kill()
		w.expire("p1")
		before := w.notes[core.NoteClaimed]
		q := w.star("p2", "s2")
		var opens []uint64
		for _, id := range ids {
			opens = append(opens, c.open(q, id))
		}
		for _, o := range opens {
			if a := c.await(q, o); a.Outcome != Opened {
				w.fail("seed %d: open: %+v", seed, a)
			}
		}
		if n := w.notes[core.NoteClaimed] - before; n != 1 || w.notes[core.NoteClaimLost] != 0 {
			t.Errorf("seed %d: %d claims, %d lost", seed, n, w.notes[core.NoteClaimLost])
		}
	}
}

// R58: a star absorbs and never trims: it deletes nothing, and moves no trim
// cursor.
func TestTheAbsorbNeverTrims(t *testing.T) {
	w := newWorld(t, 3, "a", "b")
	c := newClient(w)
	x := w.create("x")
	w.fate = func(p *proc, ef *core.Effect) fate {
		if ef.Op.Kind == core.KDelete || ef.Op.Kind == core.KAbort {
			w.fail("%s sends %s", p.env.Process, ef.Op)
		}
		for i := range ef.Op.Txn {
			x := &ef.Op.Txn[i]
			if x.Verb != core.VIf && x.At.Key == keys.ChainTrim("s1", 1) && w.rows[x.At.Key].rev != 0 {
				w.fail("%s moves the trim cursors: %s", p.env.Process, ef.Op)
			}
		}
		return landed
	}
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	for range 100 {
		c.await(p, c.append(p, x))
	}
	c.await(p, c.close(p))
	h, err := format.DecodeChainHead(w.rows[keys.ChainHead("s1", 1)].val)
	if err != nil || h.Checkpoint < 90 {
		t.Fatalf("absorbed to %d, %v", h.Checkpoint, err)
	}
	for slot := range h.Checkpoint {
		for _, store := range []core.Store{"a", "b"} {
			if _, ok := w.objects[core.Obj{Store: store, Key: keys.Slot("s1", 1, slot)}]; !ok {
				t.Fatalf("slot %d is gone from %s", slot, store)
			}
		}
	}
}

// ST1: a mint arms its chain's settle marker, and announces the star's unsettled
// epochs anew with an immediate ready time.
func TestMintAnnouncesOlderEpochs(t *testing.T) {
	w := newWorld(t, 2, "a")
	for epoch := uint64(1); epoch <= 3; epoch++ {
		process := fmt.Sprint("p", epoch)
		p := w.star(process, "s1")
		w.until("an epoch is minted", func() bool { return w.rows[keys.ChainHead("s1", epoch)].rev != 0 })
		at := map[uint64][]core.Ms{}
		for _, k := range w.keys("due/settle/") {
			d, err := keys.ParseDue(k)
			if err != nil || d.Star != "s1" {
				t.Fatalf("%s: %v", k, err)
			}
			at[d.Epoch] = append(at[d.Epoch], d.At)
		}
		if got := at[epoch]; len(got) != 1 || got[0] != w.now+w.dials.LiveHeadProbe {
			t.Errorf("the marker of epoch %d is ripe at %v, minted at %d", epoch, got, w.now)
		}
		for old := range epoch - 1 {
			if !slices.Contains(at[old+1], w.now) {
				t.Errorf("epoch %d was announced at %v; epoch %d was minted at %d", old+1, at[old+1], epoch, w.now)
			}
		}
		p.kill()
		w.expire(process)
		w.now += 1000
	}
}
