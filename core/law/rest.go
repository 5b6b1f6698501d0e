package law

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Quiet judges the first part of law 8: once faults have stopped and the duties
// have run until now, no marker is left that was due.
func Quiet(s *Snapshot, now core.Ms, d *core.Dials) (bad []Breach) {
	for i := range s.Rows {
		r := &s.Rows[i]
		if !strings.HasPrefix(r.Key, "due/") && !strings.HasPrefix(r.Key, "sched/") {
			continue
		}
		due, err := keys.ParseDue(r.Key)
		if err != nil {
			continue
		}
		ripe := due.At <= now
		switch {
		case due.Queue.Scheduled() && !due.Sched:
			continue // its schedule row says when
		case due.Queue == keys.Orphan:
			ripe = due.At <= now-d.OrphanGrace
		case due.Queue == keys.GC:
			m, err := format.DecodeReapMark(r.Val)
			ripe = err != nil || m.NotBefore <= now
		}
		if ripe {
			bad = append(bad, Breach{8, r.Key, fmt.Sprintf("it was due by %d, and still stands", now)})
		}
	}
	return sorted(bad)
}

// AtRest judges the second part of law 8: once nothing is due any more, however
// far time moves on, no marker is left but the clocks that the specification
// names (one retention marker of each live stream with an age policy, one settle
// marker of each live star's newest epochs), no unfinished upload, no slot, no
// tombstone, no row that served a stream which lives no more, no epoch that should
// have been settled, and no settled object but those that a row names. What is
// parked is reported as well.
func AtRest(s *Snapshot) (bad []Breach) {
	r := readRest(s)
	refuse := func(key, what string) { bad = append(bad, Breach{8, key, what}) }
	clocks := map[string]int{}
	for i := range s.Rows {
		key := s.Rows[i].Key
		switch head, _, _ := strings.Cut(key, "/"); head {
		case "park":
			refuse(key, "a parked marker is left")
		case "due", "sched":
			if clock := r.clock(key); clock == "" {
				refuse(key, "a marker is left")
			} else if clocks[clock]++; clocks[clock] > 1 {
				refuse(key, "another clock ticks for the same thing")
			}
		case "gone":
			if x, err := format.DecodeGone(s.Rows[i].Val); err == nil && x.Phase != format.GoneDone {
				refuse(key, "a decommission is not finished")
			}
		case "mint":
			if star, _, err := keys.ParseMint(key); err == nil && r.gone[star] {
				refuse(key, "the star is decommissioned, and a row of it stands")
			}
		case "star":
			if star, err := keys.ParseStar(key); err == nil && r.gone[star] {
				refuse(key, "the star is decommissioned, and a row of it stands")
			}
		case "stream":
			if x, err := format.DecodeStream(s.Rows[i].Val); err == nil && x.Deleted {
				refuse(key, "a tombstone is left")
			}
		case "trim", "writer", "producer", "name":
			if id, ok := leadsTo(head, &s.Rows[i]); ok && !r.alive[id] {
				refuse(key, "a row is left of a stream that does not live")
			}
		case "chain":
			star, epoch, part, err := keys.ParseChain(key)
			if h, bad := format.DecodeChainHead(s.Rows[i].Val); err == nil && part == keys.PartHead && bad == nil &&
				h.State != format.ChainSettled && !r.newest[chainID{star, epoch}] {
				refuse(key, "nobody writes to the epoch, and it is not settled")
			}
		}
	}
	for i := range s.Uploads {
		refuse(uploadName(s.Uploads[i]), "an unfinished upload is left")
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		at, err := keys.ParseSettled(o.Key)
		switch {
		case err != nil:
			refuse(name(core.Obj{Store: o.Store, Key: o.Key}), "an object is left that is no settled one")
		case !r.named[lifeID{settled: true, stream: at.Stream, epoch: at.Epoch, n: at.First, rev: at.Revision, inc: at.Inc}]:
			refuse(name(core.Obj{Store: o.Store, Key: o.Key}), "an object is left that no row names")
		}
	}
	return sorted(bad)
}

// rest is what AtRest needs to know of the rows.
type rest struct {
	gone   map[string]bool  // stars that are decommissioned
	alive  map[uint64]bool  // live streams
	aged   map[uint64]bool  // of them, those with an age policy
	newest map[chainID]bool // the newest epochs of stars that are alive
	named  map[lifeID]bool  // settled objects of which rows name something live
}

