package sim

import (
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/law"
	"nova/sim/world"
)

// judge holds a run to the laws, change by change: those of package law, which
// read the world as nova verify does; and beside them what only a simulator
// knows: the clients' ledger, the true times of deaths, what may still be written
// at the end.
type judge struct {
	law    *law.Judge
	deaths *deaths
	bodies immutable
	ledger *Ledger
	sim    *Sim
	ticks  *law.Ticks // while nothing but they may be written, or nil
	batch  []law.Change
}

func newJudge(s *Sim, l *Ledger) *judge {
	ck := func(o core.Obj, off, n int64) (uint32, bool) {
		b := s.W.Bucket(o.Store)
		if b == nil {
			return 0, false
		}
		x := b.Lookup(o.Key)
		if x == nil || off < 0 || n < 0 || off+n > x.Size() {
			return 0, false
		}
		return x.Body.CRC(off, n), true
	}
	j := &judge{law: law.NewJudge(&s.Dials, &s.Stores, ck), deaths: newDeaths(s.Stores), ledger: l, sim: s}
	j.law.Hear()
	return j
}

// Changed judges what has changed.
func (j *judge) Changed(s *Sim, op *core.Op, cs []world.Change) {
	j.law.Now(s.now)
	j.law.Clocks(s.clocks.Spread())
	j.batch = j.batch[:0]
	for i := range cs {
		c := lawful(&cs[i])
		j.law.Apply(c)
		j.deaths.changed(s, &cs[i])
		j.bodies.changed(s, &cs[i])
		if j.ticks != nil && !parting(&cs[i]) {
			j.batch = append(j.batch, c)
		}
	}
	if len(j.batch) > 0 {
		if bs := j.ticks.Changed(j.batch, s.now); len(bs) > 0 {
			s.Breach(LawDrains, "%s", bs[0])
		}
	}
	graces(s, s.lands, cs)
	j.ledger.changed(s, cs)
	j.check(s)
}

func (j *judge) check(s *Sim) {
	bs := j.law.Check()
	ev := j.law.Report().Evaluated
	for i, n := range ev {
		if l, ok := lawOf(i); ok {
			s.Count.Laws[l] = max(s.Count.Laws[l], int64(n))
		}
	}
	if len(bs) > 0 {
		l, _ := lawOf(bs[0].Law)
		s.Breach(l, "%s", bs[0])
	}
}

// Acked tells the laws what a client was told.
func (j *judge) Acked(s *Sim, c *Chunk) {
	if why := j.ledger.late(c); why != "" {
		s.Breach(LawAcked, "%s", why)
	}
	j.law.Apply(law.Change{Kind: law.Acknowledged, Ack: law.Ack{Stream: c.Stream, First: c.First, Count: c.Count, CRC: c.CRC}})
	j.check(s)
	j.ledger.onTheWay(s)
}

// Asked tells the laws what a client asks for, before it can come true.
func (j *judge) Asked(a law.Ask) { j.law.Apply(law.Change{Kind: law.Asked, Ask: a}) }

// Still begins, or ends, the time in which nothing but clocks may be written.
func (j *judge) Still(on bool) {
	if j.ticks = nil; on {
		j.ticks = law.NewTicks(Snapshot(j.sim.W), &j.sim.Dials)
	}
}

// lawOf names a law by its number.
func lawOf(n int) (Law, bool) {
	if n < len(byNumber) {
		return byNumber[n], true
	}
	return LawContract, false
}

var byNumber = [...]Law{LawContract, LawWatched, LawBytes, LawAcked, LawReader, LawCursors, LawImmutable, LawBudget, LawDrains, LawStrikes}

// parting reports whether a row goes that says no more than who is there: it goes
// with the session of whoever wrote it, however long that takes. Nobody comes any
// more, and no lease is taken where nothing is due.
func parting(c *world.Change) bool {
	if c.Kind != world.RowDel {
		return false
	}
	for _, p := range []string{"auditor/", "star/", "lease/"} {
		if strings.HasPrefix(c.Key, p) {
			return true
		}
	}
	return false
}

// lawful is a change as the laws see it.
func lawful(c *world.Change) law.Change {
	row := core.Row{Mark: core.Mark{Key: c.Key, Rev: c.Rev}, Val: c.Val}
	switch c.Kind {
	case world.RowPut:
		return law.Change{Kind: law.RowPut, Row: row}
	case world.RowDel:
		return law.Change{Kind: law.RowGone, Row: row}
	case world.ObjectPut:
		return law.Change{Kind: law.ObjectPut, Object: lawObject(c.Store, c.Object)}
	case world.ObjectDel:
		return law.Change{Kind: law.ObjectGone, Object: law.Object{Store: c.Store, Key: c.Key}}
	case world.UploadPut:
		return law.Change{Kind: law.UploadPut, Upload: law.Upload{Store: c.Store, Key: c.Key, ID: c.Upload.ID}}
	}
	return law.Change{Kind: law.UploadGone, Upload: law.Upload{Store: c.Store, Key: c.Key, ID: c.Upload.ID}}
}

// lawObject is an object as the laws see it: its size, its footer and trailer.
func lawObject(st core.Store, o *world.Object) law.Object {
	x := law.Object{Store: st, Key: o.Key, Size: o.Size()}
	if x.Size < format.TrailerSize {
		return x
	}
	t, err := format.ParseTail(o.Tail(format.TrailerSize), x.Size)
	if err != nil {
		x.Tail = o.Tail(format.TailRead)
		return x
	}
	x.Tail = o.Tail(t.Window.Len + format.TrailerSize)
	return x
}

// Snapshot is the world as nova verify sees one.
func Snapshot(w *world.World) *law.Snapshot {
	var sn law.Snapshot
	for i := range w.Meta.Len() {
		sn.Rows = append(sn.Rows, w.Meta.Row(i))
	}
	for _, b := range w.Buckets() {
		for i := range b.Len() {
			sn.Objects = append(sn.Objects, lawObject(b.Name, b.Object(i)))
		}
		for _, u := range b.Uploads() {
			sn.Uploads = append(sn.Uploads, law.Upload{Store: b.Name, Key: u.Key, ID: u.ID})
		}
	}
	return &sn
}
