package story

import (
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Thing is an object, or a row, whose life is told.
type Thing struct {
	Key string // of an object without its store

	slot, settled bool
	star          string
	epoch, at     uint64
	is            keys.Settled
	stream        uint64
	row           bool
}

// NewThing knows a thing by its key.
func NewThing(key string) Thing {
	t := Thing{Key: key}
	if star, epoch, at, err := keys.ParseSlot(key); err == nil {
		t.slot, t.star, t.epoch, t.at = true, star, epoch, at
		return t
	}
	if s, err := keys.ParseSettled(key); err == nil {
		t.settled, t.is, t.stream = true, s, s.Stream
		return t
	}
	t.row = true
	if star, epoch, _, err := keys.ParseChain(key); err == nil {
		t.star, t.epoch = star, epoch
	}
	if id, _, err := keys.ParseRef(key); err == nil {
		t.stream = id
	}
	for _, parse := range []func(string) (uint64, error){keys.ParseStream, keys.ParseWriter, keys.ParseTrim, keys.ParseStreamLease} {
		if id, err := parse(key); err == nil {
			t.stream = id
		}
	}
	if d, err := keys.ParseDue(key); err == nil {
		t.star, t.epoch, t.stream = d.Star, d.Epoch, d.Stream
	}
	return t
}

// Rel is how a row stands to a thing.
type Rel uint8

const (
	None    Rel = iota
	Near        // it decides about the thing: a descriptor, a cursor, a lease
	Watches     // a marker or an intent that will bring a duty to it
	Names       // a ref
	Itself
)

// Row says how a row stands to the thing, and what it is.
func (t *Thing) Row(key, val string) (Rel, string) {
	if key == t.Key {
		return Itself, "the row"
	}
	switch head, _, _ := strings.Cut(key, "/"); head {
	case "ref":
		id, _, err := keys.ParseRef(key)
		if err != nil || t.settled && id != t.stream {
			return None, ""
		}
		if t.names(id, val) {
			return Names, "ref"
		}
		if t.row && id == t.stream && t.stream != 0 {
			return Near, "ref"
		}
	case "due", "sched", "park":
		return t.due(strings.TrimPrefix(key, "park/"))
	case "chain":
		if star, epoch, part, err := keys.ParseChain(key); err == nil && t.star != "" && star == t.star && epoch == t.epoch {
			return Near, "chain " + part
		}
	case "stream", "writer", "trim", "lease":
		if t.stream != 0 {
			for _, k := range []string{keys.Stream(t.stream), keys.Writer(t.stream), keys.Trim(t.stream), keys.StreamLease(t.stream)} {
				if k == key {
					return Near, head
				}
			}
		}
		if t.star != "" && (key == keys.SettleClaim(t.star, t.epoch) || key == keys.ChainLease(t.star, t.epoch)) {
			return Near, head
		}
	}
	return None, ""
}

// due says whether a marker brings a duty to the thing.
func (t *Thing) due(key string) (Rel, string) {
	d, err := keys.ParseDue(key)
	if err != nil {
		if _, rest, ok := strings.Cut(key, "/"); ok { // a parked marker: its queue comes first
			d, err = keys.ParseDue(rest)
		}
	}
	if err != nil {
		return None, ""
	}
	switch {
	case t.settled && d.Object != "":
		if d.Object == t.Key || d.Object == t.is.Derived().Key() {
			return Watches, d.Queue.String()
		}
	case t.slot && d.Object == "" && d.Star == t.star && d.Star != "" && d.Epoch == t.epoch:
		if d.Queue == keys.Denorm && d.Slot > t.at {
			return None, ""
		}
		return Watches, d.Queue.String()
	case t.stream != 0 && d.Object == "" && d.Stream == t.stream && d.Star == "":
		return Near, d.Queue.String()
	case t.row && t.star != "" && d.Star == t.star && d.Epoch == t.epoch:
		return Near, d.Queue.String()
	}
	return None, ""
}

// names reports whether a ref row of a stream names the object.
func (t *Thing) names(id uint64, val string) bool {
	if t.row || val == "" {
		return false
	}
	row, err := format.DecodeRow(val)
	if err != nil {
		return false
	}
	if t.slot && row.Star == t.star && row.Epoch == t.epoch {
		for i := range row.Spans {
			if row.Spans[i].Slot == t.at {
				return true
			}
		}
	}
	for i := range row.Entries {
		e := &row.Entries[i]
		if t.settled && id == t.is.Stream && e.Epoch == t.is.Epoch && e.First == t.is.First && e.Revision == t.is.Revision && e.LiveFrom < e.End() &&
			(!t.is.HasInc || e.Generation == t.is.Inc.Generation && e.Created == t.is.Inc.Created) {
			return true
		}
	}
	return false
}

// Read reports whether an operation reads something that decides about the thing.
func (t *Thing) Read(op *core.Op) bool {
	switch op.Kind {
	case core.KGet:
		rel, _ := t.Row(op.Key, "")
		return rel != None || t.stream != 0 && strings.HasPrefix(op.Key, "ref/") && strings.Contains(op.Key, keys.Stream(t.stream)[len("stream/"):])
	case core.KScan:
		if t.stream != 0 && strings.HasPrefix(op.Key, "ref/") && strings.HasPrefix(op.Key[4:], keys.Stream(t.stream)[len("stream/"):]) {
			return true
		}
		return t.row && op.Key <= t.Key && t.Key < op.End || t.star != "" && (strings.Contains(op.Key, t.star+"~") || strings.HasPrefix(op.Key, keys.ChainPrefix(t.star, t.epoch)))
	case core.KReadTail, core.KReadRange, core.KStat, core.KList, core.KListUploads:
		return op.Key == t.Key || t.settled && op.Key == t.is.Derived().Key()
	}
	return false
}
