package sim

import (
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/sim/world"
)

// deaths follows which objects the refs of live streams name, and since when no
// ref has named those that one did: law 4 at each deletion. It reads the rows,
// and nothing that a duty wrote down about them.
type deaths struct {
	stores core.Stores
	bucket map[uint64]string     // of each stream that ever stood
	dead   map[uint64]bool       // streams that have been deleted
	rows   map[string][]core.Obj // what each ref row of a live stream names
	of     map[uint64][]string   // the ref rows of each stream, in the order in which they came
	names  map[core.Obj]int      // refs that name it
	died   map[core.Obj]core.Ms  // when the last of them went
}

func newDeaths(st core.Stores) *deaths {
	return &deaths{st, map[uint64]string{}, map[uint64]bool{}, map[string][]core.Obj{}, map[uint64][]string{}, map[core.Obj]int{}, map[core.Obj]core.Ms{}}
}

// changed follows one change. Objects may be deleted only while no ref names
// them, and no earlier than the read grace, less what the clocks of this run
// are apart, after the last one did.
func (d *deaths) changed(s *Sim, c *world.Change) {
	switch c.Kind {
	case world.RowPut, world.RowDel:
		if strings.HasPrefix(c.Key, "ref/") {
			d.ref(s, c)
		} else if strings.HasPrefix(c.Key, "stream/") && c.Kind == world.RowPut {
			d.stream(s, c)
		}
	case world.ObjectDel:
		o := core.Obj{Store: c.Store, Key: c.Key}
		s.Count.Laws[LawReader]++
		if n := d.names[o]; n > 0 {
			s.Breach(LawReader, "%s/%s was deleted, and %d refs of live streams name it", c.Store, c.Key, n)
			return
		}
		if at, ok := d.died[o]; ok && law.TooEarly(at, s.now, s.Dials.ReadGrace, s.clocks.Spread()) {
			s.Breach(LawReader, "%s/%s was deleted %d ms after the last ref of it went: a reader may hold a plan for it; the read grace is %d ms, and the clocks are %d ms apart",
				c.Store, c.Key, s.now-at, s.Dials.ReadGrace, s.clocks.Spread())
		}
		delete(d.died, o)
	}
}

// stream learns a stream's bucket, and when it is deleted: then its refs name
// nothing any more.
func (d *deaths) stream(s *Sim, c *world.Change) {
	id, err := keys.ParseStream(c.Key)
	st, err2 := format.DecodeStream(c.Val)
	if err != nil || err2 != nil {
		return
	}
	d.bucket[id] = st.Bucket
	if !st.Deleted || d.dead[id] {
		return
	}
	d.dead[id] = true
	for _, key := range d.of[id] {
		d.drop(s, d.rows[key])
		delete(d.rows, key)
	}
	delete(d.of, id)
}

func (d *deaths) ref(s *Sim, c *world.Change) {
	id, _, err := keys.ParseRef(c.Key)
	if err != nil || d.dead[id] {
		return
	}
	old := d.rows[c.Key]
	var now []core.Obj
	if c.Kind == world.RowPut {
		now = d.named(id, c.Val)
	}
	for _, o := range now {
		d.names[o]++
	}
	d.drop(s, old)
	_, stood := d.rows[c.Key]
	switch {
	case c.Kind == world.RowPut && !stood:
		d.of[id] = append(d.of[id], c.Key)
	case c.Kind == world.RowDel && stood:
		for i, k := range d.of[id] {
			if k == c.Key {
				d.of[id] = append(d.of[id][:i], d.of[id][i+1:]...)
				break
			}
		}
	}
	if c.Kind == world.RowPut {
		d.rows[c.Key] = now
	} else {
		delete(d.rows, c.Key)
	}
}

func (d *deaths) drop(s *Sim, objs []core.Obj) {
	for _, o := range objs {
		if d.names[o]--; d.names[o] == 0 {
			delete(d.names, o)
			d.died[o] = s.now
		}
	}
}

// named is what a row of a stream names: one for each entry and each replica.
func (d *deaths) named(id uint64, val string) (objs []core.Obj) {
	row, err := format.DecodeRow(val)
	if err != nil {
		return nil
	}
	for i := range row.Spans {
		for _, st := range row.Stores {
			objs = append(objs, core.Obj{Store: st, Key: keys.Slot(row.Star, row.Epoch, row.Spans[i].Slot)})
		}
	}
	for i := range row.Entries {
		if e := &row.Entries[i]; !e.Lost && e.LiveFrom < e.End() {
			objs = append(objs, entryObj(&d.stores, d.bucket[id], id, e))
		}
	}
	return objs
}

// entryObj is the object that a catalog entry names.
func entryObj(st *core.Stores, bucket string, id uint64, e *format.Entry) core.Obj {
	k := keys.Settled{Bucket: bucket, Stream: id, Epoch: e.Epoch, First: e.First, Revision: e.Revision,
		Inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}, HasInc: true}
	return core.Obj{Store: st.Home(e.Class), Key: k.Key()}
}
