package duty

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

func orphanPass(l *lab) *labProc {
	return l.start(pass(keys.Orphan, func(m *Orphan, t core.Turn, e *core.Env, due *Due) core.Verdict { return m.Step(t, e, due) }))
}

// drainOrphans runs orphan passes, as time goes by, until no intent is left.
func drainOrphans(l *lab) {
	l.t.Helper()
	for range 40 {
		if len(l.keys("due/orphan/")) == 0 {
			if left := l.keys("sched/orphan/"); len(left) > 0 {
				l.t.Fatalf("schedule rows without an intent: %v", left)
			}
			return
		}
		l.now += l.dials.OrphanGrace
		orphanPass(l).run()
	}
	l.t.Fatalf("the orphan queue does not drain: %v", l.keys("due/orphan/"))
}

// transit is a world with a stream whose records lie in slots: small parts, so
// that an output of it is a multipart upload.
func transit(t *testing.T) *lab {
	l := newLab(t)
	l.dials.PartMin, l.dials.PartMax, l.dials.OutputCap = 100, 300, 100_000
	l.mint("a", 4, core.Standard)
	l.create(1, 0)
	l.batch("a", 4, false, []append1{{1, 10}}, []append1{{1, 3}, {2, 1}})
	l.put(keys.ChainLease("a", 4), "era")
	return l
}

// mover is a root machine that rewrites one output of stream 1.
type mover struct {
	e     *core.Env
	o     plan.Output
	lease core.Mark
	w     protocol.Rewrite
	v     core.Verdict
}

func (m *mover) Step(t core.Turn) bool {
	m.v = m.w.Step(t, m.e, &m.o, m.lease)
	return m.v != core.Working
}

// next is the next output of stream 1, as a member would derive it now.
func (l *lab) next() (plan.Output, bool) {
	c := plan.Choice{Bucket: "b", ID: 1, Stream: l.rows[keys.Stream(1)].Mark, Watermark: l.mark(1)}
	for _, k := range l.keys(fmt.Sprintf("ref/%016x/", 1)) {
		h, err := plan.Hold(l.rows[k])
		if err != nil {
			l.t.Fatal(err)
		}
		if h.Kind == format.SpanRow {
			c.Rows = append(c.Rows, h)
		} else if len(c.Rows) == 0 {
			c.Before = h
		}
	}
	w, err := plan.Choose(&l.dials, &l.stores, &c)
	if err != nil {
		l.t.Fatal(err)
	}
	return w.Output, w.Act == plan.ActSettle
}

func (l *lab) move() (*mover, *labProc) {
	m := &mover{lease: l.rows[keys.ChainLease("a", 4)].Mark}
	m.o, _ = l.next()
	return m, l.start(func(e *core.Env) core.Machine { m.e = e; return m })
}

// until runs a process until an effect of a kind is about to land.
func (p *labProc) until(k core.Kind) *labProc {
	p.l.t.Helper()
	for !p.done && p.pending[0].Op.Kind != k {
		p.answer(0)
	}
	if p.done {
		p.l.t.Fatalf("no %s", k)
	}
	return p
}

// past runs a process until an effect of a kind has landed.
func (p *labProc) past(k core.Kind) *labProc {
	p.until(k).answer(0)
	return p
}

// settleAll finishes the rewrite of stream 1, and checks what a reader gets.
func (l *lab) settleAll() {
	l.t.Helper()
	for range 20 {
		if _, ok := l.next(); !ok {
			if got := l.read(1); got != l.want[1] {
				l.t.Fatalf("a reader gets %q of %q", got, l.want[1])
			}
			return
		}
		m, p := l.move()
		if p.run(); m.v == core.Broken {
			l.t.Fatalf("broken: %v", m.w.Fault)
		}
	}
	l.t.Fatal("it does not settle")
}

// land lands a request that was admitted in time, however late it is now.
func (l *lab) land(op core.Op) core.Reply {
	if op.Until != 0 {
		op.Until = max(op.Until, l.now)
	}
	return l.apply(&op, "late")
}

// settledObjects are the objects under data/.
func (l *lab) settledObjects() (n int) {
	for o := range l.objs {
		if o.Key[:5] == "data/" {
			n++
		}
	}
	return n
}

