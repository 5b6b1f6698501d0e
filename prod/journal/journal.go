package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"nova/core"
	"nova/core/transcript"
)

// Config says where a journal is and how large it may become.
type Config struct {
	Dir string
	Cap int64 // bytes of all segments together; 0 is 256 MiB, at least 1 MiB
	// Segment is the size at which a segment is closed; 0 is an eighth of Cap, and at
	// most 32 MiB.
	Segment int64
	// Buffer is how many bytes may wait to be written; 0 is 8 MiB.
	Buffer int64
	Log    *slog.Logger
	Now    func() core.Ms // nil is the wall clock
}

// ErrConfig is wrapped by Open's error when the sizes contradict each other.
var ErrConfig = errors.New("a journal cannot have these sizes")

func (c Config) orDefaults() (Config, error) {
	if c.Cap == 0 {
		c.Cap = 256 << 20
	}
	if c.Segment == 0 {
		c.Segment = min(c.Cap/8, 32<<20)
	}
	if c.Buffer == 0 {
		c.Buffer = 8 << 20
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = func() core.Ms { return core.Ms(time.Now().UnixMilli()) }
	}
	if c.Cap < 1<<20 || c.Segment < 4<<10 || c.Segment > c.Cap/2 || c.Buffer < 4<<10 {
		return c, fmt.Errorf("%w: %d bytes in segments of %d, %d of them in memory: a journal has at least 1 MiB and two segments", ErrConfig, c.Cap, c.Segment, c.Buffer)
	}
	return c, nil
}

// Stats is how a journal fares.
type Stats struct {
	Turns   int64 // that were taken
	Dropped int64 // turns, beginnings and states that were left out
	Bytes   int64 // written
}

// Journal records machines. Many goroutines may use it. A nil one records nothing.
type Journal struct {
	c    Config
	lock *os.File
	file files

	mu      sync.Mutex
	buf     []byte // frames that wait to be written
	frames  int64  // how many
	serial  uint64 // of the last turn
	roots   uint64 // the number of the last machine
	gap     uint64 // records that were left out since the last that was taken
	failing bool   // the disk does not take anything: nothing is taken then
	closed  bool

	owed uint64 // records that the disk did not take, and no segment notes; the writer's

	// epoch counts segments: a machine whose state is not in this one is due.
	epoch   atomic.Uint64
	turns   atomic.Int64
	dropped atomic.Int64
	bytes   atomic.Int64

	filled chan struct{}      // something waits
	flush  chan chan struct{} // write it now, and answer
	stop   chan struct{}
	done   chan struct{} // the writer has ended
}

// Open opens a journal, or begins one, and goes on where its last process stopped.
// The directory is made; it belongs to one process at a time (ErrLocked).
func Open(c Config) (*Journal, error) {
	c, err := c.orDefaults()
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", c.Dir, err)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", c.Dir, err)
	}
	lock, err := lockDir(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", c.Dir, err)
	}
	j := &Journal{c: c, lock: lock, filled: make(chan struct{}, 1), flush: make(chan chan struct{}), stop: make(chan struct{}), done: make(chan struct{})}
	if j.file, j.serial, err = openFiles(c); err == nil {
		// Numbers of machines are of a kind that no earlier process has given.
		j.roots = j.file.next << 24
		err = j.file.begin(c.Now(), j.serial)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", c.Dir, err), lock.Close())
	}
	go j.write()
	return j, nil
}

// Stats says how the journal fares.
func (j *Journal) Stats() Stats {
	return Stats{Turns: j.turns.Load(), Dropped: j.dropped.Load(), Bytes: j.bytes.Load()}
}

// Begin begins the record of a machine: give what it returns to the driver that
// runs it. It sets b.Root; state is the machine, which Process reads between turns.
func (j *Journal) Begin(b transcript.Begin, state any) *Process {
	j.mu.Lock()
	j.roots++
	b.Root = j.roots
	j.mu.Unlock()
	p := &Process{j: j, begin: b, state: state, pending: map[core.Path]*core.Op{}, epoch: j.epoch.Load()}
	p.lost = !j.record(&transcript.Record{Kind: transcript.KBegin, Begin: b})
	return p
}

// record takes a record, or leaves it out.
func (j *Journal) record(r *transcript.Record) bool {
	return j.take(func(b []byte) []byte { return transcript.Append(b, r) })
}

// turn takes a turn, and numbers it.
func (j *Journal) turn(t *transcript.Turn) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.room() {
		return false
	}
	j.serial++
	t.Serial = j.serial
	from := len(j.buf)
	j.buf = transcript.AppendTurn(transcript.Frame(j.buf), t)
	transcript.Seal(j.buf, from)
	j.took()
	j.turns.Add(1)
	return true
}

// take takes what add appends.
func (j *Journal) take(add func([]byte) []byte) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.room() {
		return false
	}
	from := len(j.buf)
	j.buf = add(transcript.Frame(j.buf))
	transcript.Seal(j.buf, from)
	j.took()
	return true
}

// room makes room for one more record, or counts that there is none. What was left
// out is noted before what is taken. j.mu is held.
func (j *Journal) room() bool {
	if j.closed || j.failing || int64(len(j.buf)) >= j.c.Buffer {
		j.gap++
		j.dropped.Add(1)
		return false
	}
	if j.gap > 0 {
		j.buf = transcript.AppendFrame(j.buf, &transcript.Record{Kind: transcript.KGap, Gap: transcript.Gap{Dropped: j.gap}})
		j.frames++
		j.gap = 0
	}
	return true
}

// took wakes the writer. j.mu is held.
func (j *Journal) took() {
	if j.frames++; len(j.filled) == 0 {
		select {
		case j.filled <- struct{}{}:
		default:
		}
	}
}

// fits reports whether n bytes would find room now.
func (j *Journal) fits(n int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.closed && !j.failing && int64(len(j.buf)+n) <= max(j.c.Buffer, int64(n))
}

// Flush hands everything that was taken to the disk, or gives up after a while.
func (j *Journal) Flush(ctx context.Context) error {
	written := make(chan struct{})
	select {
	case j.flush <- written:
	case <-j.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush journal %s: %w", j.c.Dir, context.Cause(ctx))
	}
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush journal %s: %w", j.c.Dir, context.Cause(ctx))
	}
}

// Close writes what waits and ends the journal. No machine may be running that it
// records; one that does is no longer recorded.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	was := j.closed
	j.closed = true
	j.mu.Unlock()
	if was {
		return nil
	}
	close(j.stop)
	<-j.done
	if err := errors.Join(j.file.close(), j.lock.Close()); err != nil {
		return fmt.Errorf("close journal %s: %w", j.c.Dir, err)
	}
	return nil
}

// commit is the revision of the source that runs, where the build knows it.
func commit() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}
