package duty

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func runEra(d *Era, t core.Turn, e *core.Env, due *Due) core.Verdict { return d.Step(t, e, due) }

func runReap(d *ReapCheck, t core.Turn, e *core.Env, due *Due) core.Verdict { return d.Step(t, e, due) }

func runOrphan(d *Orphan, t core.Turn, e *core.Env, due *Due) core.Verdict { return d.Step(t, e, due) }

func (l *lab) era() *labProc { return l.start(pass(keys.Denorm, runEra)) }

// settleDown runs every duty until no queue holds anything that comes due within
// a week, but for the clocks that sustain themselves.
func (l *lab) settleDown() {
	l.t.Helper()
	until := l.now + 7*24*3_600_000
	for range 400 {
		for _, p := range []func() *labProc{
			l.era,
			func() *labProc { return l.start(pass(keys.TrimCheck, runTrimCheck)) },
			func() *labProc { return l.start(pass(keys.Teardown, runTeardown)) },
			func() *labProc { return l.start(pass(keys.Retention, runRetention)) },
			func() *labProc { return l.start(pass(keys.Orphan, runOrphan)) },
			func() *labProc { return l.start(pass(keys.Reap, runReap)) },
			func() *labProc { return l.start(pass(keys.GC, runGC)) },
		} {
			p().run()
		}
		next := core.Ms(math.MaxInt64)
		for _, k := range append(l.keys("due/"), l.keys("sched/")...) {
			d, err := keys.ParseDue(k)
			switch {
			case err != nil || !d.Sched && d.Queue.Scheduled() || d.Queue == keys.Retention || d.Queue == keys.Settle:
				continue
			case d.Queue == keys.Orphan:
				d.At += l.dials.OrphanGrace
			case d.Queue == keys.GC:
				d.At = gcReady(l.rows[k].Val)
			}
			next = min(next, d.At)
		}
		if next > until {
			return
		}
		l.now = max(l.now+1, next)
	}
	l.t.Fatalf("it does not settle down: %v %v", l.keys("due/"), l.keys("sched/"))
}

// settledCheck holds what must be true once everything is settled: every stream
// reads as it was written, from settled objects alone, and nothing is left over.
func (l *lab) settledCheck(at string) {
	l.t.Helper()
	for id, want := range l.want {
		if s, mark, live := l.stream(id); live {
			if got := l.read(id); got != want[mark*recordSize:] {
				l.t.Errorf("%s: stream %d (%s) reads %q, want %q", at, id, s.Name, got, want[mark*recordSize:])
			}
		}
	}
	for _, p := range []string{"due/denorm", "sched/", "due/trimcheck", "due/reap", "due/orphan", "due/gc", "lease/", "park/"} {
		if ks := l.keys(p); len(ks) > 0 {
			l.t.Errorf("%s: left %v", at, ks)
		}
	}
	if l.slots() != 0 || len(l.uploads) != 0 {
		l.t.Errorf("%s: %d slots and %d uploads are left", at, l.slots(), len(l.uploads))
	}
	named := 0
	for _, k := range l.keys("ref/") {
		row, _ := format.DecodeRow(l.rows[k].Val)
		if row.Kind == format.SpanRow {
			l.t.Errorf("%s: span row %s", at, k)
		}
		for _, e := range row.Entries {
			if !e.Lost {
				named++
			}
		}
	}
	if len(l.objs) != named {
		l.t.Errorf("%s: %d objects, %d entries", at, len(l.objs), named)
	}
}

// eraWorld is an express chain with three batches and three streams.
func eraWorld(t *testing.T) *lab {
	l := newLab(t)
	l.mint("s", 1, core.Express)
	for id := range uint64(3) {
		l.create(id+1, 0)
	}
	l.batch("s", 1, false, []append1{{1, 2}, {2, 1}}, []append1{{1, 1}, {3, 1}})
	l.now += 1000
	l.batch("s", 1, false, []append1{{1, 3}})
	l.now += 1000
	l.batch("s", 1, false, []append1{{2, 2}, {1, 1}}, []append1{{3, 1}, {1, 2}})
	return l
}