// onlyIntent decodes the only intent.
func (l *lab) onlyIntent() (format.Intent, keys.Settled) {
	l.t.Helper()
	ks := l.keys("due/orphan/")
	if len(ks) != 1 {
		l.t.Fatalf("%d intents", len(ks))
	}
	x, err := format.DecodeIntent(l.rows[ks[0]].Val)
	if err != nil {
		l.t.Fatal(err)
	}
	d, _ := keys.ParseDue(ks[0])
	o, err := keys.ParseSettled(d.Object)
	if err != nil {
		l.t.Fatal(err)
	}
	return x, o
}

// TestOrphanFindings: what stands under an aged intent, and what becomes of it.
func TestOrphanFindings(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave func(l *lab)
		look  format.Look
		stays int
	}{
		{"nothing", func(l *lab) { _, p := l.move(); p.past(core.KTxn) }, format.LookNothing, 0},
		{"parts", func(l *lab) { _, p := l.move(); p.past(core.KCopyPart) }, format.LookNothing, 0},
		{"an object", func(l *lab) { _, p := l.move(); p.past(core.KComplete) }, format.LookDead, 0},
		{"a visible object", func(l *lab) { _, p := l.move(); p.past(core.KComplete).past(core.KTxn) }, format.LookVisible, 1},
		{"a torn object", func(l *lab) {
			m, p := l.move()
			p.past(core.KTxn)
			l.land(core.Create(core.Obj{Store: "std", Key: m.w.Durable.Obj.Key}, core.Bytes("torn"), 0))
			_, o := l.onlyIntent()
			inc := keys.Incarnation{Generation: 1, Created: l.rows[l.keys("due/orphan/")[0]].Rev}
			l.objs[core.Obj{Store: "std", Key: o.At(inc).Key()}] = "torn"
			delete(l.objs, core.Obj{Store: "std"})
		}, format.LookDead, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := transit(t)
			c.leave(l)
			l.now += l.dials.OrphanGrace - 1
			orphanPass(l).run()
			if x, _ := l.onlyIntent(); x.Condemned {
				t.Fatal("condemned before its grace was over")
			}
			l.now += 2
			orphanPass(l).run()
			x, o := l.onlyIntent()
			if !x.Condemned || x.Look != c.look || x.Since != l.now || o.Inc.Created != x.Created {
				t.Fatalf("%+v, want look %v", x, c.look)
			}
			if c.look == format.LookDead && l.settledObjects() != 1 {
				t.Fatal("deleted at the first look: a reader may still hold a plan")
			}
			l.now += l.dials.ReadGrace - 1
			orphanPass(l).run()
			l.onlyIntent()
			l.now++
			orphanPass(l).run()
			if n := l.settledObjects(); n != c.stays || len(l.uploads) != 0 || len(l.keys("due/orphan/"))+len(l.keys("sched/orphan/")) != 0 {
				t.Fatalf("%d objects, %d uploads, left %v %v", n, len(l.uploads), l.keys("due/orphan/"), l.keys("sched/orphan/"))
			}
			l.settleAll()
			drainOrphans(l)
		})
	}
}

// TestOrphanSweep cuts the judge at every effect of both looks, over every state
// in which a publisher can have been cut.
func TestOrphanSweep(t *testing.T) {
	n := 0
	for k := 1; ; k++ {
		l := transit(t)
		m, p := l.move()
		for range k {
			if !p.done {
				p.answer(0)
			}
		}
		if p.done {
			break
		}
		_ = m
		then := func(l *lab) { drainOrphans(l); l.settleAll(); drainOrphans(l) }
		check := func(l *lab, at string) {
			if l.settledObjects() != 1 || len(l.uploads) != 0 {
				t.Errorf("publisher cut after %d, judge %s: %d objects, %d uploads", k, at, l.settledObjects(), len(l.uploads))
			}
		}
		l.now += l.dials.OrphanGrace + 1
		n += sweep(l, orphanPass, then, check)
		orphanPass(l).run()
		l.now += l.dials.ReadGrace + 1
		n += sweep(l, orphanPass, then, check)
	}
	if n < 300 {
		t.Errorf("only %d cuts", n)
	}
}

