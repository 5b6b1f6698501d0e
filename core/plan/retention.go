package plan

import (
	"nova/core"
	"nova/core/format"
)

// Expiry is how far age reaches into one row of a stream.
type Expiry struct {
	Whole bool   // every record of the row is older than the policy
	Point uint64 // else: records below it are older; a row's, entry's or chunk's first
	Entry int    // catalog row: the entry that straddles the point, if Straddles
	// Straddles: the point lies inside Entry, and only the object's footer can say
	// at which chunk. Until it has been read, Point is the entry's first.
	Straddles bool
}

// Expire judges one row: what is at or before cutoff has expired. Record time is
// the anchor; within a stream it does not fall (gap 20).
func Expire(row *format.Row, cutoff core.Ms) Expiry {
	for i := range row.Spans {
		if c := &row.Spans[i].Chunk; c.Newest > cutoff {
			return Expiry{Point: c.First}
		}
	}
	for i := range row.Entries {
		if e := &row.Entries[i]; e.Newest > cutoff {
			return Expiry{Point: e.First, Entry: i, Straddles: e.Oldest <= cutoff && !e.Lost}
		}
	}
	return Expiry{Whole: true, Point: row.End}
}

// Boundary is where an object's chunks that have not expired begin: the first
// record of the first of them, at least from.
func Boundary(f format.Footer, stream, from uint64, cutoff core.Ms) uint64 {
	for i := range f.Len() {
		c := f.At(i)
		if c.Stream == stream && c.Newest > cutoff && c.End() > from {
			return max(from, c.First)
		}
	}
	return from
}

// Shed is a catalog row without the entries that lie wholly below a point, and
// with what is dead of the one that straddles it marked so: below holds the
// entries that went, or whose live part shrank. A row that loses nothing is
// returned as it is, with none below. A row that loses everything is not Shed's.
func Shed(row *format.Row, point uint64) (kept format.Row, below []format.Entry) {
	n := 0
	for n < len(row.Entries) && row.Entries[n].End() <= point {
		n++
	}
	if n == len(row.Entries) {
		return *row, nil
	}
	kept = *row
	below = append(below, row.Entries[:n]...)
	kept.Entries = append([]format.Entry(nil), row.Entries[n:]...)
	if e := &kept.Entries[0]; point > e.First && point > e.LiveFrom && !e.Lost {
		below = append(below, *e)
		e.LiveFrom = point
	}
	kept.First = kept.Entries[0].First
	return kept, below
}

// NextExpiry is when the first of what a row still holds expires as a whole: its
// newest record plus the policy.
func NextExpiry(row *format.Row, maxAge core.Ms) core.Ms {
	if len(row.Entries) > 0 {
		return row.Entries[0].Newest + maxAge
	}
	return row.Spans[len(row.Spans)-1].Chunk.Newest + maxAge
}
