package format

func (w *writer) chunk(c *Chunk) {
	w.u(c.Stream)
	w.u(c.First)
	w.u(uint64(c.Count))
	w.u(uint64(c.CRC))
	w.size(c.Off)
	w.size(c.Len)
	w.ms(c.Oldest)
	w.ms(c.Newest)
}

func (r *reader) chunk() (c Chunk) {
	c.Stream = r.u()
	c.First = r.u()
	c.Count = r.u32()
	c.CRC = r.u32()
	c.Off = r.size()
	c.Len = r.size()
	c.Oldest = r.ms()
	c.Newest = r.ms()
	r.check(c.sound(), "a chunk that is empty or beyond every object")
	return c
}

// sound reports whether a chunk has records, and its end and its bytes' end are
// numbers.
func (c *Chunk) sound() bool {
	return c.Count > 0 && c.First+uint64(c.Count) > c.First && c.Off >= 0 && c.Len >= 0 && c.Off <= 1<<63-1-c.Len
}

const (
	leastSpan  = 11 // bytes that a span has at least, encoded
	leastEntry = 13
)

func (w *writer) span(s *Span) {
	w.u(s.Slot)
	w.window(s.Footer)
	w.chunk(&s.Chunk)
}

func (r *reader) span() (s Span) {
	s.Slot = r.u()
	s.Footer = r.window()
	s.Chunk = r.chunk()
	return s
}

func (w *writer) entry(e *Entry) {
	w.u(e.Epoch)
	w.u(e.First)
	w.u(e.Count)
	w.u(e.LiveFrom)
	w.u(uint64(e.Revision))
	w.u(uint64(e.Generation))
	w.i(e.Created)
	w.class(e.Class)
	w.window(e.Footer)
	w.size(e.Bytes)
	w.ms(e.Oldest)
	w.ms(e.Newest)
	w.flags(e.Lost)
}

func (r *reader) entry() (e Entry) {
	e.Epoch = r.u()
	e.First = r.u()
	e.Count = r.u()
	e.LiveFrom = r.u()
	e.Revision = r.u32()
	e.Generation = r.u32()
	e.Created = r.i()
	e.Class = r.class()
	e.Footer = r.window()
	e.Bytes = r.size()
	e.Oldest = r.ms()
	e.Newest = r.ms()
	r.flags(&e.Lost)
	r.check(e.Count > 0 && e.First+e.Count > e.First, "an entry that covers nothing")
	r.check(e.LiveFrom <= e.First+e.Count, "an entry that is live from beyond its end")
	return e
}

// Encode is the value of a ref row.
func (r Row) Encode() string {
	w := begin(tagRow, 64+len(r.Spans)*64+len(r.Entries)*96)
	w.b = append(w.b, byte(r.Kind))
	w.u(r.First)
	w.u(r.End)
	switch r.Kind {
	case SpanRow:
		w.str(r.Star)
		w.u(r.Epoch)
		w.class(r.Class)
		w.stores(r.Stores)
		w.u(uint64(len(r.Spans)))
		for i := range r.Spans {
			w.span(&r.Spans[i])
		}
	case CatalogRow:
		w.u(uint64(len(r.Entries)))
		for i := range r.Entries {
			w.entry(&r.Entries[i])
		}
	}
	return w.end()
}

// DecodeRow decodes a ref row. What it returns holds together: the row's parts
// ascend, touch, and cover [First, End) exactly; there is at least one. Spans
// are of one stream, and lie in ascending slots.
func DecodeRow(v string) (Row, error) {
	var row Row
	r := open(tagRow, v)
	row.Kind = RowKind(r.byte())
	row.First = r.u()
	row.End = r.u()
	switch row.Kind {
	case SpanRow:
		row.Star = r.str()
		row.Epoch = r.u()
		row.Class = r.class()
		row.Stores = r.stores()
		r.check(len(row.Stores) > 0, "a span row without a store")
		if n := r.count(leastSpan); n > 0 {
			row.Spans = make([]Span, n)
		}
		at := row.First
		for i := range row.Spans {
			s := r.span()
			r.check(s.Chunk.First == at, "spans that do not touch")
			r.check(i == 0 || s.Chunk.Stream == row.Spans[0].Chunk.Stream, "spans of two streams")
			r.check(i == 0 || s.Slot >= row.Spans[i-1].Slot, "spans in descending slots")
			row.Spans[i], at = s, s.Chunk.End()
		}
		r.check(at == row.End && len(row.Spans) > 0, "spans that do not cover the row")
	case CatalogRow:
		if n := r.count(leastEntry); n > 0 {
			row.Entries = make([]Entry, n)
		}
		at := row.First
		for i := range row.Entries {
			e := r.entry()
			r.check(e.First == at, "entries that do not touch")
			row.Entries[i], at = e, e.End()
		}
		r.check(at == row.End && len(row.Entries) > 0, "entries that do not cover the row")
	default:
		r.fail("a row of no kind")
	}
	if err := r.close(); err != nil {
		return Row{}, err
	}
	return row, nil
}