// TestOrphanMeetsRetry is gap 2: the judge condemns while a publisher is between
// publish and commit. The commit fails; the retry publishes under another key;
// the judge's delete, however late, does not touch that.
func TestOrphanMeetsRetry(t *testing.T) {
	l := transit(t)
	m, p := l.move()
	p.past(core.KComplete).until(core.KTxn)
	l.now += l.dials.OrphanGrace + 1
	orphanPass(l).run()
	first := m.w.Durable.Obj
	if p.run(); m.v != core.Again {
		t.Fatalf("a commit under a condemned intent: %v", m.v)
	}
	l.settleAll()
	o, _ := l.onlyIntent()
	if _, ok := l.objs[first]; !ok || !o.Condemned || l.settledObjects() != 2 {
		t.Fatal("the condemned object should still stand, beside the new one")
	}
	l.now += l.dials.ReadGrace
	j := orphanPass(l).until(core.KDelete)
	late := j.pending[0].Op
	j.run()
	l.land(late)
	if _, ok := l.objs[first]; ok || l.settledObjects() != 1 {
		t.Error("the condemned object is left, or more is gone")
	}
	l.settleAll()
}

// TestOrphanLateLanding is gap 3 and C14: what is in flight when its intent is
// condemned lands after the first look, and does not stay.
func TestOrphanLateLanding(t *testing.T) {
	for _, kind := range []core.Kind{core.KCreateUpload, core.KCopyPart, core.KUploadPart, core.KComplete} {
		l := transit(t)
		_, p := l.move()
		p.until(kind)
		late := p.pending[0].Op
		l.now += l.dials.OrphanGrace + 1
		orphanPass(l).run()
		l.now += l.dials.RequestLife
		l.land(late)
		drainOrphans(l)
		if l.settledObjects() != 0 || len(l.uploads) != 0 {
			t.Errorf("%s: %d objects, %d uploads are left", kind, l.settledObjects(), len(l.uploads))
		}
		l.settleAll()
		drainOrphans(l)
	}
}

// TestOrphanUploads is gap 1 and C22: cut after 2 of the parts, and once more on
// the retry. The third attempt finishes; no parts remain.
func TestOrphanUploads(t *testing.T) {
	l := transit(t)
	for range 2 {
		_, p := l.move()
		p.past(core.KCopyPart).past(core.KUploadPart)
	}
	if len(l.uploads) != 2 {
		t.Fatalf("%d uploads", len(l.uploads))
	}
	l.settleAll()
	if x, _ := l.onlyIntent(); !x.Shared {
		t.Error("an adopted intent is not shared")
	}
	drainOrphans(l)
	if l.settledObjects() != 1 || len(l.uploads) != 0 {
		t.Errorf("%d objects, %d uploads are left", l.settledObjects(), len(l.uploads))
	}
	l.settleAll()
}

// TestOrphanUploadsComeBack: a part that lands after the abort brings its upload
// back, and the judge does not relieve an intent whose upload is listed.
func TestOrphanUploadsComeBack(t *testing.T) {
	l := transit(t)
	_, p := l.move()
	p.past(core.KCopyPart)
	l.now += l.dials.OrphanGrace + 1
	orphanPass(l).run()
	if len(l.uploads) != 0 {
		t.Fatal("the first look aborts")
	}
	l.now += l.dials.ReadGrace
	_, o := l.onlyIntent()
	l.uploads["zombie"] = &labUpload{core.Obj{Store: "std", Key: o.Key()}, map[int32]string{}}
	l.deny = func(op *core.Op) (core.Outcome, bool) { return core.Refused, op.Kind == core.KAbort }
	orphanPass(l).run()
	l.onlyIntent()
	l.deny = nil
	drainOrphans(l)
	if len(l.uploads) != 0 {
		t.Error("an upload is left")
	}
}

// TestOrphanWasVisible is F2: nothing names the object now, but a ref did until
// a moment ago, and a reader may hold a plan.
func TestOrphanWasVisible(t *testing.T) {
	l := transit(t)
	_, p := l.move()
	p.past(core.KComplete).past(core.KTxn) // committed, cut before the intent went
	l.now += l.dials.OrphanGrace + 1
	l.laws(&core.Op{})
	l.put(keys.Trim(1), format.EncodeNumber(13)) // a client trims, and retention retires the row at once
	e := l.keys(fmt.Sprintf("ref/%016x/", 1))
	row, err := format.DecodeRow(l.rows[e[0]].Val)
	if err != nil || len(e) != 1 {
		t.Fatal(err)
	}
	l.armReap(&row.Entries[0], l.dials.GraceEnd(l.now))
	delete(l.rows, e[0])
	orphanPass(l).run()
	if l.settledObjects() != 1 {
		t.Fatal("deleted at once")
	}
	drainOrphans(l) // the lab refuses a delete within the grace
	drainReap(l)
	if l.settledObjects() != 0 {
		t.Error("it is left")
	}
}

