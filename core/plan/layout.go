package plan

import (
	"errors"
	"fmt"

	"nova/core"
	"nova/core/format"
)

// Read is what was found out about one source: its footer, and the replica that
// it was read from.
type Read struct {
	Footer  format.Footer
	Replica int
}

// Layout is an output's bytes: every chunk that could be in it, those that are
// copied, and the tail.
type Layout struct {
	All   []format.Chunk // of the replaced object and the rows, in order; offsets in their sources
	Drop  int            // the first Drop are dead and are not copied
	Base  int            // the first Base are of the replaced object
	Ends  []int          // for each row, the index in All after its last chunk
	Body  []Stretch      // the copied chunks, then footer and trailer
	Foot  format.Footer  // of the object to be
	Where format.Window  // of Foot
	Size  int64          // of the object to be
}

// Live is where what is live of the output begins.
func (l *Layout) Live() uint64 { return l.All[l.Drop].First }

// ErrEmpty is wrapped by Lay's error where no chunk outlives the watermark.
var ErrEmpty = errors.New("nothing outlives the watermark")

// Lay plans the bytes of an output that goes to a store from its sources'
// footers, and checks first that what the rows claim is what the footers say.
func Lay(o *Output, to core.Store, reads []Read) (Layout, error) {
	l, from, err := gather(o, reads)
	if err != nil {
		return Layout{}, err
	}
	for l.Drop < len(l.All) && l.All[l.Drop].End() <= o.Floor {
		l.Drop++
	}
	if l.Drop == len(l.All) {
		return Layout{}, fmt.Errorf("lay out %s: %w", o.Key.Key(), ErrEmpty)
	}
	kept := make([]format.Chunk, 0, len(l.All)-l.Drop)
	l.Body = make([]Stretch, 0, len(l.All)-l.Drop+1)
	for i := l.Drop; i < len(l.All); i++ {
		c := l.All[i]
		l.Body = append(l.Body, stretch(to, &o.Sources[from[i]], reads[from[i]].Replica, &c))
		c.Off = l.Size
		l.Size += c.Len
		kept = append(kept, c)
	}
	tail, w := format.Finish(format.SettledObject, l.Size, kept)
	l.Body = append(l.Body, Stretch{Piece: core.Piece{Kind: core.Literal, Bytes: tail}})
	l.Foot, l.Where = format.Footer(tail[:w.Len]), w
	l.Size += int64(len(tail))
	if err := Conserve(o, reads, len(o.Rows), l.Foot, w); err != nil {
		return Layout{}, err
	}
	return l, nil
}

// gather lists the output's candidates and the source of each (-1: not copied).
func gather(o *Output, reads []Read) (l Layout, from []int, err error) {
	if len(reads) != len(o.Sources) {
		return l, nil, fmt.Errorf("lay out %s: %d footers of %d sources: %w", o.Key.Key(), len(reads), len(o.Sources), ErrContradiction)
	}
	if o.Revise {
		l.All = reads[0].Footer.Chunks()
		l.Base = len(l.All)
		from = make([]int, l.Base, l.Base+len(o.Claims))
		if err := baseSound(o, l.All); err != nil {
			return l, nil, err
		}
	}
	l.Ends = make([]int, len(o.Rows))
	for i := range o.Claims {
		c := &o.Claims[i]
		if c.Source >= 0 && !has(reads[c.Source].Footer, &c.Chunk) {
			return l, nil, fmt.Errorf("lay out %s: row %s claims records %d to %d of a slot whose footer does not have them: %w",
				o.Key.Key(), o.Rows[c.Row].Key, c.Chunk.First, c.Chunk.End(), ErrContradiction)
		}
		l.All, from = append(l.All, c.Chunk), append(from, c.Source)
		l.Ends[c.Row] = len(l.All)
	}
	for i := 1; i < len(l.All); i++ {
		if l.All[i].First != l.All[i-1].End() {
			return l, nil, fmt.Errorf("lay out %s: chunk %d begins at %d, and the one before it ends at %d: %w",
				o.Key.Key(), i, l.All[i].First, l.All[i-1].End(), ErrContradiction)
		}
	}
	return l, from, nil
}

// baseSound checks the replaced object's footer against its entry.
func baseSound(o *Output, cs []format.Chunk) error {
	e := o.Base()
	for i := range cs {
		if cs[i].Stream != o.Key.Stream {
			return fmt.Errorf("lay out %s: the object that it replaces holds stream %d: %w", o.Key.Key(), cs[i].Stream, ErrContradiction)
		}
	}
	if n := len(cs); n == 0 || cs[n-1].End() != e.End() || cs[0].First > max(e.First, e.LiveFrom) {
		return fmt.Errorf("lay out %s: the object that it replaces does not hold records %d to %d: %w",
			o.Key.Key(), max(e.First, e.LiveFrom), e.End(), ErrContradiction)
	}
	return nil
}

// has reports whether a footer has exactly this chunk. A stream's chunks ascend
// in a footer, but a footer is not sorted by stream: it is walked.
func has(f format.Footer, c *format.Chunk) bool {
	for i := range f.Len() {
		if f.At(i) == *c {
			return true
		}
	}
	return false
}

func stretch(to core.Store, s *Source, replica int, c *format.Chunk) Stretch {
	from := s.At[replica]
	var also []core.Obj
	for i, at := range s.At {
		if i != replica {
			also = append(also, at)
		}
	}
	return Stretch{
		Piece:    core.Piece{Kind: core.Range, CRC: c.CRC, From: from, Also: also, Off: c.Off, Len: c.Len},
		Copyable: from.Store == to,
	}
}
