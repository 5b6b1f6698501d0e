package protocol

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Settlement drives one chain to the end: it publishes the cut, absorbs what lies
// below it and deletes what lies above it. Run by the settle duty, by an open
// that waits for a stream's last epoch, and by a star that gave its epoch up;
// docs/protocols.md section 2.
//
// Done: State says how far the chain is. It is at least ChainSwept, which is all
// that an open waits for, or 0 where there is no such chain. Again: another
// settles it, or something is not definite. Broken: an absorbable slot is torn or
// gone, or a row does not decode.
type Settlement struct {
	step    settlementStep
	call    core.Call
	chain   Chain
	con     core.Mark
	head    core.Row
	headVal format.ChainHead
	claim   settleClaim
	back    settlementStep // after the claim was confirmed
	slot    uint64         // slots below it, from the checkpoint on, were adopted
	cut     bool           // this settler published the cut, or has said that it adopts one
	judge   JudgeSlot
	fences  fenceWindow
	reads   core.Group[ReadSlot]
	found   core.Results[foundSlot]
	absorb  Absorb
	sweep   sweepWindow
	gone    uint64 // checkpoint+1 at which a slot was found gone or torn
	verdict core.Verdict

	State format.ChainState
	Cut   uint64
	Purge core.Ms // Swept: when the garbage goes for the second time
	Why   string  // Broken: what an operator needs to know
}

type settlementStep uint8

const (
	settlementConst settlementStep = iota
	settlementGlance
	settlementClaim
	settlementHead
	settlementConfirm
	settlementJudge
	settlementFence
	settlementCut
	settlementRead
	settlementAbsorb
	settlementSweep
	settlementSwept
	settlementPurge
	settlementSettled
	settlementRelease
	settlementDone
)

// foundSlot is one slot of the batch that is being read.
type foundSlot struct {
	slot    SlotFooter
	verdict core.Verdict
	gone    bool
}