func readRest(s *Snapshot) rest {
	r := rest{gone: map[string]bool{}, alive: map[uint64]bool{}, aged: map[uint64]bool{}, newest: map[chainID]bool{}, named: map[lifeID]bool{}}
	alive := map[string]bool{}
	for i := range s.Rows { // "mint" comes before "star" in the order of keys
		if strings.HasPrefix(s.Rows[i].Key, "star/") {
			if star, err := keys.ParseStar(s.Rows[i].Key); err == nil {
				alive[star] = true
			}
		}
	}
	for i := range s.Rows {
		row := &s.Rows[i]
		switch head, _, _ := strings.Cut(row.Key, "/"); head {
		case "gone":
			if star, err := keys.ParseGone(row.Key); err == nil {
				x, err := format.DecodeGone(row.Val)
				r.gone[star] = err == nil && x.Phase == format.GoneDone
			}
		case "stream":
			if id, err := keys.ParseStream(row.Key); err == nil {
				x, err := format.DecodeStream(row.Val)
				r.alive[id] = err == nil && !x.Deleted
				r.aged[id] = r.alive[id] && x.MaxAge > 0
			}
		case "mint":
			if star, _, err := keys.ParseMint(row.Key); err == nil && alive[star] {
				if epoch, err := format.DecodeNumber(row.Val); err == nil {
					r.newest[chainID{star, epoch}] = true
				}
			}
		case "ref":
			if id, _, err := keys.ParseRef(row.Key); err == nil {
				x, _ := format.DecodeRow(row.Val)
				for k := range x.Entries {
					if e := &x.Entries[k]; holds(e) {
						r.named[entryLife(id, e)] = true
					}
				}
			}
		}
	}
	return r
}

// leadsTo is the stream that a row served live, by its kind.
func leadsTo(head string, row *core.Row) (id uint64, ok bool) {
	var err error
	switch head {
	case "trim":
		id, err = keys.ParseTrim(row.Key)
	case "writer":
		id, err = keys.ParseWriter(row.Key)
	case "producer":
		id, err = keys.ParseProducer(row.Key)
	default:
		id, err = format.DecodeNumber(row.Val)
	}
	return id, err == nil
}

// clock names the thing that a marker is the clock of, or "" where it is none.
func (r *rest) clock(key string) string {
	d, err := keys.ParseDue(key)
	if err != nil {
		return ""
	}
	d.At = 0
	switch {
	case d.Queue == keys.Retention && r.aged[d.Stream]:
		return d.Key()
	case d.Queue == keys.Settle && r.newest[chainID{d.Star, d.Epoch}]:
		return d.Key()
	}
	return ""
}

// Fixed judges the last part of law 8 on two snapshots that lie many passes
// apart, taken at rest: nothing has been written between them, not even the same
// value again, but leases, and the clocks that AtRest allows.
func Fixed(prev, next *Snapshot) (bad []Breach) {
	r := readRest(next)
	was := map[string]core.Row{}
	for i := range prev.Rows {
		if k := r.fixed(prev.Rows[i].Key); k != "" {
			was[k] = prev.Rows[i]
		}
	}
	refuse := func(key, what string) { bad = append(bad, Breach{8, key, what}) }
	for i := range next.Rows {
		row := &next.Rows[i]
		k := r.fixed(row.Key)
		if k == "" {
			continue
		}
		switch old, ok := was[k]; {
		case !ok:
			refuse(row.Key, "it was written at rest")
		case k == row.Key && (old.Rev != row.Rev || old.Val != row.Val):
			refuse(row.Key, "it was written again at rest")
		}
		delete(was, k)
	}
	for _, old := range was {
		refuse(old.Key, "it was deleted at rest")
	}
	bad = append(bad, diff("an object", objectSet(prev), objectSet(next))...)
	bad = append(bad, diff("an upload", uploadSet(prev), uploadSet(next))...)
	return sorted(bad)
}

// fixed is the key under which a row must be the same, "" where it may change.
func (r *rest) fixed(key string) string {
	for _, p := range [...]string{"lease/", "star/", "auditor/"} {
		if strings.HasPrefix(key, p) {
			return ""
		}
	}
	if c := r.clock(key); c != "" {
		return "clock of " + c
	}
	return key
}

func objectSet(s *Snapshot) map[string]Object {
	m := make(map[string]Object, len(s.Objects))
	for _, o := range s.Objects {
		m[name(core.Obj{Store: o.Store, Key: o.Key})] = o
	}
	return m
}

func uploadSet(s *Snapshot) map[string]Upload {
	m := make(map[string]Upload, len(s.Uploads))
	for _, u := range s.Uploads {
		m[uploadName(u)] = u
	}
	return m
}

func diff[T comparable](what string, was, is map[string]T) (bad []Breach) {
	for k, v := range is {
		if old, ok := was[k]; !ok || old != v {
			bad = append(bad, Breach{8, k, what + " was written at rest"})
		}
	}
	for k := range was {
		if _, ok := is[k]; !ok {
			bad = append(bad, Breach{8, k, what + " went at rest"})
		}
	}
	return bad
}
