package explore

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/core/keys"
	"nova/core/law"
	"nova/sim"
	"nova/sim/world"
)

// Breach is the first law that a search saw broken.
type Breach struct {
	Law  int
	What string
}

func (b *Breach) Error() string { return fmt.Sprintf("law %d: %s", b.Law, b.What) }

// raw is a world: what stands.
type raw struct {
	w      *world.World
	first  [keys.Queues]core.Ms // when the first marker of each queue is ripe
	due    []core.Ms            // every instant at which one is, in order, once
	live   []core.Obj           // objects that live refs name, sorted
	wrong  *Breach              // laws 0 to 3, 5 and 6
	rested bool                 // rest was judged
	rest   *Breach              // law 8, if nothing moves any more
}

// node is a world with as much of its history as law 4 needs: when what stands
// and is dead died.
type node struct {
	raw  uint32
	dead []death // sorted
}

// death is when the last live ref to an object went that still stands.
type death struct {
	at core.Obj
	ms core.Ms
}

// become is the node that another is once its world has become that: what no live
// ref names any more has died now.
func (x *tables) become(n, to uint32, now core.Ms) uint32 {
	old := x.nodes.all[n]
	if old.raw == to {
		return n
	}
	was, is := x.raws.all[old.raw], x.raws.all[to]
	var dead []death
	for _, d := range old.dead {
		if stands(is.w, d.at) && !is.names(d.at) {
			dead = append(dead, d)
		}
	}
	for _, at := range was.live {
		if stands(is.w, at) && !is.names(at) {
			dead = append(dead, death{at, now})
		}
	}
	slices.SortFunc(dead, func(a, b death) int { return byPlace(a.at, b.at) })
	return x.node(to, dead)
}

func (x *tables) node(r uint32, dead []death) uint32 {
	b := binary.AppendUvarint(x.buf[:0], uint64(r))
	for i := range dead {
		b = append(append(b, dead[i].at.Store...), 0)
		b = append(append(b, dead[i].at.Key...), 0)
		b = binary.AppendVarint(b, int64(dead[i].ms))
	}
	x.buf = b
	id := x.nodes.id(b, func() *node {
		n := &node{raw: r, dead: dead}
		x.lookAtNode(n)
		return n
	})
	if id >= 1<<bitsNode-1 {
		panic("explore: too many worlds")
	}
	return id
}

// raw numbers a world and judges it.
func (x *tables) raw(w *world.World) uint32 {
	x.buf = w.Append(x.buf[:0])
	return x.raws.id(x.buf, func() *raw {
		r := &raw{w: w}
		r.first, r.due = due(w, &x.of.Dials)
		slices.Sort(r.due)
		r.due = slices.Compact(r.due)
		x.judge(r)
		return r
	})
}

// judge holds a world to the laws that one look can tell.
func (x *tables) judge(r *raw) {
	before := x.follower.judge.Report().Evaluated
	if bs := x.follower.check(r.w); len(bs) > 0 {
		r.wrong = &Breach{bs[0].Law, bs[0].String()}
		if x.found == nil {
			x.found = r.wrong
		}
	}
	for l, n := range x.follower.judge.Report().Evaluated {
		if l != 4 && l != 5 { // of changes: see judgeChange
			x.judged[l] += int64(n - before[l])
		}
	}
	for _, b := range r.w.Buckets() {
		for i := range b.Len() {
			at := core.Obj{Store: b.Name, Key: b.Object(i).Key}
			if x.follower.judge.Live(at) {
				r.live = append(r.live, at)
			}
		}
	}
	slices.SortFunc(r.live, byPlace)
}

// judgeChange holds one write to the laws that speak of changes: 4, 5 and 6.
func (x *tables) judgeChange(was *raw, old *node, c *world.Change, now core.Ms) {
	switch c.Kind {
	case world.RowPut, world.RowDel:
		prev, _ := was.w.Meta.Lookup(c.Key)
		next := core.Row{Mark: core.Mark{Key: c.Key}}
		if c.Kind == world.RowPut {
			next = core.Row{Mark: core.Mark{Key: c.Key, Rev: c.Rev}, Val: c.Val}
		}
		if bs := law.Monotone(prev, next); len(bs) > 0 {
			x.breach(bs[0].Law, "%s", bs[0])
		}
		x.judged[5]++
	case world.ObjectDel:
		x.judged[4]++
		at := core.Obj{Store: c.Store, Key: c.Key}
		if was.names(at) {
			x.breach(4, "%s:%s was deleted while a live ref named it", at.Store, at.Key)
			return
		}
		for _, d := range old.dead {
			if d.at == at && law.TooEarly(d.ms, now, x.of.Dials.ReadGrace, x.of.spread()) {
				x.breach(4, "%s:%s was deleted %d ms after its last death", at.Store, at.Key, now-d.ms)
			}
		}
	case world.ObjectPut:
		x.judged[6]++
	}
}

// judgeRest holds a world in which nothing moves any more to law 8.
func (x *tables) judgeRest(n uint32) {
	r := x.raws.all[x.nodes.all[n].raw]
	if !r.rested {
		r.rested = true
		for _, b := range law.AtRest(sim.Snapshot(r.w)) {
			if !x.of.standing(b.Key) {
				r.rest = &Breach{8, b.String()}
				break
			}
		}
	}
	x.judged[8]++
	if r.rest != nil && x.found == nil {
		x.found = r.rest
	}
}

// spread is the most that two actors' clocks are apart.
func (w *World) spread() core.Ms {
	var c law.Clocks
	for i := range w.Actors {
		c.Run(w.Actors[i].Skew, &w.Dials)
	}
	return c.Spread()
}

func (r *raw) names(at core.Obj) bool {
	_, ok := slices.BinarySearchFunc(r.live, at, byPlace)
	return ok
}

func stands(w *world.World, at core.Obj) bool { return w.Bucket(at.Store).Lookup(at.Key) != nil }

func byPlace(a, b core.Obj) int {
	if a.Store != b.Store {
		return strings.Compare(string(a.Store), string(b.Store))
	}
	return strings.Compare(a.Key, b.Key)
}
