package plan

import (
	"nova/core"
	"nova/core/format"
)

// Lose splits a span row where the slots that it names are gone for good: each
// range that is truly lost becomes a catalog row with one entry that says so
// (gap 21), and what lies between stays a span row. The parts ascend, touch and
// cover what the row covered; the last ends where it ended. lost says which slots
// are gone. ranges counts the lost ones: 0 means that the row names none.
func Lose(row *format.Row, lost func(slot uint64) bool) (parts []format.Row, ranges int) {
	for i := 0; i < len(row.Spans); {
		gone := lost(row.Spans[i].Slot)
		j := i + 1
		for j < len(row.Spans) && lost(row.Spans[j].Slot) == gone {
			j++
		}
		run := row.Spans[i:j:j]
		part := *row
		part.First, part.End, part.Spans = run[0].Chunk.First, run[len(run)-1].Chunk.End(), run
		if gone {
			part = format.Row{Kind: format.CatalogRow, First: part.First, End: part.End, Entries: []format.Entry{lostEntry(row.Epoch, run)}}
			ranges++
		}
		parts, i = append(parts, part), j
	}
	return parts, ranges
}

// lostEntry names no object: it says which records are gone, and when they were.
func lostEntry(epoch uint64, run []format.Span) format.Entry {
	first := run[0].Chunk.First
	e := format.Entry{
		Epoch: epoch, First: first, Count: run[len(run)-1].Chunk.End() - first, LiveFrom: first,
		Class: core.Standard, Oldest: run[0].Chunk.Oldest, Newest: run[0].Chunk.Newest, Lost: true,
	}
	for i := range run {
		e.Oldest, e.Newest = min(e.Oldest, run[i].Chunk.Oldest), max(e.Newest, run[i].Chunk.Newest)
	}
	return e
}
