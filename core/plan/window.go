package plan

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Choice is what the window of one output is chosen from.
type Choice struct {
	Bucket    string    // the stream's namespace
	ID        uint64    // the stream
	Stream    core.Mark // its descriptor, as it was read
	Watermark uint64    // its trim watermark
	Before    Held      // the catalog row right before Rows; Rev 0: none
	Rows      []Held    // span rows of one chain, ascending from the chain's first that stands
	Trigger   int64     // less than this many bytes in all is residue; 0: take everything
}

// Act is what is to be done with a window.
type Act uint8

const (
	ActNone    Act = iota // no row stands
	ActRetire             // Rows lie wholly below the watermark: retire them (RetireWrites)
	ActResidue            // less than the trigger: leave it until the age cap
	ActSettle             // publish and commit Output
)

var actNames = [...]string{"none", "retire", "residue", "settle"}

func (a Act) String() string {
	if int(a) < len(actNames) {
		return actNames[a]
	}
	return "act?"
}

// Window is what was chosen: one act over Rows, a prefix of the choice's.
type Window struct {
	Act    Act
	Rows   []Held
	Output Output // ActSettle
}

// Choose picks the window of one output. Its caller commits it, reads again and
// chooses the next, until ActNone or ActResidue.
//
// A window never leaves its chain: a commit compares the lease of one chain and
// the ends of its window only, so a row in the middle that another chain's era
// replaced meanwhile would go unseen, and its object unwatched.
func Choose(d *core.Dials, st *core.Stores, c *Choice) (Window, error) {
	rows := run(c.Rows)
	if len(rows) == 0 {
		return Window{}, nil
	}
	for i := range rows {
		if rows[i].Kind != format.SpanRow {
			return Window{}, fmt.Errorf("choose a window of stream %d: row %s is no span row: %w", c.ID, rows[i].Key, ErrContradiction)
		}
	}
	n := 0
	for n < len(rows) && rows[n].End <= c.Watermark {
		n++
	}
	if n > 0 {
		return Window{Act: ActRetire, Rows: rows[:n:n]}, nil
	}
	if c.Trigger > 0 && liveBytes(rows, c.Watermark) < c.Trigger {
		return Window{Act: ActResidue, Rows: rows}, nil
	}
	o := Output{
		Class: core.Standard, Home: st.Home(core.Standard), Stream: c.Stream, Floor: c.Watermark,
		Key: keys.Settled{Bucket: c.Bucket, Stream: c.ID, Epoch: rows[0].Epoch, First: firstKept(&rows[0], c.Watermark)},
	}
	// The tail-fill: fold into the standing tail object as long as one more whole
	// row fits, its dead bytes counted too: a re-run must choose the same.
	bytes, chunks := int64(0), 0
	if touches(&c.Before, o.Key.First) {
		o.Before = c.Before
		if e := &c.Before.Entries[len(c.Before.Entries)-1]; fillable(e, c.Watermark) {
			held := chunksOf(e.Footer)
			if e.Bytes+rowBytes(&rows[0], c.Watermark) <= d.OutputCap && held+len(rows[0].Spans) <= d.OutputChunks {
				o.revise(st, len(c.Before.Entries)-1)
				bytes, chunks = e.Bytes, held
			}
		}
	}
	for n = 0; n < len(rows); n++ {
		bytes += rowBytes(&rows[n], c.Watermark)
		chunks += len(rows[n].Spans)
		if n > 0 && (bytes > d.OutputCap || chunks > d.OutputChunks) {
			break
		}
		o.take(st, &rows[n])
	}
	return Window{Act: ActSettle, Rows: o.Rows, Output: o}, nil
}

// Rewrite is the output that replaces entry i of a catalog row with its live
// chunks: the GC's. The entry must be of a live stream, and not lost.
func Rewrite(st *core.Stores, bucket string, id uint64, stream core.Mark, watermark uint64, row Held, i int) Output {
	o := Output{Class: core.Standard, Home: st.Home(core.Standard), Stream: stream, Floor: watermark, Before: row}
	o.Key = keys.Settled{Bucket: bucket, Stream: id}
	o.revise(st, i)
	return o
}

// revise makes the output replace entry i of Before, at the next revision of the
// same key: the entry's first sequence and epoch stay, also where its head died.
func (o *Output) revise(st *core.Stores, i int) {
	o.Revise, o.Index = true, i
	e := o.Base()
	o.Key.Epoch, o.Key.First, o.Key.Revision = e.Epoch, e.First, e.Revision+1
	o.Floor = max(o.Floor, e.LiveFrom)
	o.Sources = append(o.Sources, Source{
		At:     []core.Obj{{Store: st.Home(e.Class), Key: o.BaseKey().Key()}},
		Footer: e.Footer,
	})
}

// take folds one whole row into the output.
func (o *Output) take(st *core.Stores, row *Held) {
	home := st.Home(o.Class)
	for i := range row.Spans {
		s := &row.Spans[i]
		c := Claim{Source: -1, Row: len(o.Rows), Chunk: s.Chunk}
		if s.Chunk.End() > o.Floor {
			c.Source = len(o.Sources) - 1
			// A slot's spans of one stream follow each other.
			if i == 0 || row.Spans[i-1].Slot != s.Slot || c.Source < 0 || o.Sources[c.Source].Footer != s.Footer {
				c.Source++
				o.Sources = append(o.Sources, Source{At: replicas(home, row, s.Slot), Footer: s.Footer})
			}
		}
		o.Claims = append(o.Claims, c)
	}
	o.Rows = append(o.Rows, *row)
}

// replicas is where a slot stands, the output's own store first: from there the
// store itself can copy.
func replicas(home core.Store, row *Held, slot uint64) []core.Obj {
	key := keys.Slot(row.Star, row.Epoch, slot)
	at := make([]core.Obj, 0, len(row.Stores))
	for _, s := range row.Stores {
		if s == home {
			at = append(at, core.Obj{Store: s, Key: key})
		}
	}
	for _, s := range row.Stores {
		if s != home {
			at = append(at, core.Obj{Store: s, Key: key})
		}
	}
	return at
}

// run is the longest prefix of rows that touch and are of the first one's chain.
func run(rows []Held) []Held {
	for i := 1; i < len(rows); i++ {
		if a, b := &rows[i-1], &rows[i]; a.End != b.First || a.Star != b.Star || a.Epoch != b.Epoch {
			return rows[:i:i]
		}
	}
	return rows
}

func touches(before *Held, first uint64) bool {
	return before.Rev != 0 && before.Kind == format.CatalogRow && before.End == first && len(before.Entries) > 0
}

func fillable(e *format.Entry, watermark uint64) bool {
	return !e.Lost && e.Class == core.Standard && e.End() > max(watermark, e.LiveFrom)
}

// chunksOf is how many chunks an object has, by the size of its footer.
func chunksOf(w format.Window) int {
	none := format.FooterSize(0)
	return int((w.Len - none) / (format.FooterSize(1) - none))
}

func firstKept(row *Held, floor uint64) uint64 {
	for i := range row.Spans {
		if c := &row.Spans[i].Chunk; c.End() > floor {
			return c.First
		}
	}
	return row.First
}

func rowBytes(row *Held, floor uint64) (n int64) {
	for i := range row.Spans {
		if c := &row.Spans[i].Chunk; c.End() > floor {
			n += c.Len
		}
	}
	return n
}

func liveBytes(rows []Held, floor uint64) (n int64) {
	for i := range rows {
		n += rowBytes(&rows[i], floor)
	}
	return n
}
