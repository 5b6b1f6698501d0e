package duty

import (
	"cmp"
	"slices"
	"strconv"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// batch is an era's work on one marker: judge by footers who still has bytes on
// the chain, then settle those streams, warming what they read.
type batch struct {
	at       batchStep
	mark     format.BatchMark
	lingered bool // it ripened by its linger alone: windows under the trigger are residue
	reads    core.Group[protocol.ReadSlot]
	footers  core.Results[slotRead]
	gone     []uint64 // slots that are gone for good, ascending; immutable
	losing   losing
	lost     bool      // what named them has been written off
	named    []reached // streams that the footers name and the era is not through with, ascending; immutable
	from     int       // those before it are judged
	judging  core.Group[judgeOne]
	judged   core.Results[judgement]
	members  []reached // streams with bytes on the chain, ascending; immutable
	cut      bool      // there are more than one plan takes
	damaged  bool      // a row of one does not decode
	walk     core.Group[member]
	ends     core.Results[memberEnd]
	warm     warming
	residue  bool
}

// slotRead is one slot's footer, or what became of it.
type slotRead struct {
	verdict core.Verdict
	gone    bool
	footer  format.Footer
}

// judgement of one stream.
type judgement uint8

const (
	unanswered judgement = iota
	away                 // no span row of the batch stands
	tombstoned           // the stream is deleted: its spans belong to teardown
	standing             // one does
	unreadable           // a row does not decode
)

// memberEnd is how one member ended.
type memberEnd struct {
	verdict core.Verdict
	covered uint64
	residue bool
	fault   protocol.Fault
}

type batchStep uint8

const (
	batchBegin batchStep = iota
	batchFooters
	batchLose
	batchName
	batchJudge
	batchMove
)

// judgePage is how many streams are judged before those that stand are counted:
// a plan that is full needs no others judged.
const judgePage = 4096

// step works on the marker. Done: everything is settled, or residue says that
// something is left to the age cap.
func (b *batch) step(t core.Turn, e *core.Env, d *Era) core.Verdict {
	for {
		switch b.at {
		case batchBegin:
			b.lingered = plan.Lingered(&e.Dials, &b.mark, t.Now)
			b.footers.Make(len(b.mark.Slots))
			b.at = batchFooters
		case batchFooters: // 1. Judge before any download: the slots' footers, from any replica.
			if !b.reads.Run(t, len(b.mark.Slots), e.Dials.FootersAbreast, func(i int, m *protocol.ReadSlot, t core.Turn) bool {
				s := &b.mark.Slots[i]
				v := m.Step(t, e, d.chain.Const.Stores, keys.Slot(d.chain.Star, d.chain.Epoch, s.Slot), s.Footer)
				if v != core.Working {
					b.footers.Set(i, slotRead{v, m.Gone, m.Footer})
				}
				return v != core.Working
			}) {
				return core.Working
			}
			b.reads = core.Group[protocol.ReadSlot]{}
			if v := b.readable(&e.Dials, d); v != core.Working {
				return v
			}
		case batchLose: // A slot that every replica has called absent, again and again, is lost: its records are reported so.
			v := b.losing.Step(t, e, &d.chain, b.gone, d.lease)
			if v == core.Working {
				return v
			}
			b.losing = losing{}
			if v != core.Done {
				return v
			}
			b.lost, b.at = true, batchName
		case batchName: // Which streams the batch names, less those that the era is through with.
			all := b.name()
			b.named = slices.DeleteFunc(all, func(x reached) bool { return coveredTo(d.covered, x.id) >= x.end })
			t.Note(core.NoteMemberCovered, int64(len(all)-len(b.named)))
			b.footers, b.at = core.Results[slotRead]{}, batchJudge
		case batchJudge: // Who still has standing bytes of it.
			n := min(len(b.named)-b.from, judgePage)
			if b.judged.Len() != n {
				b.judged.Make(n)
			}
			if !b.judging.Run(t, n, e.Dials.ProbeWidth, func(i int, c *judgeOne, t core.Turn) bool {
				return b.judge(i, c, t, d)
			}) {
				return core.Working
			}
			b.judging = core.Group[judgeOne]{}
			if !b.plan(t, e, d) {
				return core.Again
			}
		case batchMove: // 2 and 3. The members, some abreast; what they will read is staged beside them.
			moved := b.walk.Run(t.In(1), len(b.members), e.Dials.MemberWidth, func(i int, m *member, t core.Turn) bool {
				job := b.job(i, e, d)
				v := m.Step(t, e, &job, &b.warm)
				if v != core.Working {
					b.ends.Set(i, memberEnd{v, m.covered, m.residue, m.fault})
				}
				return v != core.Working
			})
			if warmed := b.warm.step(t.In(0), e); !moved || !warmed {
				return core.Working
			}
			return b.verdict(d)
		}
	}
}

func (b *batch) job(i int, e *core.Env, d *Era) memberJob {
	job := memberJob{
		star: d.chain.Star, epoch: d.chain.Epoch, id: b.members[i].id, until: b.members[i].end,
		latest: d.begun + e.Dials.JobDeadline/2, lease: d.lease, batch: b.mark.Slots,
	}
	if b.lingered {
		job.trigger = e.Dials.SizeTrigger
	}
	return job
}

// readable judges the footers; Working goes on.
func (b *batch) readable(d *core.Dials, era *Era) core.Verdict {
	worst := core.Working
	for i := range b.mark.Slots {
		r := b.footers.At(i)
		switch slot := b.mark.Slots[i].Slot; {
		case r.verdict == core.Again:
			return core.Again
		case r.verdict == core.Broken:
			era.why = "slot " + strconv.FormatUint(slot, 10) + " is no slot in any replica that answers"
			worst = core.Broken
		case r.gone:
			b.gone = append(b.gone[:len(b.gone):len(b.gone)], slot)
		}
	}
	if worst != core.Working {
		return worst
	}
	b.at = batchName
	if _, definite := Failures(b.mark.Attempts); len(b.gone) > 0 && definite+1 >= d.ParkAfter {
		b.at = batchLose
	}
	return core.Working
}

// name folds the footers into the streams of the batch: each with its first and
// its last record there.
func (b *batch) name() (named []reached) {
	var all []reached
	for i := range b.footers.Len() {
		f := b.footers.At(i).footer
		for k := range f.Len() {
			c := f.At(k)
			all = append(all, reached{c.Stream, c.First, c.End()})
		}
	}
	slices.SortStableFunc(all, func(x, y reached) int { return cmp.Compare(x.id, y.id) })
	for _, x := range all {
		if n := len(named); n > 0 && named[n-1].id == x.id {
			named[n-1].first, named[n-1].end = min(named[n-1].first, x.first), max(named[n-1].end, x.end)
			continue
		}
		named = append(named, x)
	}
	return named
}

// coveredTo is how far the era is through with a stream.
func coveredTo(through []reached, id uint64) uint64 {
	if i, ok := slices.BinarySearchFunc(through, id, func(x reached, id uint64) int { return cmp.Compare(x.id, id) }); ok {
		return through[i].end
	}
	return 0
}

// judgeRows is how many rows one look at a stream reads: a batch leaves few.
const judgeRows = 8

// judgeOne looks at one stream: its descriptor, then its rows.
type judgeOne struct {
	live bool
	call core.Call
}

// judge leaves a deleted stream out at once, and otherwise looks for a span row of this chain among those that end within the
// stream's part of the batch. An absorb's rows hold slots of its own batch only,
// so the range is near: nothing of the batch stands beyond it.
//
// A deleted stream must be out before the plan is cut: as a member it would take
// a place, at every pass, while its teardown waits for this very marker; a plan
// full of such never comes to those that can be settled.
func (b *batch) judge(i int, c *judgeOne, t core.Turn, d *Era) bool {
	x := &b.named[b.from+i]
	if !c.live {
		r, ok := c.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Stream(x.id)) })
		if !ok {
			return false
		}
		switch present, definite := r.Found(); {
		case !definite:
			return true // unanswered
		case !present || tombstone(r.Val):
			b.judged.Set(i, tombstoned)
			return true
		}
		c.live = true
	}
	r, ok := c.call.AwaitFunc(t, func() core.Op {
		return core.Scan(keys.Ref(x.id, x.first), keys.Ref(x.id, x.end-1)+"\x00", judgeRows)
	})
	if !ok {
		return false
	}
	v := away
	switch {
	case r.Outcome != core.OK:
		v = unanswered
	case r.More: // as if one stood: its member finds out
		v = standing
	}
	for k := range r.Rows {
		h, err := plan.Hold(r.Rows[k])
		if err != nil {
			v = unreadable
			break
		}
		if h.Kind == format.SpanRow && h.Star == d.chain.Star && h.Epoch == d.chain.Epoch {
			v = standing
		}
	}
	b.judged.Set(i, v)
	return true
}

