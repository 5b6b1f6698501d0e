package sim

import (
	"strings"

	"nova/core"
	"nova/core/keys"
)

// widths holds what a process has in flight, now that e is, to law 7: of each group
// that e belongs to, from the root machine down to its own, no more lanes run than
// the group's dial allows. Which dial that is, is said here and not asked of the
// group: one that runs with another's width is what is looked for.
func (s *Sim) widths(p *Proc, e *pending) {
	root := p.root(e.at)
	for level := 1; level <= e.at.Len(); level++ {
		g := groupAt(s, root, e, level)
		if g.width == 0 {
			continue
		}
		s.Count.Laws[LawBudget]++
		if n := s.abreast(p, e, level, g.leaf); n > g.width {
			s.Breach(LawBudget, "%s: %d lanes abreast at %s, level %d (%s of %s), and %s is %d", p.Name, n, e.at, level, &e.op, root, g.dial, g.width)
			return
		}
	}
}

// group is a group of machines that run abreast: its dial, and whether its lanes are
// calls of one sort, beside which others may be at the same place.
type group struct {
	dial  string
	width int // 0: none that a dial bounds
	leaf  bool
}

// abreast is how many lanes run of the group that e belongs to at a level.
func (s *Sim) abreast(p *Proc, e *pending, level int, leaf bool) int {
	s.slots = s.slots[:0]
next:
	for _, o := range p.pend {
		switch {
		case o.at.Len() < level || leaf && (o.at.Len() != level || alike(&o.op) != alike(&e.op)):
			continue
		}
		for i := range level - 1 {
			if o.at.At(i) != e.at.At(i) {
				continue next
			}
		}
		slot := o.at.At(level - 1)
		for _, x := range s.slots {
			if x == slot {
				continue next
			}
		}
		s.slots = append(s.slots, slot)
	}
	return len(s.slots)
}

// alike is what an operation counts as: lanes of one group may send this or that. Of
// a part it does not matter whether it is copied, and before it the intent that it is
// sent under is read again.
func alike(op *core.Op) core.Kind {
	switch op.Kind {
	case core.KCopyPart:
		return core.KUploadPart
	case core.KReadTail:
		return core.KReadRange
	case core.KScan:
		return core.KGet
	case core.KGet:
		if strings.HasPrefix(op.Key, "due/orphan/") {
			return core.KUploadPart
		}
	}
	return op.Kind
}

// groupAt is the group that an effect of a root machine belongs to at a level.
func groupAt(s *Sim, root string, e *pending, level int) group {
	d := &s.Dials
	leaf := level == e.at.Len()
	switch root {
	case "", "auditor", "create", "trim", "delete", "policy":
		return group{}
	case "star":
		return starGroup(s, e, level)
	case "read":
		return group{"FootersAbreast", d.FootersAbreast, false}
	case "unpark":
		return group{"DrainWidth", d.DrainWidth, false}
	case "decommission":
		switch {
		case level > 1 && leaf:
			return settleGroup(s, &e.op)
		case level == 1 && e.op.Kind == core.KDelete:
			return group{"DeleteBatch", d.DeleteBatch, true}
		case level == 1:
			return group{"DrainWidth", d.DrainWidth, false}
		}
		return group{}
	}
	switch {
	case level == 2:
		return drainGroup(d, root)
	case level == 4 && root == keys.Denorm.String(): // the members; what is staged for them
		return group{"MemberWidth", d.MemberWidth, false}
	case level > 2 && leaf:
		return dutyGroup(s, root, &e.op)
	}
	return group{}
}

// reapAbreast is how many reap-checks run for each lane of another drain: most of
// one's time is a footer read, and their deletes leave in one request.
const reapAbreast = 8

// drainGroup is the lanes of a drain.
func drainGroup(d *core.Dials, queue string) group {
	switch queue {
	case keys.Teardown.String():
		return group{"TeardownWidth", d.TeardownWidth, false}
	case keys.Reap.String():
		return group{"DrainWidth, eightfold", reapAbreast * d.DrainWidth, false}
	}
	return group{"DrainWidth", d.DrainWidth, false}
}

// dutyGroup is the calls that a duty, or a member of an era, has abreast.
func dutyGroup(s *Sim, queue string, op *core.Op) group {
	d := &s.Dials
	if queue == keys.Settle.String() {
		return settleGroup(s, op)
	}
	switch alike(op) {
	case core.KUploadPart, core.KAbort:
		return group{"PartWidth", d.PartWidth, true}
	case core.KReadRange:
		return group{"FootersAbreast", d.FootersAbreast, true}
	case core.KGet:
		if queue == keys.Teardown.String() {
			return group{"DrainWidth", d.DrainWidth, true}
		}
		return group{"ProbeWidth", d.ProbeWidth, true}
	case core.KTxn:
		return group{"DrainWidth", d.DrainWidth, true}
	case core.KDelete:
		return group{"DeleteBatch", d.DeleteBatch, true}
	}
	return group{}
}

// settleGroup is the calls that a settlement has abreast: the footers of a batch, or
// one slot's replicas; the rows of an absorb; the fences, all at once; garbage.
func settleGroup(s *Sim, op *core.Op) group {
	d, stores := &s.Dials, replicas(s)
	switch alike(op) {
	case core.KReadRange:
		return group{"FootersAbreast, or replicas", max(d.FootersAbreast, stores), true}
	case core.KGet:
		return group{"StreamsPerTxn, twice", 2 * d.StreamsPerTxn, true}
	case core.KCreate:
		return group{"Pipeline, for each store", stores * d.Pipeline, true}
	case core.KDelete:
		return group{"FootersAbreast", d.FootersAbreast, true}
	}
	return group{}
}

// replicas is the most stores that a slot goes to.
func replicas(s *Sim) (n int) {
	for _, of := range s.Stores.Of {
		n = max(n, len(of))
	}
	return n
}

// A star's branches: its phase, which settles and opens again after a roll, and gives
// its leases back; absorbing; opens; and one for each slot of its pipeline.
const (
	starPhase  = 3
	starAbsorb = 5
	starOpens  = 8
	starLanes  = 16
)

func starGroup(s *Sim, e *pending, level int) group {
	d, branch, leaf := &s.Dials, e.at.At(0), level == e.at.Len()
	switch {
	case branch >= starLanes && level == 2 && e.at.At(1) > 0:
		return group{"replicas", replicas(s), true}
	case branch == starAbsorb && leaf && level == 2, branch >= starOpens && branch < starLanes && leaf && level == 2:
		return settleGroup(s, &e.op)
	case branch == starPhase && level == 2:
		g := group{"DrainWidth", d.DrainWidth, leaf}
		if x := settleGroup(s, &e.op); leaf && x.width > g.width {
			return x
		}
		return g
	case branch == starPhase && level == 3 && leaf:
		return settleGroup(s, &e.op)
	}
	return group{}
}
