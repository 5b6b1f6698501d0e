package incident

import (
	"fmt"

	"nova/core"
	"nova/core/law"
	"nova/sim"
	"nova/sim/world"
)

// watch is the laws of a world that may be known in part.
type watch struct {
	judge *law.Judge
	whole bool
	was   map[string]bool   // what was broken before anything went on: it is not there, or not known
	gone  map[core.Obj]bool // objects that are known not to stand
}

// begin judges the world as it was found.
func (l *watch) begin(x *scene, d *core.Dials) error {
	l.judge = law.NewJudge(d, &x.stores, func(o core.Obj, off, n int64) (uint32, bool) {
		b := x.w.Bucket(o.Store)
		if b == nil {
			return 0, false
		}
		at := b.Lookup(o.Key)
		if at == nil || off < 0 || n < 0 || off+n > at.Size() {
			return 0, false
		}
		return at.Body.CRC(off, n), true
	})
	l.judge.Now(x.on.Now)
	sn := sim.Snapshot(x.w)
	for i := range sn.Rows {
		l.judge.Apply(law.Change{Kind: law.RowPut, Row: sn.Rows[i]})
	}
	for i := range sn.Objects {
		l.judge.Apply(law.Change{Kind: law.ObjectPut, Object: sn.Objects[i]})
	}
	for i := range sn.Uploads {
		l.judge.Apply(law.Change{Kind: law.UploadPut, Upload: sn.Uploads[i]})
	}
	for _, b := range l.judge.Check() {
		if l.whole && l.judged(b.Law) {
			return fmt.Errorf("go on from turn %d: %w: there, %s", x.g.From, ErrNotWhole, b)
		}
		l.was[fmt.Sprint(b.Law, b.Key)] = true
	}
	return nil
}

// judged reports whether a law can be judged. Of a world of which only a part is
// known: cursors, immutability, and that nothing is deleted which a known live ref
// names. That something has no watcher, no bytes or no record may only mean that it
// was not seen.
func (l *watch) judged(n int) bool {
	if l.whole {
		return n <= 6
	}
	return n == 0 || n >= 4 && n <= 6
}

// judged is the laws that are judged, for people.
func judged(whole bool) string {
	if whole {
		return "contract, 1 watched, 2 bytes, 3 acked (what is in rows), 4 reader, 5 cursors, 6 immutable, 7 budget"
	}
	return "contract, 4 reader (of refs that are known), 5 cursors, 6 immutable, 7 budget"
}

var laws = [...]sim.Law{sim.LawContract, sim.LawWatched, sim.LawBytes, sim.LawAcked, sim.LawReader, sim.LawCursors, sim.LawImmutable}

// Changed judges what has changed.
func (l *watch) Changed(s *sim.Sim, _ *core.Op, cs []world.Change) {
	l.judge.Now(s.Now())
	for i := range cs {
		if cs[i].Kind == world.ObjectDel {
			l.gone[core.Obj{Store: cs[i].Store, Key: cs[i].Key}] = true
		}
		l.judge.Apply(sim.LawChange(&cs[i]))
	}
	for _, b := range l.judge.Check() {
		if l.judged(b.Law) && !l.was[fmt.Sprint(b.Law, b.Key)] {
			s.Breach(laws[b.Law], "%s", b)
			return
		}
	}
	for n, of := range l.judge.Report().Evaluated {
		if n < len(laws) && l.judged(n) {
			s.Count.Laws[laws[n]] = max(s.Count.Laws[laws[n]], int64(of))
		}
	}
}

// Acked has nothing to do: nobody asks for anything.
func (l *watch) Acked(*sim.Sim, *sim.Chunk) {}

// Still has nothing to do: the run ends where its faults would stop.
func (l *watch) Still(bool) {}
