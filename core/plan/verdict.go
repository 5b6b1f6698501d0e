package plan

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Finding is what a probe found out about one settled object.
type Finding uint8

const (
	Failed    Finding = iota // nothing definite: judge again later
	Stand                    // some span is live, and too little is dead to act
	GCWorthy                 // some span is live, and enough is dead to move the live ones out
	Reapable                 // every span is dead
	Gone                     // the object does not exist
	Torn                     // it stands, is no object of ours, and no ref names it (a probe by tail)
	Corrupted                // definitely damaged: a footer in its window, or a row, does not decode
)

var findingNames = [...]string{"failed", "stand", "gc-worthy", "reapable", "gone", "torn", "corrupted"}

func (f Finding) String() string {
	if int(f) < len(findingNames) {
		return findingNames[f]
	}
	return "finding?"
}

// Note is what the probe counts for a finding.
func (f Finding) Note() core.NoteKind {
	switch f {
	case Stand:
		return core.NoteProbeStand
	case GCWorthy:
		return core.NoteProbeGCWorthy
	case Reapable:
		return core.NoteProbeReapable
	case Gone:
		return core.NoteProbeGone
	}
	return core.NoteProbeFailed
}

// Fold judges an object by its tallies: live spans, and bytes live and dead.
func Fold(d *core.Dials, spans int, live, dead int64) Finding {
	switch {
	case spans == 0:
		return Reapable
	case dead >= max(d.GCMinDead, (live+dead)/d.GCDeadPart):
		return GCWorthy
	}
	return Stand
}

// Lives reports whether a row that was found for a chunk's first sequence number
// keeps that chunk of a settled object alive: it covers it, its entry names this
// very object, and the chunk does not end below what is live of the entry.
func Lives(row *format.Row, o *keys.Settled, c *format.Chunk) bool {
	if row.Kind != format.CatalogRow || c.First < row.First || c.First >= row.End || c.Stream != o.Stream {
		return false
	}
	i, ok := Names(row, o)
	if !ok {
		return false
	}
	e := &row.Entries[i]
	return e.First <= c.First && c.First < e.End() && c.End() > e.LiveFrom
}

// LivesInSlot is Lives for a chunk of a chain's slot.
func LivesInSlot(row *format.Row, star string, epoch, slot uint64, c *format.Chunk) bool {
	if row.Kind != format.SpanRow || row.Star != star || row.Epoch != epoch {
		return false
	}
	for i := range row.Spans {
		if s := &row.Spans[i]; s.Slot == slot && s.Chunk.First <= c.First && c.First < s.Chunk.End() {
			return true
		}
	}
	return false
}
