package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Fate is what judging one slot over its bucket set found.
type Fate uint8

const (
	FateUnknown Fate = iota // nothing definite: judge again, later
	FateAdopt               // every store that answers holds the slot, and one does
	FateDead                // a fence holds one replica: the slot is never committed
	FateStale               // the claim must be confirmed before a fence may be sent
	FateTorn                // every store answers, and what stands is no slot
)

// replica is what one store says about a slot.
type replica uint8

const (
	replicaUnknown replica = iota
	replicaAbsent
	replicaSlot
	replicaFence
	replicaTorn
)

// judgeTries bounds how often one slot is looked at again because somebody
// created it between the look and the fence.
const judgeTries = 8

// JudgeSlot decides one slot of a chain that is being cut: fence-any, and adopt
// what every answering store holds (gap 16). A slot that a store says is absent
// was not acknowledged, because a commit is write-all; the fence that takes its
// place there makes sure that it never will be.
type JudgeSlot struct {
	step  judgeStep
	look  core.Group[core.Call]
	saw   core.Results[replica]
	call  core.Call
	at    uint8 // store whose absence is being fenced
	tries uint8

	Fate Fate
}

type judgeStep uint8

const (
	judgeLook judgeStep = iota
	judgeDecide
	judgeFence
	judgeDone
)

// Step judges the slot and reports whether Fate is decided. Fences are sent under
// the claim confirmed at the given time.
func (j *JudgeSlot) Step(t core.Turn, e *core.Env, c *Chain, slot uint64, confirmed core.Ms) bool {
	stores := c.Const.Stores
	for {
		switch j.step {
		case judgeLook:
			key := keys.Slot(c.Star, c.Epoch, slot)
			if j.saw.Len() != len(stores) {
				j.saw.Make(len(stores))
			}
			if !j.look.Run(t, len(stores), len(stores), func(i int, m *core.Call, t core.Turn) bool {
				re, ok := m.Await(t, core.ReadTail(core.Obj{Store: stores[i], Key: key}, format.TailRead))
				if ok {
					j.saw.Set(i, judgeReplica(re))
				}
				return ok
			}) {
				return false
			}
			j.look, j.step, j.at = core.Group[core.Call]{}, judgeDecide, 0
		case judgeDecide:
			fate, absent := j.weigh()
			if !absent {
				return j.end(fate)
			}
			j.step = judgeFence
		case judgeFence:
			for int(j.at) < len(stores) && *j.saw.At(int(j.at)) != replicaAbsent {
				j.at++
			}
			if int(j.at) == len(stores) {
				return j.end(FateUnknown)
			}
			// The first fence that wins anywhere kills the slot; one store is enough.
			if !j.call.Sent() && e.Dials.Stale(confirmed, t.Now) {
				return j.end(FateStale)
			}
			re, ok := j.call.AwaitFunc(t, func() core.Op {
				return core.Create(core.Obj{Store: stores[j.at], Key: keys.Slot(c.Star, c.Epoch, slot)},
					core.Bytes(format.Fence(c.Star, c.Epoch, slot)), e.Dials.Horizon(confirmed))
			})
			switch {
			case !ok:
				return false
			case re.Outcome == core.OK:
				t.Note(core.NoteFenced, 1)
				return j.end(FateDead)
			case re.Outcome == core.Exists: // the writer was quicker: look again
				if j.tries++; j.tries == judgeTries {
					return j.end(FateUnknown)
				}
				j.step = judgeLook
			default:
				j.at++
			}
		case judgeDone:
			return true
		}
	}
}

// weigh folds what the stores said into a fate; absent says that a fence may
// still decide it.
func (j *JudgeSlot) weigh() (fate Fate, absent bool) {
	var n [replicaTorn + 1]int
	for _, r := range j.saw.All() {
		n[r]++
	}
	switch {
	case n[replicaFence] > 0:
		return FateDead, false
	case n[replicaAbsent] > 0:
		return FateUnknown, true
	case n[replicaSlot] > 0:
		return FateAdopt, false
	case n[replicaUnknown] > 0:
		return FateUnknown, false
	}
	return FateTorn, false
}

func (j *JudgeSlot) end(f Fate) bool {
	*j = JudgeSlot{step: judgeDone, Fate: f}
	return true
}

func judgeReplica(re *core.Reply) replica {
	switch re.Outcome {
	case core.Absent:
		return replicaAbsent
	case core.OutOfRange, core.Damaged:
		return replicaTorn
	case core.OK:
	default:
		return replicaUnknown
	}
	tail, err := format.ParseTail(re.Val, re.Size)
	switch {
	case err != nil:
		return replicaTorn
	case tail.Kind == format.FenceObject:
		return replicaFence
	case tail.Kind == format.SlotObject:
		return replicaSlot
	}
	return replicaTorn
}

// fenceWindow fences every slot of [from, to) in every store that answers, so
// that nothing that is in flight on the chain lands as a slot (gap 5). It is best
// effort: what a store does not take now, the second garbage phase deletes.
type fenceWindow struct{ g core.Group[core.Call] }

// step sends all fences at once, under a claim that its caller found fresh.
func (f *fenceWindow) step(t core.Turn, e *core.Env, c *Chain, from, to uint64, confirmed core.Ms) bool {
	n, width := window(c, from, to)
	return f.g.Run(t, n, width, func(i int, m *core.Call, t core.Turn) bool {
		re, ok := m.AwaitFunc(t, func() core.Op {
			obj, slot := c.replica(from, i)
			return core.Create(obj, core.Bytes(format.Fence(c.Star, c.Epoch, slot)), e.Dials.Horizon(confirmed))
		})
		if ok && re.Outcome == core.OK {
			t.Note(core.NoteFenced, 1)
		}
		return ok
	})
}

// sweepWindow deletes garbage of the slots [from, to) in every store: only what
// is no fence, or everything. It counts the replicas of which it is not sure.
type sweepWindow struct {
	g      core.Group[sweepOne]
	unsure uint32
}

type sweepOne struct {
	looked bool
	call   core.Call
}

// step deletes what stands in the slots [from, to): what is no fence, or all of it,
// and nothing before a time.
func (w *sweepWindow) step(t core.Turn, e *core.Env, c *Chain, from, to uint64, fencesToo bool, notBefore core.Ms) bool {
	n, _ := window(c, from, to)
	return w.g.Run(t, n, e.Dials.FootersAbreast, func(i int, m *sweepOne, t core.Turn) bool {
		obj, _ := c.replica(from, i)
		if !m.looked && !fencesToo {
			re, ok := m.call.Await(t, core.ReadTail(obj, format.TailRead))
			if !ok {
				return false
			}
			switch judgeReplica(re) {
			case replicaUnknown:
				w.unsure++
				return true
			case replicaAbsent, replicaFence:
				return true
			case replicaSlot, replicaTorn:
			}
		}
		m.looked = true
		if !m.call.Sent() && t.Now < notBefore { // a clock that was ahead took it for due, and is right again
			w.unsure++
			return true
		}
		re, ok := m.call.Await(t, core.Delete(obj))
		if !ok {
			return false
		}
		if re.Outcome != core.OK && re.Outcome != core.Absent {
			w.unsure++
		}
		return true
	})
}

// window is how many replicas [from, to) has; a group's width is at least 1.
func window(c *Chain, from, to uint64) (n, width int) {
	if to > from {
		n = int(to-from) * len(c.Const.Stores)
	}
	return n, max(n, 1)
}
