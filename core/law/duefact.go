package law

import (
	"slices"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// readDue reads a marker, an intent, or a schedule row.
func (j *Judge) readDue(f *fact, on bool) {
	d, err := keys.ParseDue(f.row.Key)
	if !f.check(err) {
		return
	}
	if on {
		j.evaluated(1)
		if want := j.shardOf(&d); d.Shard != want {
			f.refuse(1, "it stands in a shard where no duty looks for it")
		}
	}
	j.marker(f, &d, on, false)
}

// readPark reads a parked marker: it watches what the marker watched.
func (j *Judge) readPark(f *fact, on bool) {
	q, key, err := keys.ParsePark(f.row.Key)
	if !f.check(err) {
		return
	}
	d, err := keys.ParseDue(key)
	if !f.check(err) {
		return
	}
	if d.Queue != q {
		f.refuse(0, "parked under another queue's name")
	}
	_, err = format.DecodeParked(f.row.Val)
	f.check(err)
	j.marker(f, &d, on, true)
}

func (j *Judge) shardOf(d *keys.Due) int {
	switch d.Queue {
	case keys.Settle, keys.TrimCheck, keys.Denorm:
		return keys.ShardOfChain(d.Star, d.Epoch, j.d.Shards)
	case keys.Teardown, keys.Retention:
		return keys.ShardOfStream(d.Stream, j.d.Shards)
	}
	return keys.ShardOfObject(d.Object, j.d.Shards)
}

// marker enters a marker with what it watches, or takes it back.
func (j *Judge) marker(f *fact, d *keys.Due, on, parked bool) {
	step := 1
	if !on {
		step = -1
	}
	switch d.Queue {
	case keys.Teardown, keys.Retention:
		s := j.stream(d.Stream)
		j.touchStream(s)
		if d.Queue == keys.Teardown {
			s.teardowns += step
		}
		m := f.readMarker(d, parked)
		if on {
			s.markers = append(s.markers, m)
			j.armed(s, &m)
		} else {
			s.markers = slices.DeleteFunc(s.markers, func(m marker) bool { return m.f == f })
		}
	case keys.Settle, keys.TrimCheck:
		c := j.chain(d.Star, d.Epoch)
		j.touchChain(c)
		if d.Queue == keys.Settle {
			c.settles += step
		} else {
			c.trimchecks += step
		}
		f.decode(d, parked)
	case keys.Denorm:
		j.batchRow(f, d, on, parked)
	default:
		j.objectRow(f, d, on, parked)
	}
}

// decode checks the value of a marker that no law reads further.
func (f *fact) decode(d *keys.Due, parked bool) {
	if parked {
		return
	}
	var err error
	switch d.Queue {
	case keys.TrimCheck:
		_, err = format.DecodeTrimMark(f.row.Val)
	default:
		_, err = format.DecodeSettleMark(f.row.Val)
	}
	f.check(err)
}

func (j *Judge) batchRow(f *fact, d *keys.Due, on, parked bool) {
	c := j.chain(d.Star, d.Epoch)
	j.touchChain(c)
	b := c.batch(d.Slot)
	c.untidy = c.untidy || !on
	switch {
	case parked:
		b.parks = remember(b.parks, f, on)
	case d.Sched:
		b.scheds = remember(b.scheds, f, on)
	default:
		j.batchDue(f, c, b, on)
	}
}

// batchDue enters a batch marker and what it owes, or takes it back.
func (j *Judge) batchDue(f *fact, c *chain, b *batch, on bool) {
	i := slices.IndexFunc(b.dues, func(x inventory) bool { return x.f == f })
	step := -1
	var x inventory
	if on {
		v, err := format.DecodeBatchMark(f.row.Val)
		x = inventory{f, v, !f.check(err)}
		i, _ = slices.BinarySearchFunc(b.dues, f.row.Key, func(x inventory, key string) int { return strings.Compare(x.f.row.Key, key) })
		b.dues = slices.Insert(b.dues, i, x)
		step = 1
	} else {
		x = b.dues[i]
		b.dues = slices.Delete(b.dues, i, i+1)
	}
	if x.blind {
		c.blinds += step
		for _, s := range c.slots {
			j.staleNamers(s)
		}
		return
	}
	for k := range x.v.Slots {
		s := c.slot(x.v.Slots[k].Slot)
		if s.owed += step; s.owed == 0 || s.owed == 1 {
			j.staleNamers(s)
		}
	}
}

// remember adds a row to those of a kind, or takes it away.
func remember(fs []*fact, f *fact, on bool) []*fact {
	if on {
		return append(fs, f)
	}
	return slices.DeleteFunc(fs, func(g *fact) bool { return g == f })
}

// objectRow reads the markers that name an object: reap, GC, orphan.
func (j *Judge) objectRow(f *fact, d *keys.Due, on, parked bool) {
	at, err := keys.ParseSettled(d.Object)
	if !f.check(err) {
		return
	}
	g := j.group(groupOf(at))
	j.touchGroup(g)
	m := mark{f: f, at: at}
	switch {
	case d.Queue == keys.Orphan && !parked && !d.Sched:
		g.intents = slices.DeleteFunc(g.intents, func(x intent) bool { return x.f == f })
		if on {
			g.intents = append(g.intents, j.intent(f, at))
		}
		return
	case d.Queue == keys.Orphan && d.Sched && !parked:
		g.scheds = slices.DeleteFunc(g.scheds, func(x mark) bool { return x.f == f })
		if on {
			g.scheds = append(g.scheds, m)
		}
		return
	case d.Queue == keys.Orphan:
		m.any, m.orphan = true, true
	case parked:
		m.any = true
	default:
		v, err := format.DecodeReapMark(f.row.Val)
		m.any = !f.check(err)
		m.store = j.home(v.Class)
	}
	if d.Queue != keys.Orphan && !at.HasInc {
		f.refuse(0, "it names no incarnation")
	}
	g.marks = slices.DeleteFunc(g.marks, func(x mark) bool { return x.f == f })
	if on {
		g.marks = append(g.marks, m)
	}
}

// intent reads a write intent, or a condemned one.
func (j *Judge) intent(f *fact, at keys.Settled) intent {
	v, err := format.DecodeIntent(f.row.Val)
	x := intent{mark: mark{f: f, at: at, store: v.Store}, blind: !f.check(err)}
	switch {
	case x.blind:
	case v.Class != core.Standard || v.Store != j.home(core.Standard):
		f.refuse(6, "it announces an output elsewhere than in standard storage")
	case v.Condemned != at.HasInc:
		f.refuse(0, "its key and its value disagree on whether it is condemned")
	case v.Condemned:
		if (keys.Incarnation{Generation: v.Generation, Created: v.Created}) != at.Inc {
			f.refuse(0, "its key and its value disagree on the incarnation")
		}
	case v.Shared:
		x.inc = keys.Incarnation{Generation: v.Generation, Created: v.Created}
	default:
		x.inc = keys.Incarnation{Generation: v.Generation, Created: f.row.Rev}
		x.young = v.Generation == 0 // the cluster's generation counts
	}
	return x
}

// home is where an object of a class lives that is no slot, or "" in a cluster
// that has no store for the class.
func (j *Judge) home(c core.Class) core.Store {
	if int(c) >= len(j.st.Of) || len(j.st.Of[c]) == 0 {
		return ""
	}
	return j.st.Home(c)
}