// plan adds the members among the streams that were judged, at most MemberPlan in
// all; it reports whether every one was answered.
func (b *batch) plan(t core.Turn, e *core.Env, d *Era) bool {
	members, covered := b.members[:len(b.members):len(b.members)], int64(0)
	for i, v := range b.judged.All() {
		switch v {
		case unanswered:
			return false
		case away:
			covered++
		case tombstoned:
			t.Note(core.NoteMemberTombstoned, 1)
		case unreadable:
			d.why = "a row of " + keys.Stream(b.named[b.from+i].id) + " does not decode"
			b.damaged = true
		case standing:
			if len(members) == e.Dials.MemberPlan {
				b.cut = true
				continue
			}
			members = append(members, b.named[b.from+i])
		}
	}
	t.Note(core.NoteMemberCovered, covered)
	b.members, b.from, b.judged = members, b.from+b.judged.Len(), core.Results[judgement]{}
	if b.from < len(b.named) && !b.cut {
		return true
	}
	if len(members) == 0 {
		t.Note(core.NoteEmptyPlan, 1)
	}
	b.ends.Make(len(members))
	b.at = batchMove
	return true
}

// verdict folds the members' ends.
func (b *batch) verdict(d *Era) core.Verdict {
	worst := core.Done
	for i := range b.ends.Len() {
		x := b.ends.At(i)
		b.residue = b.residue || x.residue
		if x.verdict > worst {
			worst = x.verdict
		}
		if x.verdict == core.Broken {
			d.why = keys.Stream(b.members[i].id) + ": " + x.fault.String()
		}
	}
	switch {
	case b.damaged:
		return core.Broken
	case worst == core.Done && len(b.gone) > 0 && !b.lost:
		// Rows may name them that no footer leads to any more.
		d.why = strconv.Itoa(len(b.gone)) + " slots of the batch are gone from every replica"
		return core.Broken
	}
	return worst
}

// stays reports whether the marker is to be left as it is: a plan that was cut
// goes on at the next pass, where those that it settled are covered.
func (b *batch) stays() bool { return b.cut && !b.lingered }

// through adds what the members settled to what the era is through with.
func (b *batch) through(was []reached) []reached {
	now := make([]reached, 0, len(was)+len(b.members))
	k := 0
	for i, m := range b.members {
		for k < len(was) && was[k].id < m.id {
			now, k = append(now, was[k]), k+1
		}
		if k < len(was) && was[k].id == m.id {
			k++
		}
		if x := b.ends.At(i); !x.residue {
			now = append(now, reached{id: m.id, end: x.covered})
		}
	}
	return append(now, was[k:]...)
}
