package sim

import (
	"slices"
	"sync"

	"nova/core"
	"nova/core/keys"
	"nova/faults"
	"nova/faults/boundaries"
)

// Cuts is how often a crash point was passed while a cut could have come there, and
// how often one did, on each side.
type Cuts struct {
	Passed int64
	By     [faults.Sides]int64
}

// stand is one way to stand at a row of the crash table, bound to the source.
type stand struct {
	row  int
	side faults.Side
}

// table is the crash table bound to the source: by crash point, and by mark.
type table struct {
	points map[int][]stand
	marks  map[core.NoteKind][]stand
}

// bound binds the crash table. A row that names no boundary of the source is a row
// that nothing stands at: it panics.
var bound = sync.OnceValue(func() table {
	t := table{map[int][]stand{}, map[core.NoteKind][]stand{}}
	for i := range faults.Table {
		for _, c := range faults.Table[i].Cuts {
			if c.Point == "" {
				t.marks[c.Mark] = append(t.marks[c.Mark], stand{i, faults.After})
				continue
			}
			at := boundaries.Index(c.Point)
			if at < 0 {
				panic("sim: the crash table's row " + faults.Table[i].Name + " names " + c.Point + ", which is no boundary")
			}
			for _, root := range boundaries.All()[at].Roots {
				if p := boundaries.PointOf(at, root); c.Root == "" || c.Root == root {
					t.points[p] = append(t.points[p], stand{i, c.Side})
				}
			}
		}
	}
	return t
})

// sited tells the crash point at which an effect of a turn was emitted, as an index
// of boundaries.Points; -1: none of the core's, or the run does not ask.
func (s *Sim) sited(p *Proc, effect int) int {
	if p.x.Where == nil {
		return -1
	}
	pc := p.x.Sites[effect]
	i, ok := s.sites[pc]
	if !ok {
		i = boundaries.At(pc)
		s.sites[pc] = i
	}
	if i < 0 {
		return -1
	}
	b, root := &boundaries.All()[i], p.root(p.x.Out[effect].At)
	if op := &p.x.Out[effect].Op; !slices.Contains(b.Ops, op.Kind) {
		s.Breach(LawContract, "%s: %s emits %s, which its text does not say", p.Name, b.Name, op)
	}
	point := boundaries.PointOf(i, root)
	if point < 0 && root != "" {
		s.Breach(LawContract, "%s: %s comes by %s, which its type does not say", p.Name, root, b.Name)
	}
	return point
}

// root is what a process is for, at a path of its own: the roots of the boundaries;
// "": nothing that they know.
func (p *Proc) root(at core.Path) string {
	switch a := p.Actor.(type) {
	case *auditActor:
		return a.root(at.At(0))
	case *starActor:
		return "star"
	case *verbActor:
		return verbRoots[a.v.kind]
	case *operatorActor:
		return "decommission"
	case *unparkActor:
		return "unpark"
	}
	return ""
}

var verbRoots = map[request]string{reqCreate: "create", reqTrim: "trim", reqDelete: "delete", reqPolicy: "policy", reqServe: "read"}

// root is the duty that an auditor runs in a slot of its own.
func (a *auditActor) root(slot core.Slot) string {
	q := int(slot)
	switch {
	case a.blind:
		return blindSlots[q-1].String()
	case q >= keys.Queues:
		return "auditor" // its registration
	}
	return keys.Queue(q).String()
}

// blindSlots is the queues of a blind auditor, from its first slot on.
var blindSlots = [...]keys.Queue{keys.Settle, keys.Teardown, keys.Retention, keys.Reap, keys.TrimCheck, keys.Orphan, keys.Denorm, keys.GC}

// aims reports whether the run, which comes by a place where it was told to cut,
// does so: the first, the second, the fourth, the eighth … time, or each.
func (s *Sim) aims(place int) bool {
	s.passes[place]++
	n := s.passes[place]
	return n&(n-1) == 0 || s.Plan.At[place].Every
}

// aim is what an effect meets because the run was told to cut, or to strike, there. It
// is asked of every effect, as it is about to land; of a wait, and of a take, as it is
// about to be answered.
func (s *Sim) aim(e *pending) faults.Kind {
	if !s.faulty || e.site < 0 || e.p.paused {
		return faults.None
	}
	s.Count.Points[e.site].Passed++
	for i := range s.Plan.At {
		k := s.meets(i, e)
		if k != faults.None && s.aims(i) {
			e.aimed = true
			return k
		}
	}
	return faults.None
}

