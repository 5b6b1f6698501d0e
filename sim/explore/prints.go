package explore

import (
	"slices"
	"strings"

	"nova/core"
	"nova/core/keys"
	"nova/sim/world"
)

// prints are the footprints of a world's actors: who writes which row, object and
// upload. A read of what nobody else writes commutes with everything that the
// others do, whenever they do it.
//
// Which footprints there are is known only once the world was searched, so a
// search runs under a guess, which is what was seen so far, and begins again where
// it sees more and had already relied on there being no more. Where it had not, the
// guess grows and the search goes on: it is the search that it would have been
// under the greater guess. The last search relied on nothing that it saw to be
// otherwise, and is sound: take any run of the whole world up to its first write
// outside of the guess; until then everything that was taken to commute did, so the
// search met an equal run, with that write next, and would have seen it.
//
// Places are named coarsely where their keys carry times and incarnations (a whole
// queue, the rows of a stream, a derived key), so that a guess is soon complete.
type prints struct {
	seen map[string]uint8 // by place: a bit for each actor that writes it
	keys []string         // of seen, sorted
	far  string           // time, as keys carry it, that no marker of this world is dated beyond
}

const (
	nobody    uint8 = 1 << 7 // the actor that ends sessions
	everybody uint8 = 1<<8 - 1
)

func newPrints(horizon core.Ms) *prints {
	_, far := keys.RipeRange(keys.Reap, 0, horizon)
	return &prints{seen: map[string]uint8{}, far: far[strings.LastIndexByte(far, '/')+1:]}
}

// add notes that actors write a place, and reports whether that is new.
func (p *prints) add(place string, actors uint8) bool {
	was, known := p.seen[place]
	if known && was|actors == was {
		return false
	}
	if !known {
		i, _ := slices.BinarySearch(p.keys, place)
		p.keys = slices.Insert(p.keys, i, place)
	}
	p.seen[place] = was | actors
	return true
}

// writers is who writes what a read reads.
func (p *prints) writers(op *core.Op) uint8 {
	switch at := string(op.Store) + ":" + op.Key; op.Kind {
	case core.KGet:
		return p.seen[p.row(op.Key)]
	case core.KScan:
		return p.seen[p.row(op.Key)] | p.among("row "+op.Key, "row "+op.End)
	case core.KStat, core.KReadRange, core.KReadTail, core.KFetch:
		return p.seen[object(at)]
	case core.KListUploads:
		return p.seen["upload of "+object(at)]
	case core.KList:
		return p.among("object "+at, "object "+at+"\xff")
	}
	return 0
}

// among is who writes places between two, where places are keys.
func (p *prints) among(from, end string) (actors uint8) {
	i, _ := slices.BinarySearch(p.keys, from)
	for ; i < len(p.keys) && p.keys[i] < end; i++ {
		actors |= p.seen[p.keys[i]]
	}
	return actors
}

// row is the place of a metastore key: of a marker its queue, of a ref its
// stream, of who is registered all of them.
func (p *prints) row(key string) string {
	part := strings.SplitN(key, "/", 4)
	switch part[0] {
	case "due", "sched", "park":
		if len(part) == 4 && part[3] >= p.far && part[0] != "park" && part[1] != "denorm" && part[1] != "orphan" && part[1] != "gc" {
			return "far " + part[1]
		}
		return "queue " + part[0] + "/" + part[1]
	case "ref":
		return "refs of " + part[1]
	case "auditor", "star", "gone", "name":
		return "all " + part[0]
	}
	return "row " + key
}

// object is the place of an object: of a settled one its derived key.
func object(at string) string {
	at, _, _ = strings.Cut(at, "@")
	return "object " + at
}

// place is what a change changes.
func (p *prints) place(c *world.Change) string {
	switch at := string(c.Store) + ":" + c.Key; c.Kind {
	case world.RowPut, world.RowDel:
		return p.row(c.Key)
	case world.ObjectPut, world.ObjectDel:
		return object(at)
	default:
		return "upload of " + object(at)
	}
}