// Step settles the chain of a star's epoch: until it is swept, or with full until
// it is settled, where the time for that has come.
func (s *Settlement) Step(t core.Turn, e *core.Env, star string, epoch uint64, full bool) core.Verdict {
	for {
		switch s.step {
		case settlementConst: // 1. Read const and head. No const: nothing to settle.
			key := keys.ChainConst(star, epoch)
			re, ok := s.call.Await(t, core.Get(key))
			if !ok {
				return core.Working
			}
			switch re.Outcome {
			case core.OK:
			case core.Absent:
				s.State, s.Cut, s.Purge = 0, 0, 0
				return s.end(core.Done)
			default:
				return s.end(core.Again)
			}
			c, err := format.DecodeChainConst(re.Val)
			if err != nil {
				s.Why = fmt.Sprintf("settle %s/%d: %v: restore the chain's constants", star, epoch, err)
				return s.end(core.Broken)
			}
			s.chain = Chain{Star: star, Epoch: epoch, Const: c}
			s.con, s.step = re.Row(key).Mark, settlementGlance
		case settlementGlance: // most callers find it done
			v, ok := s.readHead(t, e)
			if !ok {
				return core.Working
			}
			if v != core.Done {
				return s.end(v)
			}
			if h := &s.headVal; h.State == format.ChainSettled || h.State == format.ChainSwept && !(full && (s.due(t, e) || s.ahead(t, e))) {
				return s.end(core.Done)
			}
			s.step = settlementClaim
		case settlementClaim: // 2. Claim.
			switch s.claim.take(t, e, &s.chain, s.con) {
			case core.Working:
				return core.Working
			case core.Done:
				t.Note(core.NoteClaimed, 1)
				s.step = settlementHead
			default:
				return s.end(core.Again)
			}
		case settlementHead: // Under the claim: where does the chain stand?
			v, ok := s.readHead(t, e)
			if !ok {
				return core.Working
			}
			if v != core.Done {
				s.leave(v)
				continue
			}
			s.dispatch(t, e, full)
		case settlementConfirm:
			switch s.claim.confirm(t) {
			case core.Working:
				return core.Working
			case core.Done:
				s.step = s.back
			default:
				s.leave(core.Again)
			}
		case settlementJudge: // 3. Judge slots upward from the checkpoint.
			if !s.judge.Step(t, e, &s.chain, s.slot, s.claim.confirmed) {
				return core.Working
			}
			fate := s.judge.Fate
			s.judge = JudgeSlot{}
			switch fate {
			case FateAdopt:
				s.slot++
			case FateDead: // the first dead slot is the cut
				s.step = settlementFence
			case FateStale:
				s.confirm(settlementJudge)
			case FateTorn:
				s.broken("slot %d is torn in every store of %v: look at what stands at its key", s.slot, s.chain.Const.Stores)
			default:
				s.leave(core.Again)
			}
		case settlementFence: // Nothing that is in flight may land as a slot.
			if s.fences.g.Idle() && e.Dials.Stale(s.claim.confirmed, t.Now) {
				s.confirm(settlementFence)
				continue
			}
			if !s.fences.step(t, e, &s.chain, s.slot, s.slot+uint64(s.chain.Const.Pipeline), s.claim.confirmed) {
				return core.Working
			}
			s.fences, s.step = fenceWindow{}, settlementCut
		case settlementCut: // Publish the cut; whoever lost adopts what was published.
			h := s.headVal
			h.State, h.Cut, h.CutAt = format.ChainCut, s.slot, t.Now
			out, ok := s.putHead(t, h)
			if !ok {
				return core.Working
			}
			if out == core.OK {
				t.Note(core.NoteCutPublished, 1)
				s.cut = true
			}
			s.after(out)
		case settlementRead: // 4. Absorb [checkpoint, cut) in batches: the footers first.
			if !s.readBatch(t, e) {
				return core.Working
			}
			s.reads = core.Group[ReadSlot]{}
			s.weigh()
		case settlementAbsorb:
			slots := make([]SlotFooter, s.found.Len())
			for i := range slots {
				slots[i] = s.found.At(i).slot
			}
			b := Batch{Chain: &s.chain, Slots: slots, Claim: s.claim.mark}
			switch v := s.absorb.Step(t, e, &b); v {
			case core.Working:
				return core.Working
			case core.Done:
				s.absorb = Absorb{}
				s.found.Make(0)
				s.step = settlementHead
			default:
				s.absorb = Absorb{}
				s.found.Make(0)
				s.leave(v)
				if v == core.Broken {
					s.broken("the slots from %d on do not continue what is absorbed, or a row does not decode", s.headVal.Checkpoint)
				}
			}
		case settlementSweep: // 5. Garbage, first time: what is no fence.
			cut := s.headVal.Cut
			if !s.sweep.step(t, e, &s.chain, cut+1, cut+uint64(s.chain.Const.Pipeline), false, 0) {
				return core.Working
			}
			// A store that does not answer holds nobody up: the second time counts.
			s.sweep, s.step = sweepWindow{}, settlementSwept
		case settlementSwept:
			h := s.headVal
			h.State, h.SweptAt = format.ChainSwept, t.Now
			out, ok := s.putHead(t, h)
			if !ok {
				return core.Working
			}
			if out == core.OK {
				t.Note(core.NoteGarbageSwept, 1)
			}
			s.after(out)
		case settlementPurge: // 6. Garbage, second time, fences included: all of it, everywhere.
			// A settler that published no cut may have judged a higher one, while a store was
			// away that now says otherwise; it fenced a pipeline from there. No slot lies a
			// whole pipeline above the cut, so no fence lies two above it.
			cut := s.headVal.Cut
			if !s.sweep.step(t, e, &s.chain, cut, cut+2*uint64(s.chain.Const.Pipeline), true, s.purgeAt(e)) {
				return core.Working
			}
			unsure := s.sweep.unsure
			s.sweep, s.step = sweepWindow{}, settlementSettled
			if unsure > 0 {
				s.leave(core.Again)
			}
		case settlementSettled:
			h := s.headVal
			h.State = format.ChainSettled
			out, ok := s.putHead(t, h)
			if !ok {
				return core.Working
			}
			if out == core.OK {
				t.Note(core.NoteChainSettled, 1)
			}
			s.after(out)
		case settlementRelease: // 7. Release, also when giving up.
			if !s.claim.release(t, e) {
				return core.Working
			}
			return s.end(s.verdict)
		case settlementDone:
			return core.Done
		}
	}
}

// dispatch chooses the step that the head asks for.
func (s *Settlement) dispatch(t core.Turn, e *core.Env, full bool) {
	h := &s.headVal
	if h.State != format.ChainOpen && !s.cut {
		t.Note(core.NoteCutAdopted, 1)
		s.cut = true
	}
	switch {
	case h.State == format.ChainOpen:
		s.slot, s.step = max(s.slot, h.Checkpoint), settlementJudge
	case h.State == format.ChainCut && h.Checkpoint < h.Cut:
		s.step = settlementRead
	case h.State == format.ChainCut:
		s.step = settlementSweep
	case h.State == format.ChainSwept && full && s.ahead(t, e):
		s.step = settlementSwept
	case h.State == format.ChainSwept && full && s.due(t, e):
		s.step = settlementPurge
	default:
		s.leave(core.Done)
	}
}

