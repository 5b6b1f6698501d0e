package daemon

import (
	"encoding/binary"
	"fmt"
	"os"

	"nova/core"
	"nova/core/law"
)

// spillBlock is how much of a part is held in memory before it goes to the file.
const spillBlock = 8 << 10

// spill sorts what a look finds into parts that are judged one after the other. A
// part's last bytes are in memory, what comes before them in one file, which has no
// name any more while it is written: nothing is left of it however the process ends.
// A small cluster never makes the file.
type spill struct {
	file  *os.File
	end   int64 // of the file
	bytes int64 // that were put, in all parts
	parts []spillPart
	line  []byte
}

type spillPart struct {
	blocks []block // in the file
	tail   []byte
	bytes  int64
}

type block struct {
	off int64
	len int
}

// found is one thing that stands: exactly one of its fields is set, by kind.
type found struct {
	kind   byte
	row    core.Row
	object law.Object // without its tail
	upload law.Upload
}

const (
	foundRow    = 'r'
	foundGuest  = 'g' // a row that another part has as well
	foundObject = 'o'
	foundUpload = 'u'
)

func newSpill(parts int) *spill { return &spill{parts: make([]spillPart, parts)} }

func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close() // it has no name: nothing is lost
	}
}

// put adds a thing to a part. An error is the file's: no space for it, mostly.
func (s *spill) put(part int, f *found) error {
	b := append(s.line[:0], f.kind)
	switch f.kind {
	case foundObject:
		b = text(text(b, string(f.object.Store)), f.object.Key)
		b = binary.AppendVarint(b, f.object.Size)
	case foundUpload:
		b = text(text(text(b, string(f.upload.Store)), f.upload.Key), f.upload.ID)
	default:
		b = text(text(b, f.row.Key), f.row.Val)
		b = binary.AppendVarint(b, f.row.Rev)
	}
	s.line = b
	p := &s.parts[part]
	p.tail = append(p.tail, b...)
	p.bytes += int64(len(b))
	s.bytes += int64(len(b))
	if len(p.tail) < spillBlock {
		return nil
	}
	return s.flush(p)
}

func (s *spill) flush(p *spillPart) error {
	if s.file == nil {
		f, err := os.CreateTemp("", "nova-verify-*")
		if err != nil {
			return fmt.Errorf("a file for what does not fit into memory: %w", err)
		}
		if err := os.Remove(f.Name()); err != nil {
			_ = f.Close()
			return fmt.Errorf("a file for what does not fit into memory: %w", err)
		}
		s.file = f
	}
	if _, err := s.file.WriteAt(p.tail, s.end); err != nil {
		return fmt.Errorf("write what does not fit into memory: %w", err)
	}
	p.blocks = append(p.blocks, block{s.end, len(p.tail)})
	s.end += int64(len(p.tail))
	p.tail = p.tail[:0]
	return nil
}

// each calls f for every thing of a part, in the order in which they were put.
func (s *spill) each(part int, f func(*found)) error {
	p := &s.parts[part]
	for _, b := range p.blocks {
		buf := make([]byte, b.len)
		if _, err := s.file.ReadAt(buf, b.off); err != nil {
			return fmt.Errorf("read what did not fit into memory: %w", err)
		}
		eachOf(string(buf), f)
	}
	eachOf(string(p.tail), f)
	return nil
}

// drop forgets a part that was judged.
func (s *spill) drop(part int) { s.parts[part] = spillPart{} }

func eachOf(b string, f func(*found)) {
	for b != "" {
		x := found{kind: b[0]}
		b = b[1:]
		var store string
		switch x.kind {
		case foundObject:
			store, b = cutText(b)
			x.object.Store = core.Store(store)
			x.object.Key, b = cutText(b)
			x.object.Size, b = cutInt(b)
		case foundUpload:
			store, b = cutText(b)
			x.upload.Store = core.Store(store)
			x.upload.Key, b = cutText(b)
			x.upload.ID, b = cutText(b)
		default:
			x.row.Key, b = cutText(b)
			x.row.Val, b = cutText(b)
			x.row.Rev, b = cutInt(b)
		}
		f(&x)
	}
}

func text(b []byte, s string) []byte { return append(binary.AppendVarint(b, int64(len(s))), s...) }

func cutText(b string) (s, rest string) {
	n, b := cutInt(b)
	return b[:n], b[n:]
}

func cutInt(b string) (int64, string) {
	var head [binary.MaxVarintLen64]byte
	v, n := binary.Varint(head[:copy(head[:], b)])
	return v, b[n:]
}