// TestOrphanVisibleThenKilled: a ref named the object at the first look, and none
// does at the second, since a moment ago: its killer's reap-check decides.
func TestOrphanVisibleThenKilled(t *testing.T) {
	l := transit(t)
	_, p := l.move()
	p.past(core.KComplete).past(core.KTxn)
	l.now += l.dials.OrphanGrace + 1
	orphanPass(l).run()
	l.now += l.dials.ReadGrace
	l.laws(&core.Op{})
	k := l.keys(fmt.Sprintf("ref/%016x/", 1))
	row, err := format.DecodeRow(l.rows[k[0]].Val)
	if err != nil || len(k) != 1 {
		t.Fatal(err)
	}
	l.put(keys.Trim(1), format.EncodeNumber(13))
	l.armReap(&row.Entries[0], l.dials.GraceEnd(l.now))
	delete(l.rows, k[0])
	p = orphanPass(l)
	p.run()
	if l.settledObjects() != 1 || p.notes[core.NoteOrphanVisible] != 1 || len(l.keys("due/orphan/")) != 0 {
		t.Fatal("the judge should leave it to the reap-check")
	}
	drainReap(l)
	if l.settledObjects() != 0 {
		t.Error("it is left")
	}
}

// TestOrphanAnswers: no answer but OK relieves, and none that is not definite
// deletes.
func TestOrphanAnswers(t *testing.T) {
	states := []struct {
		name string
		cut  func(p *labProc)
	}{
		{"object", func(p *labProc) { p.past(core.KComplete) }},
		{"visible", func(p *labProc) { p.past(core.KComplete).past(core.KTxn) }},
		{"parts", func(p *labProc) { p.past(core.KCopyPart) }},
	}
	for _, s := range states {
		for _, second := range []bool{false, true} {
			for o := core.Absent; int(o) < core.Outcomes; o++ {
				for k := 0; ; k++ {
					l := transit(t)
					_, p := l.move()
					s.cut(p)
					l.now += l.dials.OrphanGrace + 1
					if second {
						orphanPass(l).run()
						l.now += l.dials.ReadGrace
					}
					objects, uploads := l.settledObjects(), len(l.uploads)
					j, struck := orphanPass(l), core.KNone
					for n := 0; !j.done; n++ {
						i := j.next(first)
						if i < 0 {
							break
						}
						if n == k {
							struck = j.pending[i].Op.Kind
							if o == core.Absent && (struck == core.KGet || struck == core.KReadTail) {
								break // a definite absence is believed
							}
							j.deliver(i, core.Reply{Outcome: o})
						} else {
							j.answer(i)
						}
					}
					if struck == core.KNone {
						break
					}
					what := fmt.Sprintf("%s, second look %v: %s to %s (effect %d)", s.name, second, o, struck, k)
					if s.name == "visible" && l.settledObjects() != objects {
						t.Errorf("%s: a visible object was deleted", what)
					}
					relieved := len(l.keys("due/orphan/")) == 0
					if relieved && l.settledObjects() > 0 && s.name == "object" || relieved && len(l.uploads) > 0 {
						t.Errorf("%s: relieved over %d objects and %d uploads (%d before)", what, l.settledObjects(), len(l.uploads), uploads)
					}
					if s.name == "visible" && (o == core.OutOfRange || o == core.Damaged) {
						continue // torn and named: parked, for an operator
					}
					drainOrphans(l)
					l.settleAll()
					drainOrphans(l)
				}
			}
		}
	}
}

