package plan

import "nova/core"

// Stretch is one piece of an output, and whether the store itself can copy it:
// both ends are behind one endpoint.
type Stretch struct {
	core.Piece
	Copyable bool
}

// Part is one part of a multipart upload: a range that the store copies (one
// piece), or data that goes through the process.
type Part struct {
	Copy   bool
	Pieces []core.Piece
}

// Size is the number of bytes of the part.
func (p *Part) Size() int64 { return core.Size(p.Pieces) }

// Assembly is how an output is written: in one request, or as parts from 1.
type Assembly struct {
	Single bool
	Parts  []Part // Single: one, the body
}

// partLimit is what a store takes, or copies, as one part at most.
const partLimit = int64(5) << 30

// Assemble plans the parts of a body. Every part but the last has at least
// PartMin bytes, none has more than PartMax, and there are at most PartCount;
// where that does not fit, the least part grows until it does. A run of copyable
// pieces that lie side by side in one object is copied by the store, as soon as
// it is as long as a part may be; where the data before it is too short for a
// part of its own, it borrows from the run's front. Cutting a piece loses its
// checksum.
func Assemble(d *core.Dials, body []Stretch) Assembly {
	var total int64
	for i := range body {
		total += body[i].Size()
	}
	if total < d.PartMin || len(body) == 0 {
		return Assembly{Single: true, Parts: []Part{{Pieces: pieces(body)}}}
	}
	for lo := d.PartMin; ; lo *= 2 {
		p := planner{lo: lo, hi: max(d.PartMax, 2*lo)}
		p.plan(body)
		if len(p.parts) <= d.PartCount || 4*lo > partLimit {
			return Assembly{Parts: p.parts}
		}
	}
}

// pieces is a body without its marks; empty pieces go.
func pieces(body []Stretch) []core.Piece {
	ps := make([]core.Piece, 0, len(body))
	for i := range body {
		if body[i].Size() > 0 {
			ps = append(ps, body[i].Piece)
		}
	}
	return ps
}

// planner walks a body once, forward.
type planner struct {
	lo, hi int64 // bounds of a part; hi ≥ 2·lo, so that any length from lo up can be split
	parts  []Part
	data   []core.Piece // of the data part under way
	held   int64        // its bytes: under hi
}

func (p *planner) plan(body []Stretch) {
	for i := 0; i < len(body); {
		n := runOf(body[i:])
		var size int64
		for _, s := range body[i : i+n] {
			size += s.Size()
		}
		if !body[i].Copyable || size < p.lo {
			for _, s := range body[i : i+n] {
				p.add(s.Piece)
			}
		} else {
			p.relocate(body[i:i+n], size)
		}
		i += n
	}
	p.flush()
}

// runOf is how many pieces from the first lie side by side in one object and can
// be copied as one range: at least 1.
func runOf(body []Stretch) int {
	n := 1
	for n < len(body) && body[n].Copyable && adjoins(&body[n-1], &body[n]) {
		n++
	}
	return n
}

func adjoins(a, b *Stretch) bool {
	return a.Copyable && a.Kind == core.Range && b.Kind == core.Range && a.From == b.From && a.Off+a.Len == b.Off
}

// relocate copies a run of at least lo bytes, less what the data part under way
// must borrow to reach lo itself. What then would be too short to be copied goes
// as data whole.
func (p *planner) relocate(run []Stretch, size int64) {
	for p.held > 0 && p.held < p.lo && len(run) > 0 {
		if size < p.lo {
			break
		}
		need := p.lo - p.held
		first := run[0].Piece
		if first.Len <= need || first.Len < p.lo {
			p.add(first) // whole, with its checksum
			run, size = run[1:], size-first.Len
			continue
		}
		if size-need < p.lo {
			break
		}
		front, rest := cut(first, need)
		p.add(front)
		size -= need
		run = append([]Stretch{{Piece: rest, Copyable: true}}, run[1:]...)
	}
	if size < p.lo || p.held > 0 && p.held < p.lo {
		for _, s := range run {
			p.add(s.Piece)
		}
		return
	}
	p.flush()
	whole := run[0].Piece
	if len(run) > 1 {
		whole.Len, whole.NoCRC, whole.CRC = size, true, 0
	}
	n := (size + p.hi - 1) / p.hi
	for k := range n {
		piece := whole
		if k < n-1 {
			piece, whole = cut(whole, size*(k+1)/n-size*k/n)
		}
		p.parts = append(p.parts, Part{Copy: true, Pieces: []core.Piece{piece}})
	}
}

// add appends a piece to the data part under way, and closes it where the piece
// would make it too long: between pieces if it is long enough by then, within
// the piece otherwise.
func (p *planner) add(piece core.Piece) {
	for p.held+piece.Size() > p.hi {
		if p.held >= p.lo {
			p.flush()
			continue
		}
		var front core.Piece
		front, piece = cut(piece, p.hi-p.held)
		p.data, p.held = append(p.data, front), p.hi
		p.flush()
	}
	if piece.Size() > 0 {
		p.data, p.held = append(p.data, piece), p.held+piece.Size()
	}
}

func (p *planner) flush() {
	if p.held > 0 {
		p.parts = append(p.parts, Part{Pieces: p.data})
		p.data, p.held = nil, 0
	}
}

// cut is the first n bytes of a piece, and the rest. Neither has a checksum.
func cut(p core.Piece, n int64) (front, rest core.Piece) {
	front, rest = p, p
	if p.Kind == core.Literal {
		front.Bytes, rest.Bytes = p.Bytes[:n], p.Bytes[n:]
		return front, rest
	}
	front.Len, rest.Off, rest.Len = n, p.Off+n, p.Len-n
	front.NoCRC, front.CRC, rest.NoCRC, rest.CRC = true, 0, true, 0
	return front, rest
}