func (l *lab) ripe(c core.Class) { l.now += l.dials.AgeCap[c] }

func TestEraLife(t *testing.T) {
	l := eraWorld(t)
	l.ripe(core.Express)
	p := l.era()
	p.run()
	if n := p.notes[core.NoteSettleOutput]; n != 3 {
		t.Errorf("%d outputs for 3 streams: the first marker moves everything", n)
	}
	if got := p.notes[core.NoteMemberCovered]; got != 4 {
		t.Errorf("%d of 4 streams of the later markers were covered", got)
	}
	if ks := l.keys("due/denorm"); len(ks) != 0 {
		t.Errorf("markers left: %v", ks)
	}
	if ks := l.keys("due/trimcheck"); len(ks) != 1 {
		t.Errorf("trim-checks: %v", ks)
	}
	if ks := l.keys("due/orphan"); len(ks) != 0 {
		t.Errorf("intents left: %v", ks)
	}
	if p.notes[core.NoteSettleBytes] != 14*recordSize || p.notes[core.NoteSettleSpans] != 9 {
		t.Errorf("counted %d bytes and %d spans", p.notes[core.NoteSettleBytes], p.notes[core.NoteSettleSpans])
	}
	l.settleDown()
	l.settledCheck("end")
}

// What an era stages: each slot that is read, once.
func TestEraWarms(t *testing.T) {
	l := eraWorld(t)
	l.ripe(core.Express)
	staged := map[string]int{}
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.Kind == core.KStage {
			staged[op.Key]++
		}
		return 0, false
	}
	l.era().run()
	if len(staged) != 5 {
		t.Errorf("staged %v", staged)
	}
	for k, n := range staged {
		if n != 1 {
			t.Errorf("%s was staged %d times", k, n)
		}
	}
	l = eraWorld(t)
	l.ripe(core.Express)
	l.dials.WarmSet = 10
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.Kind == core.KStage {
			t.Errorf("staged over the bound")
		}
		return 0, false
	}
	l.era().run()
}

// What the store itself copies is not staged: chunks, or runs of them, as long as a
// part. Of a slot that also holds a short one that is read, all is.
func TestEraWarmsNotWhatIsCopied(t *testing.T) {
	for _, c := range []struct {
		slots [][]append1
		want  int
	}{
		{[][]append1{{{1, 8}}, {{1, 4}, {1, 4}}}, 0},
		{[][]append1{{{1, 8}}, {{1, 7}}}, 1},
		{[][]append1{{{1, 8}, {2, 1}}, {{1, 9}}}, 1},
		{[][]append1{{{1, 4}, {2, 8}, {1, 4}}}, 1},
	} {
		l := newLab(t)
		l.dials.PartMin = 8 * recordSize
		l.mint("s", 1, core.Standard)
		l.create(1, 0)
		l.create(2, 0)
		l.batch("s", 1, true, c.slots...)
		l.ripe(core.Standard)
		staged := 0
		l.deny = func(op *core.Op) (core.Outcome, bool) {
			if op.Kind == core.KStage {
				staged++
			}
			return 0, false
		}
		l.era().run()
		if staged != c.want {
			t.Errorf("%v: %d staged, not %d", c.slots, staged, c.want)
		}
	}
}

