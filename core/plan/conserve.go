package plan

import (
	"cmp"
	"fmt"
	"slices"

	"nova/core/format"
)

// Conserve is a second, independent check of a rewrite: what goes in comes out.
// It looks at the records alone and not at how the output was planned: the
// output's footer, out at w, must hold its stream's records without a gap, from
// no later than what is live to the end of the first rows of the window; its
// chunks must fill the body exactly; each must be one that a source's footer has,
// and every live span of those rows must be among them, by stream, range, count,
// length, times and checksum.
//
// Publish calls it on what it is about to write, and again on what it finds
// standing. An error wraps ErrContradiction: nothing may be committed.
func Conserve(o *Output, reads []Read, rows int, out format.Footer, w format.Window) error {
	if err := conserve(o, reads, rows, out, w); err != nil {
		return fmt.Errorf("check %s against its inputs: %w: %w", o.Key.Key(), err, ErrContradiction)
	}
	return nil
}

func conserve(o *Output, reads []Read, rows int, out format.Footer, w format.Window) error {
	end := o.end(rows)
	if out.Len() == 0 {
		return fmt.Errorf("it is empty")
	}
	var bytes int64
	records, next := uint64(0), out.At(0).First
	inputs := inputsOf(o, reads)
	for i := range out.Len() {
		c := out.At(i)
		switch {
		case c.Stream != o.Key.Stream:
			return fmt.Errorf("chunk %d is of stream %d", i, c.Stream)
		case c.First != next:
			return fmt.Errorf("chunk %d begins at record %d, not %d", i, c.First, next)
		case c.Off != bytes:
			return fmt.Errorf("chunk %d lies at byte %d, not %d", i, c.Off, bytes)
		}
		if _, ok := slices.BinarySearchFunc(inputs, c, order); !ok {
			return fmt.Errorf("chunk %d (records %d to %d, %d bytes, checksum %08x) is in no source", i, c.First, c.End(), c.Len, c.CRC)
		}
		bytes, records, next = bytes+c.Len, records+uint64(c.Count), c.End()
	}
	switch first := out.At(0).First; {
	case next != end || records != end-first:
		return fmt.Errorf("%d records from %d end before %d, not %d", records, first, next, end)
	case first > max(o.Floor, o.Key.First):
		return fmt.Errorf("it begins at record %d: live ones are missing", first)
	case bytes != w.Off || int64(len(out)) != w.Len:
		return fmt.Errorf("%d bytes of chunks and a footer of %d, not at %d+%d", bytes, len(out), w.Off, w.Len)
	}
	return spansIn(o, rows, out)
}

// end is the sequence number after the last record of the first rows.
func (o *Output) end(rows int) uint64 {
	if rows > 0 {
		return o.Rows[rows-1].End
	}
	if o.Revise {
		return o.Base().End()
	}
	return 0
}

// spansIn checks that every live span of the first rows is in the output.
func spansIn(o *Output, rows int, out format.Footer) error {
	i := 0
	for r := range o.Rows[:rows] {
		for k := range o.Rows[r].Spans {
			c := o.Rows[r].Spans[k].Chunk
			if c.End() <= o.Floor {
				continue
			}
			for i < out.Len() && out.At(i).First < c.First {
				i++
			}
			if i == out.Len() || !sameRecords(out.At(i), c) {
				return fmt.Errorf("row %s has a span of records %d to %d that it lacks", o.Rows[r].Key, c.First, c.End())
			}
		}
	}
	return nil
}

// inputsOf is every chunk of the stream that some source holds, sorted.
func inputsOf(o *Output, reads []Read) (cs []format.Chunk) {
	for i := range reads {
		f := reads[i].Footer
		for k := range f.Len() {
			if c := f.At(k); c.Stream == o.Key.Stream {
				cs = append(cs, c)
			}
		}
	}
	slices.SortFunc(cs, order)
	return cs
}

// order compares chunks by what they hold, not by where they lie.
func order(a, b format.Chunk) int {
	return cmp.Or(
		cmp.Compare(a.First, b.First), cmp.Compare(a.Count, b.Count), cmp.Compare(a.Len, b.Len),
		cmp.Compare(a.CRC, b.CRC), cmp.Compare(a.Oldest, b.Oldest), cmp.Compare(a.Newest, b.Newest),
	)
}