// due reports whether nothing that was sent before the cut can land any more.
// That counts from SweptAt, which was stamped after the cut had been seen to
// stand. CutAt was stamped when the cut was emitted: while that transaction was on
// its way, the writer could still confirm its right, and send.
func (s *Settlement) due(t core.Turn, e *core.Env) bool {
	return t.Now >= s.purgeAt(e)
}

func (s *Settlement) purgeAt(e *core.Env) core.Ms { return s.headVal.SweptAt + e.Dials.RequestLife }

// ahead reports whether SweptAt was stamped by a clock that is wrong by more than
// two honest ones can be apart: nobody waits for such a time, it is stamped anew.
func (s *Settlement) ahead(t core.Turn, e *core.Env) bool {
	return s.headVal.SweptAt > t.Now+e.Dials.RequestLife
}

func (s *Settlement) readHead(t core.Turn, e *core.Env) (core.Verdict, bool) {
	key := keys.ChainHead(s.chain.Star, s.chain.Epoch)
	re, ok := s.call.Await(t, core.Get(key))
	switch {
	case !ok:
		return core.Working, false
	case re.Outcome != core.OK:
		return core.Again, true // gone between two reads: next time const says so
	}
	h, err := format.DecodeChainHead(re.Val)
	if err != nil {
		s.broken("%v: restore the chain's head", err)
		return core.Broken, true
	}
	s.head, s.headVal = re.Row(key), h
	s.State, s.Cut, s.Purge = h.State, h.Cut, h.SweptAt+e.Dials.RequestLife
	return core.Done, true
}

// putHead writes the head: as it was read, and under the claim.
func (s *Settlement) putHead(t core.Turn, h format.ChainHead) (core.Outcome, bool) {
	re, ok := s.call.AwaitFunc(t, func() core.Op {
		return core.Txn(core.If(s.head.Mark), core.If(s.claim.mark), core.Put(s.head.Key, h.Encode()))
	})
	if !ok {
		return core.Unknown, false
	}
	return re.Outcome, true
}

// after goes on from a write of the head: from what now stands, under a claim
// that was looked at again if the write did not go through.
func (s *Settlement) after(o core.Outcome) {
	switch o {
	case core.OK:
		s.step = settlementHead
	case core.Conflict, core.Unknown:
		s.confirm(settlementHead)
	default:
		s.leave(core.Again)
	}
}

func (s *Settlement) confirm(back settlementStep) { s.back, s.step = back, settlementConfirm }

// readBatch reads the footers of the next slots below the cut, abreast.
func (s *Settlement) readBatch(t core.Turn, e *core.Env) bool {
	from := s.headVal.Checkpoint
	n := int(min(s.headVal.Cut-from, uint64(e.Dials.SettleBatch)))
	if s.found.Len() != n {
		s.found.Make(n)
	}
	return s.reads.Run(t, n, e.Dials.FootersAbreast, func(i int, m *ReadSlot, t core.Turn) bool {
		slot := from + uint64(i)
		v := m.Step(t, e, s.chain.Const.Stores, keys.Slot(s.chain.Star, s.chain.Epoch, slot), format.Window{})
		if v == core.Working {
			return false
		}
		s.found.Set(i, foundSlot{SlotFooter{slot, m.Window, m.Footer}, v, m.Gone})
		return true
	})
}

// weigh decides what the footers that were read are good for.
func (s *Settlement) weigh() {
	v, lost := core.Done, false
	for _, f := range s.found.All() {
		switch {
		case f.verdict == core.Again:
			v = core.Again
		case f.verdict == core.Broken || f.gone:
			lost = true
		}
	}
	switch from := s.headVal.Checkpoint; {
	case lost && s.gone == from+1:
		s.broken("a slot of %d to %d below the cut is gone or torn in every store of %v: restore a replica",
			from, from+uint64(s.found.Len())-1, s.chain.Const.Stores)
	case lost:
		// Perhaps another absorbed these slots, and they were rewritten and trimmed,
		// while this settler was paused. The head says so.
		s.gone = from + 1
		s.found.Make(0)
		s.confirm(settlementHead)
	case v != core.Done:
		s.leave(v)
	default:
		s.step = settlementAbsorb
	}
}

// broken gives the claim back and ends with a reason.
func (s *Settlement) broken(why string, args ...any) {
	s.Why = fmt.Sprintf("settle %s/%d: ", s.chain.Star, s.chain.Epoch) + fmt.Sprintf(why, args...)
	s.leave(core.Broken)
}

// leave gives the claim back and ends with a verdict.
func (s *Settlement) leave(v core.Verdict) { s.verdict, s.step = v, settlementRelease }

func (s *Settlement) end(v core.Verdict) core.Verdict {
	*s = Settlement{State: s.State, Cut: s.Cut, Purge: s.Purge, Why: s.Why}
	if v == core.Done {
		s.step = settlementDone
	}
	return v
}
