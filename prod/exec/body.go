package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"nova/core"
)

// directFrom is the length of a run of touching pieces from which it is read by a
// request of its own rather than through the cache.
const directFrom = 1 << 20

// assembly is the bytes of a body, one piece after the other, each checked
// against its checksum before its last byte is handed on. So a body with a wrong
// piece ends early, and the store, which was told a length, drops it.
//
// A transport may go on reading for a moment after it has returned, hence the
// lock.
type assembly struct {
	d      *Driver
	ctx    context.Context
	cancel context.CancelFunc
	pieces []core.Piece
	bad    map[core.Obj]bool // places whose bytes were found damaged

	mu     sync.Mutex
	failed *sourceError

	i    int       // the piece being read
	r    io.Reader // its bytes
	left int64     // how many of them are still to come
	sum  uint32
	seen bool     // sum is that of all its bytes already
	from core.Obj // Range: where they come from
	run  *stream  // a direct read that covers the pieces up to runs
	runs int
}

// Read fails with a *sourceError, which is also kept.
func (a *assembly) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for a.failed == nil {
		if a.r == nil {
			if a.i == len(a.pieces) {
				return 0, io.EOF
			}
			a.begin()
			continue
		}
		if a.left == 0 {
			a.end()
			continue
		}
		n, err := a.r.Read(p[:min(int64(len(p)), a.left)])
		if !a.seen {
			a.sum = crc32.Update(a.sum, castagnoli, p[:n])
		}
		if a.left -= int64(n); a.left == 0 {
			a.end() // before the last byte leaves
			err = nil
		}
		if err != nil {
			a.fail(err)
		}
		if a.failed == nil && n > 0 {
			return n, nil
		}
	}
	return 0, a.failed
}

// begin opens the next piece.
func (a *assembly) begin() {
	p := &a.pieces[a.i]
	a.left, a.sum, a.seen = p.Size(), 0, false
	switch p.Kind {
	case core.Literal:
		a.r = strings.NewReader(p.Bytes)
	case core.Blob:
		b, ok := []byte(nil), false
		if a.d.o.Blobs != nil {
			b, ok = a.d.o.Blobs.Blob(p.Blob)
		}
		if !ok || p.Off < 0 || p.Len < 0 || p.Off+p.Len > int64(len(b)) {
			a.failed = &sourceError{outcome: core.Refused, err: fmt.Errorf("blob %d has no bytes %d+%d: it was dropped, or never was", p.Blob, p.Off, p.Len)}
			return
		}
		a.r = bytes.NewReader(b[p.Off : p.Off+p.Len])
	case core.Range:
		a.open(p)
	default:
		a.failed = &sourceError{outcome: core.Refused, err: fmt.Errorf("piece %d is of no kind", a.i)}
	}
}

// open finds the bytes of a Range piece: in the read that is under way, in the
// cache, or by a read of its own for it and the pieces that touch it.
func (a *assembly) open(p *core.Piece) {
	if a.run != nil && a.i < a.runs {
		a.r, a.from = a.run, a.run.at[a.run.k]
		return
	}
	at := a.places(p)
	if len(at) == 0 {
		a.failed = &sourceError{outcome: core.Damaged, at: p.From, err: fmt.Errorf("every place of %s/%s is damaged", p.From.Store, p.From.Key)}
		return
	}
	end, n := a.touching()
	if n < directFrom || a.d.cacheHas(at) {
		for _, o := range at {
			if b, ok := a.d.whole(a.ctx, o); ok && p.Off+p.Len <= int64(len(b)) {
				b = b[p.Off : p.Off+p.Len]
				if a.sum = checksum(b); p.NoCRC || a.sum == p.CRC {
					a.r, a.from, a.seen = bytes.NewReader(b), o, true
					return
				}
				a.sum = 0
				a.d.o.Cache.forget(o) // what a fresh read says, counts
			}
		}
	}
	a.run, a.runs = a.d.stream(a.ctx, at, p.Off, n), end
	a.r, a.from = a.run, at[0]
}

func (d *Driver) cacheHas(at []core.Obj) bool {
	for _, o := range at {
		if _, ok := d.o.Cache.has(o); ok {
			return true
		}
	}
	return false
}

// places is where a Range piece stands, less what was found damaged.
func (a *assembly) places(p *core.Piece) []core.Obj {
	at := make([]core.Obj, 0, 1+len(p.Also))
	for _, o := range append([]core.Obj{p.From}, p.Also...) {
		if !a.bad[o] {
			at = append(at, o)
		}
	}
	return at
}

// touching is the run of pieces from the current one whose bytes lie one after
// the other in the same object: where it ends, and its length.
func (a *assembly) touching() (end int, n int64) {
	first := &a.pieces[a.i]
	for end = a.i; end < len(a.pieces); end++ {
		p := &a.pieces[end]
		if p.Kind != core.Range || p.From != first.From || p.Off != first.Off+n || len(p.Also) != len(first.Also) {
			break
		}
		n += p.Len
	}
	return end, n
}