// A linger-ripened marker settles only the windows that meet the trigger; the
// rest is residue until the age cap.
func TestEraLinger(t *testing.T) {
	l := newLab(t)
	l.dials.SizeTrigger = 5 * recordSize
	l.mint("s", 1, core.Standard)
	l.create(1, 0)
	l.create(2, 0)
	m := l.batch("s", 1, true, []append1{{1, 3}, {2, 1}}, []append1{{1, 2}})
	born := l.now
	l.now += l.dials.Linger[core.Standard]
	p := l.era()
	p.run()
	if p.notes[core.NoteSettleOutput] != 1 || p.notes[core.NoteResidue] != 1 {
		t.Errorf("%d outputs, %d residue", p.notes[core.NoteSettleOutput], p.notes[core.NoteResidue])
	}
	b, err := format.DecodeBatchMark(l.rows[m].Val)
	if err != nil || b.Crossing || b.Ready != born+l.dials.AgeCap[core.Standard] {
		t.Errorf("re-stamped as %+v (%v)", b, err)
	}
	if ks := l.keys("sched/denorm"); len(ks) != 1 {
		t.Errorf("schedule: %v", ks)
	}
	l.settleDown()
	l.settledCheck("end")
}

// A batch that a teardown's gate ripened is settled whole, small windows too.
func TestEraOfARipenedMarker(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Standard)
	l.create(1, 0)
	l.create(2, 0)
	l.batch("s", 1, true, []append1{{1, 1}, {2, 1}})
	l.remove(1)
	begin := l.now
	l.start(pass(keys.Teardown, runTeardown)).run()
	l.era().run()
	if ks := l.keys("due/denorm"); len(ks) != 0 {
		t.Errorf("left %v", ks)
	}
	l.settleDown()
	l.settledCheck("end")
	if len(l.of(1)) != 0 || l.now-begin > 3*3_600_000 {
		t.Errorf("left %v after %d ms", l.of(1), l.now-begin)
	}
}

// The tail-fill folds a later window into the standing tail object, and what it
// supersedes is watched until it is gone.
func TestEraTailFill(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Standard)
	l.create(1, 0)
	for range 4 {
		l.batch("s", 1, false, []append1{{1, 3}})
		l.ripe(core.Standard)
		l.era().run()
	}
	rows := l.keys("ref/")
	if len(rows) != 1 {
		t.Fatalf("rows: %v", rows)
	}
	row, _ := format.DecodeRow(l.rows[rows[0]].Val)
	if len(row.Entries) != 1 || row.Entries[0].Revision != 3 || row.Entries[0].Count != 12 {
		t.Errorf("entries: %+v", row.Entries)
	}
	l.settleDown()
	l.settledCheck("end")
}

// Outputs are split at rows by the cap, and settled one by one.
func TestEraSplitsByTheCap(t *testing.T) {
	l := newLab(t)
	l.dials.OutputCap = 6 * recordSize
	l.mint("s", 1, core.Standard)
	l.create(1, 0)
	for range 7 {
		l.batch("s", 1, false, []append1{{1, 2}})
	}
	l.ripe(core.Standard)
	p := l.era()
	p.run()
	if p.notes[core.NoteSettleOutput] != 3 {
		t.Errorf("%d outputs", p.notes[core.NoteSettleOutput])
	}
	l.settleDown()
	l.settledCheck("end")
}

// Multipart: parts abreast, and no upload left behind.
func TestEraMultipart(t *testing.T) {
	l := eraWorld(t)
	l.dials.PartMin, l.dials.PartMax = 3*recordSize, 5*recordSize
	l.ripe(core.Express)
	p := l.era()
	p.run()
	if p.notes[core.NotePublishMultipart] == 0 {
		t.Errorf("no multipart")
	}
	l.settleDown()
	l.settledCheck("end")
}

// Gap 14: a marker that the checkpoint does not cover is left alone, and nothing
// is written for it.
func TestEraSkipsWhatIsNotBelowTheCheckpoint(t *testing.T) {
	l := eraWorld(t)
	l.ripe(core.Express)
	h, _ := format.DecodeChainHead(l.rows[keys.ChainHead("s", 1)].Val)
	h.Checkpoint--
	l.put(keys.ChainHead("s", 1), h.Encode())
	p := l.era()
	p.run()
	if p.notes[core.NoteEraNotBelow] != 1 || len(l.keys("due/denorm")) != 1 {
		t.Errorf("not below %d, markers %v", p.notes[core.NoteEraNotBelow], l.keys("due/denorm"))
	}
	wrote := l.wrote
	l.era().run()
	if l.wrote != wrote {
		t.Errorf("%d writes for a marker that is skipped", l.wrote-wrote)
	}
	h.Checkpoint++
	l.put(keys.ChainHead("s", 1), h.Encode())
	l.settleDown()
	l.settledCheck("end")
}

