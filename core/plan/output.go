package plan

import (
	"errors"
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// ErrContradiction is wrapped where records that must agree do not: a row and
// its key, a claim and its source's footer, an output and its inputs. Trying
// again does not help.
var ErrContradiction = errors.New("records contradict each other")

// Held is a row of a stream as it was read, decoded once.
type Held struct {
	core.Mark
	format.Row
}

// Hold decodes a row of a stream and checks it against its key.
func Hold(r core.Row) (Held, error) {
	id, last, err := keys.ParseRef(r.Key)
	if err != nil {
		return Held{}, err
	}
	row, err := format.DecodeRow(r.Val)
	if err != nil {
		return Held{}, fmt.Errorf("row %s: %w", r.Key, err)
	}
	if row.End != last+1 {
		return Held{}, fmt.Errorf("row %s ends before %d: %w", r.Key, row.End, ErrContradiction)
	}
	for i := range row.Spans {
		if got := row.Spans[i].Chunk.Stream; got != id {
			return Held{}, fmt.Errorf("row %s holds a span of stream %d: %w", r.Key, got, ErrContradiction)
		}
	}
	return Held{Mark: r.Mark, Row: row}, nil
}

// Source is an object that an output takes chunks from.
type Source struct {
	At     []core.Obj // where it stands: replicas, the nearest first
	Footer format.Window
	Known  format.Footer // its footer, where the caller has read it already
}

// Claim is one chunk as a span row has it.
type Claim struct {
	Source int // index into the output's sources; -1: below the floor, not copied
	Row    int // index of the row that claims it
	Chunk  format.Chunk
}

// Output is one settled object to be: what it covers, where its bytes come from,
// and which records its commit replaces. It is derived from what was read and
// holds nothing that a second derivation would not find again.
//
// Three policies make one: settling (Rows), the tail-fill (Rows behind the last
// entry of Before) and GC (an entry of Before alone).
type Output struct {
	Key    keys.Settled // the derived key: no incarnation
	Class  core.Class   // of the output: standard
	Home   core.Store   // where it goes, unless its intent names another store
	Stream core.Mark    // the stream's descriptor, as it was read
	Floor  uint64       // chunks that end at or below it are dead and not copied
	Before Held         // the catalog row before the window, or of the entry; Rev 0: none
	Revise bool         // the output replaces entry Index of Before: its object is source 0
	Index  int
	Rows   []Held // the span rows that it covers, ascending and touching

	Sources []Source
	Claims  []Claim // the rows' chunks, in order
}

// Base is the entry that the output replaces; only with Revise.
func (o *Output) Base() *format.Entry { return &o.Before.Entries[o.Index] }

// BaseKey is the object that the output supersedes; only with Revise.
func (o *Output) BaseKey() keys.Settled { return ObjectOf(o.Key.Bucket, o.Key.Stream, o.Base()) }

// Bytes is how many bytes of spans the output copies.
func (o *Output) Bytes() (n int64) {
	for i := range o.Claims {
		if o.Claims[i].Source >= 0 {
			n += o.Claims[i].Chunk.Len
		}
	}
	return n
}

// Spans is how many spans the output's rows hold, the dead ones included.
func (o *Output) Spans() int { return len(o.Claims) }

// ObjectOf is the address of the object that a catalog entry names.
func ObjectOf(bucket string, stream uint64, e *format.Entry) keys.Settled {
	return keys.Settled{
		Bucket: bucket, Stream: stream, Epoch: e.Epoch, First: e.First, Revision: e.Revision,
		Inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}, HasInc: true,
	}
}

// Durable is what a publish left standing: its own object, or the winner's.
type Durable struct {
	Obj      core.Obj
	Key      keys.Settled // with its incarnation
	Intent   core.Mark    // as it was last seen; the commit compares it
	Birth    core.Ms      // of the intent
	Footer   format.Footer
	Window   format.Window // of the footer
	Size     int64         // of the object
	Rows     int           // how many of the output's rows it covers, from the first
	LiveFrom uint64        // where what is live of it begins
}

// Entry is the catalog entry that names a durable object.
func (o *Output) Entry(d *Durable) format.Entry {
	e := format.Entry{
		Epoch: o.Key.Epoch, First: o.Key.First, LiveFrom: d.LiveFrom, Revision: o.Key.Revision,
		Generation: d.Key.Inc.Generation, Created: d.Key.Inc.Created, Class: o.Class,
		Footer: d.Window, Bytes: d.Size,
	}
	n := d.Footer.Len()
	for i := range n {
		c := d.Footer.At(i)
		if i == 0 || c.Oldest < e.Oldest {
			e.Oldest = c.Oldest
		}
		if i == 0 || c.Newest > e.Newest {
			e.Newest = c.Newest
		}
		if i == n-1 {
			e.Count = c.End() - e.First
		}
	}
	return e
}