// end checks a piece and goes on to the next.
func (a *assembly) end() {
	p := &a.pieces[a.i]
	if p.Kind == core.Range && a.run != nil && a.r == a.run {
		a.from = a.run.at[a.run.k] // it may have gone on elsewhere
	}
	if p.Kind != core.Literal && !p.NoCRC && p.CRC != a.sum {
		a.failed = &sourceError{outcome: core.Damaged, at: a.from,
			err: fmt.Errorf("bytes %d+%d of %s/%s have checksum %08x, not %08x", p.Off, p.Len, a.from.Store, a.from.Key, a.sum, p.CRC)}
		return
	}
	a.i, a.r = a.i+1, nil
	if a.run != nil && a.i >= a.runs {
		_ = a.run.Close()
		a.run = nil
	}
}

func (a *assembly) fail(err error) {
	if !errors.As(err, &a.failed) {
		a.failed = &sourceError{outcome: core.Unknown, err: err}
	}
	if a.failed.outcome == core.OutOfRange { // the object is not what its footer says
		a.failed.outcome = core.Damaged
	}
}

// failure is why the body could not be read, or nil.
func (a *assembly) failure() *sourceError {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Close ends a read that is under way.
func (a *assembly) Close() error {
	a.cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != nil {
		_ = a.run.Close()
	}
	return nil
}

// transits is how many of a body's bytes come through the process from a store.
func transits(body []core.Piece) (n int64) {
	for i := range body {
		if body[i].Kind == core.Range {
			n += body[i].Len
		}
	}
	return n
}

// bodySum is the checksum of a body, if that of every piece is known.
func bodySum(body []core.Piece) (sum uint32, ok bool) {
	for i := range body {
		p := &body[i]
		switch {
		case p.Kind == core.Literal:
			sum = combine(sum, checksum([]byte(p.Bytes)), p.Size())
		case !p.NoCRC || p.Len == 0:
			sum = combine(sum, p.CRC, p.Len)
		default:
			return 0, false
		}
	}
	return sum, true
}

// send performs a Create or an UploadPart: it reads the body's pieces and sends
// them, once. Where one place of a piece turns out to be damaged and there are
// others, the whole is begun again without it; the store has dropped what it had.
func (d *Driver) send(ctx context.Context, op *core.Op) (core.Reply, int64) {
	if d.gates.writes.enter(ctx) != nil {
		return unknown, 0
	}
	defer d.gates.writes.leave()
	moved := transits(op.Body)
	if d.o.Bytes.Wait(ctx, moved) != nil {
		return unknown, 0
	}
	bad := map[core.Obj]bool{}
	for {
		reply, failed := d.sendBody(ctx, op, bad)
		if failed == nil {
			return reply, moved
		}
		if failed.outcome == core.Damaged && !bad[failed.at] && hasAlso(op.Body, failed.at) {
			bad[failed.at] = true
			continue
		}
		d.forgetSources(op.Body)
		switch failed.outcome {
		case core.Absent:
			reply = core.Reply{Outcome: core.Refused, Val: SourceAbsent}
		case core.Unknown:
			reply = core.Reply{Outcome: core.Refused, Val: SourceUnavailable}
		default:
			reply = core.Reply{Outcome: failed.outcome}
		}
		d.log.reply(op, reply, failed)
		return reply, moved
	}
}

// hasAlso reports whether what stands at o stands elsewhere too.
func hasAlso(body []core.Piece, o core.Obj) bool {
	for i := range body {
		p := &body[i]
		if p.Kind != core.Range || len(p.Also) == 0 {
			continue
		}
		for _, q := range append([]core.Obj{p.From}, p.Also...) {
			if q == o {
				return true
			}
		}
	}
	return false
}

// sendBody is one try of send. It fails if the body could not be read; then the
// store has not got it.
func (d *Driver) sendBody(ctx context.Context, op *core.Op, bad map[core.Obj]bool) (core.Reply, *sourceError) {
	n := core.Size(op.Body)
	var last *assembly
	open := func() *assembly {
		actx, cancel := context.WithTimeout(ctx, d.service())
		last = &assembly{d: d, ctx: actx, cancel: cancel, pieces: op.Body, bad: bad}
		return last
	}
	body := &Body{N: n}
	if n <= d.o.Buffer {
		b := make([]byte, n)
		a := open()
		_, err := io.ReadFull(a, b)
		_ = a.Close()
		if err != nil {
			return core.Reply{}, a.failure()
		}
		// What the pieces are known to be, rather than what the buffer holds by now.
		if body.CRC, body.HasCRC = bodySum(op.Body); !body.HasCRC {
			body.CRC, body.HasCRC = checksum(b), true
		}
		body.Open = func() io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
	} else {
		body.CRC, body.HasCRC = bodySum(op.Body)
		body.Open = func() io.ReadCloser { return open() }
	}
	reply := d.sendOnce(ctx, op, body)
	if n > d.o.Buffer && last != nil && reply.Outcome == core.Unknown {
		return reply, last.failure()
	}
	return reply, nil
}