func TestEraSkipsALeasedChain(t *testing.T) {
	l := eraWorld(t)
	l.ripe(core.Express)
	l.put(keys.ChainLease("s", 1), "other/0.1/"+strconv.FormatInt(int64(l.now), 36))
	wrote := l.wrote
	p := l.era()
	p.run()
	if p.notes[core.NoteEraSkipped] != 3 || l.wrote != wrote || len(l.keys("due/denorm")) != 3 {
		t.Errorf("skipped %d, %d writes", p.notes[core.NoteEraSkipped], l.wrote-wrote)
	}
}

// C37: the lease vanishes under a live era. Its next commit fails on the compare,
// and the next pass does what is left, once.
func TestEraWithoutItsLease(t *testing.T) {
	l := eraWorld(t)
	l.ripe(core.Express)
	p := l.era()
	for !p.done {
		i := p.next(first)
		if op := &p.pending[i].Op; op.Kind == core.KCreate && l.rows[keys.ChainLease("s", 1)].Rev != 0 {
			delete(l.rows, keys.ChainLease("s", 1))
		}
		p.answer(i)
	}
	if p.notes[core.NoteCommit] != 0 {
		t.Errorf("%d commits without the lease", p.notes[core.NoteCommit])
	}
	l.settleDown()
	l.settledCheck("end")
}

// C18: a stream is deleted between the plan and the commit.
func TestEraOfAStreamThatIsDeletedMeanwhile(t *testing.T) {
	for k := 0; ; k++ {
		l := eraWorld(t)
		l.ripe(core.Express)
		p := l.era()
		n := 0
		for ; !p.done; n++ {
			if n == k {
				l.remove(1)
			}
			p.answer(p.next(first))
		}
		if n <= k {
			break
		}
		l.settleDown()
		l.settledCheck("deleted")
		if left := l.of(1); len(left) != 0 {
			t.Fatalf("deleted before effect %d: left %v", k, left)
		}
	}
}

// Cut at every effect, in every way; then everything runs to its end.
func TestEraCrashSweep(t *testing.T) {
	for name, make := range map[string]func() *lab{
		"first": func() *lab { l := eraWorld(t); l.dials.MarkersPerEra = 3; return l },
		"tail-fill": func() *lab {
			l := newLab(t)
			l.mint("s", 1, core.Standard)
			l.create(1, 0)
			l.batch("s", 1, false, []append1{{1, 3}})
			l.ripe(core.Standard)
			l.era().run()
			l.batch("s", 1, false, []append1{{1, 2}}, []append1{{1, 1}})
			l.now += l.dials.AgeCap[core.Standard] - l.dials.AgeCap[core.Express]
			return l
		},
		"multipart": func() *lab {
			l := eraWorld(t)
			l.dials.PartMin, l.dials.PartMax = 3*recordSize, 5*recordSize
			return l
		},
	} {
		l := make()
		l.ripe(core.Express)
		n := sweep(l, func(l *lab) *labProc { return l.era() }, (*lab).settleDown, func(l *lab, at string) { l.settledCheck(at) })
		t.Logf("%s: %d cuts", name, n)
		if n < 50 {
			t.Errorf("%s: only %d cuts", name, n)
		}
	}
}