// meets says what is to strike an effect where the run was told to: a cut on each side
// in turn, where there are several; None: it is elsewhere.
func (s *Sim) meets(place int, e *pending) faults.Kind {
	at, n, here := s.Plan.At[place], int(s.passes[place]), boundaries.Points()[e.site]
	switch {
	case at.Row > 0:
		var sides []faults.Side
		for _, st := range bound().points[e.site] {
			if st.row == at.Row-1 {
				sides = append(sides, st.side)
			}
		}
		if sides == nil {
			return faults.None
		}
		return sides[n%len(sides)].Kind()
	case at.Point != here.Boundary+1 || at.Root != "" && at.Root != here.Root:
		return faults.None
	case at.Kind != faults.None:
		return apt(at.Kind, e)
	case at.Sided:
		return at.Side.Kind()
	}
	return faults.Side(n % faults.Sides).Kind()
}

// apt is a kind that a run was told to strike an effect with; None: it does not
// strike such an effect, or one that it has struck.
func apt(k faults.Kind, e *pending) faults.Kind {
	own := e.op.Kind == core.KWait || e.op.Kind == core.KTake || e.op.Kind == core.KGive || e.op.Kind == core.KStage
	switch {
	case e.aimed || own && k != faults.Pause:
		return faults.None
	case k == faults.Late && !e.op.Mutates():
		return faults.Slow
	case k == faults.LostReply && !e.op.Mutates():
		return faults.Dropped
	}
	return k
}

// passesMark reports whether the process is cut for what its turn has noted.
func (s *Sim) passesMark(p *Proc, e *pending) bool {
	if p.ended || p.paused || s.breach != nil || len(p.x.Notes) == 0 {
		return false
	}
	if s.script != nil {
		if e.fate == nil || e.fate.Fault != faults.CutMark {
			return false
		}
		return true
	}
	if !s.faulty {
		return false
	}
	for i, at := range s.Plan.At {
		if at.Row > 0 && noted(p, at.Row-1) && s.aims(i) {
			return true
		}
	}
	return s.strikes(faults.CutMark)
}

// noted reports whether a process's turn has passed a mark of a row.
func noted(p *Proc, row int) bool {
	for i := range p.x.Notes {
		for _, st := range bound().marks[p.x.Notes[i].Kind] {
			if st.row == row {
				return true
			}
		}
	}
	return false
}

// tally counts a cut at the crash point where it came, and at the rows of the crash
// table that stand there; and notes how a run is told to strike so.
func (s *Sim) tally(k faults.Kind, e *pending) {
	if e.site >= 0 {
		if a, ok := faults.AimOf(e.site, k); ok && !slices.Contains(s.struckAt, a) {
			s.struckAt = append(s.struckAt, a)
		}
	}
	side, ok := faults.SideOf(k)
	if !ok || e.site < 0 {
		return
	}
	s.Count.Points[e.site].By[side]++
	for _, st := range bound().points[e.site] {
		if st.side == side {
			s.Count.Rows[st.row]++
		}
	}
}

// tallyMarks counts a cut at the rows whose marks the process's turn has passed.
func (s *Sim) tallyMarks(p *Proc) {
	for i := range p.x.Notes {
		for _, st := range bound().marks[p.x.Notes[i].Kind] {
			s.Count.Rows[st.row]++
		}
	}
}

// cutAtMark cuts a process after a turn that passed a mark.
func (s *Sim) cutAtMark(p *Proc, e *pending) {
	defer s.struck(faults.CutMark, e)()
	s.harms(faults.CutMark)
	s.Count.Laws[LawStrikes]++
	s.logFault(faults.CutMark, e)
	s.tally(faults.CutMark, e)
	s.tallyMarks(p)
	s.cut(p)
}

// worked counts a marker that a duty works on; its queue has the duty's name.
func (s *Sim) worked(queue string) {
	for q := range s.Count.Duties {
		if keys.Queue(q).String() == queue {
			s.Count.Duties[q]++
		}
	}
}
