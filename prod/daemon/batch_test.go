package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"nova/core"
	"nova/core/format"
	"nova/core/serve"
)

// counterStar answers appends like a star: it gives numbers out and keeps what
// each chunk held.
type counterStar struct {
	t  *testing.T
	b  *Batcher
	mu sync.Mutex

	next    map[uint64]uint64
	held    map[uint64][]string
	flying  map[uint64]bool // streams that have a chunk on its way
	slots   int
	most    int // slots on their way at once, at most
	now     int
	refuse  func(slot int, stream uint64) serve.Reason
	latency time.Duration
}

func (s *counterStar) send(_ context.Context, r serve.Request) (serve.Answer, error) {
	s.mu.Lock()
	slot := s.slots
	s.slots++
	s.now++
	s.most = max(s.most, s.now)
	for _, c := range r.Chunks {
		if s.flying[c.Stream] {
			s.t.Errorf("stream %d has two chunks on their way", c.Stream)
		}
		s.flying[c.Stream] = true
	}
	s.mu.Unlock()
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	a := serve.Answer{Outcome: serve.Acked}
	for _, c := range r.Chunks {
		s.flying[c.Stream] = false
		bytes, ok := s.b.blobs.Blob(c.Blob)
		if !ok || int64(len(bytes)) != c.Len || format.CRC(bytes) != c.CRC {
			s.t.Errorf("the blob of stream %d is not what its chunk says", c.Stream)
		}
		if reason := s.refuse(slot, c.Stream); reason != serve.None {
			a.Acks = append(a.Acks, serve.Ack{Reason: reason})
			continue
		}
		a.Acks = append(a.Acks, serve.Ack{First: s.next[c.Stream]})
		s.next[c.Stream] += uint64(c.Count)
		err := decodeChunk(bytes, 0, c.Count, func(r Record) error {
			s.held[c.Stream] = append(s.held[c.Stream], string(r.Data))
			return nil
		})
		if err != nil {
			s.t.Error(err)
		}
	}
	return a, nil
}

func batcherOn(t *testing.T, l BatchLimits) (*counterStar, *Batcher) {
	t.Helper()
	s := &counterStar{t: t, next: map[uint64]uint64{}, held: map[uint64][]string{}, flying: map[uint64]bool{},
		latency: time.Millisecond, refuse: func(int, uint64) serve.Reason { return serve.None }}
	ctx, cancel := context.WithCancelCause(t.Context())
	s.b = newBatcher(ctx, l, func() core.Ms { return 5 }, s.send)
	t.Cleanup(func() {
		cancel(errStarGone)
		s.b.wait()
		if n := len(s.b.blobs.all); n != 0 {
			t.Errorf("%d blobs are left", n)
		}
	})
	return s, s.b
}

func TestTheBatcherKeepsTheOrder(t *testing.T) {
	s, b := batcherOn(t, BatchLimits{Slot: 4 << 10, Buffered: 16 << 10, Flying: 3, Linger: time.Millisecond})
	const streams, records = 7, 400
	var wg sync.WaitGroup
	for k := range uint64(streams) {
		wg.Go(func() {
			var all []*Pending
			for i := range records {
				body := fmt.Sprint(i)
				if i%97 == 5 {
					body = strings.Repeat("long", 3000) // larger than a slot
				}
				p, err := b.Append(t.Context(), k, []byte(body), []byte("and"))
				if err != nil {
					t.Error(err)
					return
				}
				all = append(all, p)
			}
			for i, p := range all {
				if first, err := p.First(t.Context()); err != nil || first != uint64(2*i) {
					t.Errorf("stream %d: append %d is at %d, %v", k, i, first, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for k := range uint64(streams) {
		for i := 0; i < len(s.held[k]); i += 2 {
			if h := s.held[k][i]; !strings.HasPrefix(h, "long") && h != fmt.Sprint(i/2) || s.held[k][i+1] != "and" {
				t.Fatalf("stream %d holds %.20q at %d", k, h, i)
			}
		}
		if len(s.held[k]) != 2*records {
			t.Errorf("stream %d holds %d records", k, len(s.held[k]))
		}
	}
	if s.most > 3 || s.slots < 10 {
		t.Errorf("%d slots, %d at once", s.slots, s.most)
	}
}

// After a chunk that was not acknowledged nothing behind it is, until the caller
// has had its error: or a gap would go unnoticed.
func TestNothingBehindAFailureIsAcknowledged(t *testing.T) {
	s, b := batcherOn(t, BatchLimits{Slot: 100, Linger: time.Millisecond})
	s.latency = 20 * time.Millisecond
	s.refuse = func(slot int, stream uint64) serve.Reason {
		if slot == 0 && stream == 1 {
			return serve.Undecided
		}
		return serve.None
	}
	one, err := b.Append(t.Context(), 1, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.Append(t.Context(), 2, []byte("of another stream"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond) // the slot is on its way
	two, err := b.Append(t.Context(), 1, []byte("two"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.First(t.Context()); !errors.Is(err, ErrUndecided) || Reason(err) != serve.Undecided {
		t.Errorf("the first: %v", err)
	}
	if _, err := two.First(t.Context()); !errors.Is(err, ErrUndecided) || !strings.Contains(err.Error(), "before these") {
		t.Errorf("the one behind it: %v", err)
	}
	if n, err := other.First(t.Context()); err != nil || n != 0 {
		t.Errorf("another stream's: %d, %v", n, err)
	}
	three, err := b.Append(t.Context(), 1, []byte("three"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := three.First(t.Context()); err != nil || n != 0 {
		t.Errorf("a later one: %d, %v", n, err)
	}
	if len(s.held[1]) != 1 || s.held[1][0] != "three" {
		t.Errorf("stream 1 holds %q", s.held[1])
	}
}

func TestTheBatcherRefusesWhatCannotBe(t *testing.T) {
	_, b := batcherOn(t, BatchLimits{})
	if _, err := b.Append(t.Context(), 1); err == nil {
		t.Error("an append of nothing is taken")
	}
	if _, err := b.Append(t.Context(), 1, make([]byte, MaxRecord+1)); err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("a record that is too long: %v", err)
	}
}

// Append blocks while too much is buffered, and no longer than its context.
func TestTheBatcherIsBounded(t *testing.T) {
	s, b := batcherOn(t, BatchLimits{Slot: 1 << 10, Buffered: 4 << 10, Flying: 1, Linger: time.Millisecond})
	s.latency = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, err = b.Append(ctx, uint64(n), make([]byte, 512))
	}
	if !errors.Is(err, context.DeadlineExceeded) || n < 4 || n > 12 {
		t.Errorf("%d appends of 512 bytes were taken into 4 KiB: %v", n, err)
	}
}