// Two auditors on one shard: their eras interleave as the seed has it.
func TestTwoErasOfOneChain(t *testing.T) {
	for seed := range 40 {
		l := eraWorld(t)
		l.ripe(core.Express)
		ps := []*labProc{l.era(), l.era()}
		for r := seed + 1; !ps[0].done || !ps[1].done; r = (r*1103515245 + 12345) & math.MaxInt32 {
			p := ps[r>>8&1]
			if p.done {
				p = ps[1-(r>>8&1)]
			}
			p.answer(p.next(func(n int) int { return r >> 9 % n }))
		}
		l.settleDown()
		l.settledCheck("two auditors")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A plan that is cut at the member cap goes on at the next pass.
func TestEraPlanCap(t *testing.T) {
	l := eraWorld(t)
	l.dials.MemberPlan = 1
	l.ripe(core.Express)
	l.era().run()
	if n := len(l.keys("due/denorm")); n == 0 {
		t.Errorf("a cut plan resolved its marker")
	}
	l.settleDown()
	l.settledCheck("end")
}

// Trimmed streams: what lies below the watermark is not copied, and a window
// wholly below it is retired.
func TestEraBelowTheWatermark(t *testing.T) {
	l := eraWorld(t)
	l.put(keys.Trim(1), format.EncodeNumber(4)) // inside the second batch's row
	l.put(keys.Trim(2), format.EncodeNumber(3)) // everything
	l.ripe(core.Express)
	p := l.era()
	p.run()
	if p.notes[core.NoteMemberTrimmed] == 0 {
		t.Errorf("nothing was retired")
	}
	l.settleDown()
	l.settledCheck("end")
}

// C25: one of twenty sources of a rewrite is truly gone. The others settle in the
// first pass; the range is reported lost, once.
func TestEraOfALostSlot(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Express)
	var slots [][]append1
	for i := range 20 {
		id := uint64(i%5 + 1)
		slots = append(slots, []append1{{id, 1}, {id + 10, 1}})
		l.create(id, 0)
		l.create(id+10, 0)
	}
	l.create(300, 0)
	slots[7] = append(slots[7], append1{300, 2}) // named by the lost slot alone
	l.batch("s", 1, false, slots...)
	for _, st := range l.stores.Of[core.Express] {
		o := core.Obj{Store: st, Key: keys.Slot("s", 1, 7)}
		delete(l.objs, o)
		l.taken[o] = true
	}
	l.ripe(core.Express)
	lost, passes := int64(0), 0
	for len(l.keys("due/denorm")) > 0 && passes < 10 {
		p := l.era()
		p.run()
		lost += p.notes[core.NoteLost]
		if passes++; passes == 1 {
			spans := 0
			for _, k := range l.keys("ref/") {
				if row, _ := format.DecodeRow(l.rows[k].Val); row.Kind == format.SpanRow {
					spans++
				}
			}
			if spans != 3 {
				t.Errorf("after the first pass %d streams are not settled, 3 are named by the slot", spans)
			}
		}
		l.now += 60_000
	}
	if lost != 4 || passes != l.dials.ParkAfter {
		t.Errorf("%d records lost after %d passes", lost, passes)
	}
	l.settleDown()
	want := map[uint64]string{3: "[lost 1-2]", 13: "[lost 1-2]", 300: "[lost 0-2]"}
	for id, text := range want {
		if got := l.read(id); !strings.Contains(got, text) || id == 3 && !strings.HasPrefix(got, record(3, 0)) {
			t.Errorf("stream %d reads %q", id, got)
		}
		delete(l.want, id)
	}
	l.settledCheck("end")
}

// The standing tail object is gone: it is reported, and the stream goes on in a
// new one.
func TestEraOfALostTailObject(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Standard)
	l.create(1, 0)
	l.batch("s", 1, false, []append1{{1, 3}})
	l.ripe(core.Standard)
	l.era().run()
	for o := range l.objs {
		if strings.HasPrefix(o.Key, "data/") {
			delete(l.objs, o)
			l.taken[o] = true
		}
	}
	l.batch("s", 1, false, []append1{{1, 2}})
	l.ripe(core.Standard)
	p := l.era()
	p.run()
	if p.notes[core.NoteLost] != 3 || len(l.keys("due/denorm")) != 0 {
		t.Errorf("%d records reported lost, markers %v", p.notes[core.NoteLost], l.keys("due/denorm"))
	}
	l.settleDown()
	if got := l.read(1); got != l.want[1][3*recordSize:] {
		t.Errorf("reads %q", got)
	}
}

