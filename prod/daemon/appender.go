package daemon

import (
	"context"
	"fmt"
)

// Pieces of an append that go to the batcher together.
const (
	pieceRecords = 8192
	pieceBytes   = 256 << 10
	pieceFlying  = 64 // pieces whose acknowledgement is not awaited yet
)

// Appender sends records to one stream that the star has open, many at a time,
// and awaits their acknowledgements behind. It is for one goroutine.
//
// After an error nothing that was given later is acknowledged: what is in ends at
// End, but for what the star may still be at (ErrUndecided).
type Appender struct {
	First uint64 // sequence number of the first record
	End   uint64 // after the last that is acknowledged
	Acked uint64 // how many are

	// Alone makes it an error when the numbers show that somebody else appends to
	// the stream as well.
	Alone bool

	star   *Star
	id     uint64
	piece  [][]byte
	buf    []byte // the piece's records, one after the other
	flying []flight
	err    error
}

type flight struct {
	p *Pending
	n uint64
}

// Appender makes an appender for a stream.
func (s *Star) Appender(id uint64) *Appender { return &Appender{star: s, id: id} }

// Add gives one more record. It copies it, and blocks while too much is on its
// way. An error may be of records that were given earlier.
func (a *Appender) Add(ctx context.Context, record []byte) error {
	if a.err != nil {
		return a.err
	}
	if len(a.buf)+len(record) > pieceBytes && len(a.piece) > 0 {
		if err := a.send(ctx); err != nil {
			return err
		}
	}
	if len(record) > pieceBytes { // the batcher copies: no need to do it twice
		a.piece = append(a.piece, record)
		return a.send(ctx)
	}
	n := len(a.buf)
	a.buf = append(a.buf, record...)
	a.piece = append(a.piece, a.buf[n:])
	if len(a.piece) >= pieceRecords {
		return a.send(ctx)
	}
	return nil
}

// Flush sends what is left and awaits every acknowledgement.
func (a *Appender) Flush(ctx context.Context) error {
	if a.err == nil {
		_ = a.send(ctx)
	}
	a.await(ctx, 0)
	return a.err
}

func (a *Appender) send(ctx context.Context) error {
	if len(a.piece) == 0 {
		return nil
	}
	p, err := a.star.Append(ctx, a.id, a.piece...)
	if err != nil {
		a.fail(err)
		return a.err
	}
	a.flying = append(a.flying, flight{p, uint64(len(a.piece))})
	a.piece, a.buf = a.piece[:0], a.buf[:0]
	a.await(ctx, pieceFlying)
	return a.err
}

func (a *Appender) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// await takes acknowledgements until at most so many pieces are on their way.
func (a *Appender) await(ctx context.Context, keep int) {
	for len(a.flying) > keep {
		f := a.flying[0]
		a.flying = a.flying[1:]
		first, err := f.p.First(ctx)
		switch {
		case err != nil:
			a.fail(err)
		case a.Alone && a.Acked > 0 && first != a.End:
			a.fail(fmt.Errorf("append to stream %d: acknowledged at %d, after %d: somebody else writes to it", a.id, first, a.End))
		default:
			if a.Acked == 0 {
				a.First = first
			}
			a.Acked, a.End = a.Acked+f.n, first+f.n
		}
	}
}