// TestOrphanDamaged: an intent that does not decode, or names what it cannot, is
// parked and touched by nobody.
func TestOrphanDamaged(t *testing.T) {
	l := newLab(t)
	good := format.Intent{Store: "std", Birth: 1, Generation: 1}
	d := keys.Settled{Bucket: "b", Stream: 1}
	bad := map[string]string{
		d.Key(): "?",
		d.At(keys.Incarnation{Generation: 1, Created: 4}).Key(): good.Encode(), // not condemned
		keys.Settled{Bucket: "b", Stream: 2, Epoch: 1}.Key():    format.Intent{Condemned: true}.Encode(),
		keys.Slot("a", 1, 2): good.Encode(),
	}
	for k, v := range bad {
		shard := keys.ShardOfObject(k, l.dials.Shards)
		l.put(keys.DueOrphan(shard, k), v)
		l.put(keys.SchedOrphan(shard, 1, k), "")
	}
	for range 10 {
		l.now += l.dials.BackoffMax
		orphanPass(l).run()
	}
	if n := len(l.keys("park/orphan/")); n != len(bad) || len(l.keys("due/orphan/")) != len(bad) || len(l.keys("sched/")) != 0 {
		t.Errorf("%d parked; left %v %v", n, l.keys("due/"), l.keys("sched/"))
	}
}

// TestOrphanAndPublishers lets publishers, cut, paused and delayed at random, and
// the judge's passes interleave in every way that rapid finds. After every effect
// the lab holds its laws; at the end all is settled, read back, and nothing is
// left that no ref names.
func TestOrphanAndPublishers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := transit(t)
		var procs []*labProc
		var late []core.Op
		jumps := []core.Ms{1, 10, l.dials.Confirm, l.dials.Admission, l.dials.RequestLife, l.dials.ReadGrace, l.dials.OrphanGrace}
		for range rapid.IntRange(5, 80).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0: // time goes by; what is in flight lands in time, or never
				dt := rapid.SampledFrom(jumps).Draw(rt, "dt")
				kept := late[:0:0]
				for _, op := range late {
					switch {
					case op.Until == 0 || l.now+dt <= op.Until+l.dials.Service:
						kept = append(kept, op)
					case rapid.Bool().Draw(rt, "lands"):
						l.land(op)
					}
				}
				late, l.now = kept, l.now+dt
			case 1:
				if _, ok := l.next(); ok && len(procs) < 4 {
					_, p := l.move()
					procs = append(procs, p)
				}
			case 2:
				if len(procs) < 4 {
					procs = append(procs, orphanPass(l))
				}
			case 3:
				if len(late) > 0 {
					i := rapid.IntRange(0, len(late)-1).Draw(rt, "late")
					l.land(late[i])
					late = append(late[:i:i], late[i+1:]...)
				}
			case 4:
				if l.want[1] != "" && len(l.want[1]) < 60*recordSize {
					l.batch("a", 4, false, []append1{{1, rapid.IntRange(1, 12).Draw(rt, "records")}})
				}
			default:
				if len(procs) == 0 {
					continue
				}
				k := rapid.IntRange(0, len(procs)-1).Draw(rt, "proc")
				p := procs[k]
				i := p.next(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "effect") })
				if p.done || i < 0 {
					procs = append(procs[:k:k], procs[k+1:]...)
					continue
				}
				op := p.pending[i].Op
				switch rapid.IntRange(0, 14).Draw(rt, "fault") {
				case 0:
					procs = append(procs[:k:k], procs[k+1:]...)
					if rapid.Bool().Draw(rt, "in flight") && op.Mutates() {
						late = append(late, op)
					}
				case 1:
					p.deliver(i, core.Reply{Outcome: core.Unknown})
					if rapid.Bool().Draw(rt, "in flight") && op.Mutates() {
						late = append(late, op)
					}
				case 2:
					l.apply(&op, p.env.Process)
					p.deliver(i, core.Reply{Outcome: core.Unknown})
				default:
					p.answer(i)
				}
			}
			if t.Failed() {
				rt.FailNow()
			}
		}
		for _, op := range late { // the last of it lands, or its time is over
			if op.Until != 0 {
				l.land(op)
			}
		}
		for _, op := range late {
			if op.Until == 0 {
				l.land(op)
			}
		}
		l.settleAll()
		drainOrphans(l)
		l.settleAll()
		drainOrphans(l)
		drainReap(l)
		named := 0
		for _, k := range l.keys("ref/") {
			row, _ := format.DecodeRow(l.rows[k].Val)
			named += len(row.Entries)
		}
		if n := l.settledObjects(); n != named || len(l.uploads) != 0 {
			rt.Fatalf("%d objects for %d entries, %d uploads", n, named, len(l.uploads))
		}
	})
}