// One damaged row stops its stream, not the others, and its marker is parked: the
// slots stay.
func TestEraOfADamagedRow(t *testing.T) {
	l := eraWorld(t)
	k := l.keys("ref/0000000000000002/")[0]
	good := l.rows[k].Val
	l.put(k, "damaged")
	l.ripe(core.Express)
	for range 8 {
		l.era().run()
		l.now += 600_000
	}
	if n := len(l.keys("park/denorm")); n != 2 {
		t.Errorf("parked %v", l.keys("park/"))
	}
	if got := l.read(1); got != l.want[1] || strings.Count(got, "#") != 9 {
		t.Errorf("stream 1 reads %q", got)
	}
	for _, r := range l.keys("ref/0000000000000001/") {
		if row, _ := format.DecodeRow(l.rows[r].Val); row.Kind != format.CatalogRow {
			t.Errorf("stream 1 is not settled")
		}
	}
	l.start(pass(keys.TrimCheck, runTrimCheck)).run()
	l.now += l.dials.ReadGrace * 2
	l.drainTrim(math.MaxInt64)
	if l.slots() != 10 {
		t.Errorf("%d of 10 slots stand", l.slots())
	}
	l.put(k, good)
}

// Markers that ripen while the job runs are taken along; those that were ripe
// beyond MarkersPerEra are the next job's.
func TestEraExtends(t *testing.T) {
	l := eraWorld(t)
	l.now += l.dials.AgeCap[core.Express] - 2000 // only the first is ripe
	p := l.era()
	for moved := false; !p.done; {
		i := p.next(first)
		if !moved && p.pending[i].Op.Kind == core.KCreate {
			l.now, moved = l.now+1000, true // the second ripens
		}
		p.answer(i)
	}
	if n := len(l.keys("due/denorm")); n != 1 {
		t.Errorf("%d markers are left, want 1", n)
	}
	l.settleDown()
	l.settledCheck("end")
}

// SR16: members settle MemberWidth abreast, and no more.
func TestEraSettlesMembersAbreast(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Express)
	var all []append1
	for id := range uint64(21) {
		l.create(id+1, 0)
		all = append(all, append1{id + 1, 1})
	}
	l.batch("s", 1, false, all)
	l.ripe(core.Express)
	most, p := 0, l.era()
	for !p.done {
		creates, other := 0, -1
		for i := range p.pending {
			if p.pending[i].Op.Kind == core.KCreate {
				creates++
			} else {
				other = i
			}
		}
		most = max(most, creates)
		if other < 0 { // every member that runs is at its publish
			other = 0
		}
		p.answer(other)
	}
	if most != l.dials.MemberWidth || l.dials.MemberWidth != 8 {
		t.Errorf("%d members abreast, want %d, which is 8 by the specification", most, l.dials.MemberWidth)
	}
	l.settleDown()
	l.settledCheck("end")
}

// R5: one ranged read fetches the footer of a source, however many of its chunks
// move: once when the batch is judged, and once for each output.
func TestEraReadsEachFooterOnce(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Express)
	l.create(1, 0)
	l.create(2, 0)
	l.batch("s", 1, false, []append1{{1, 2}, {1, 1}, {1, 3}, {2, 1}}, []append1{{1, 1}})
	l.ripe(core.Express)
	reads := map[string]int{}
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		if op.Kind == core.KReadTail || op.Kind == core.KReadRange {
			reads[op.Key]++
		}
		return core.OK, false
	}
	l.era().run()
	// The first slot is a source of two outputs, the second of one.
	if a, b := reads[keys.Slot("s", 1, 0)], reads[keys.Slot("s", 1, 1)]; a != 3 || b != 2 {
		t.Errorf("the slots' footers were read %d and %d times: %v", a, b, reads)
	}
	l.deny = nil
	l.settleDown()
	l.settledCheck("end")
}
