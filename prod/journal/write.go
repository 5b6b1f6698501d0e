package journal

import (
	"encoding/binary"
	"time"

	"nova/core/transcript"
)

const (
	gather    = 10 * time.Millisecond // a record waits for company this long
	syncEvery = time.Second
	sulk      = time.Second // nothing is taken for so long once the disk has failed
)

// write is the writer's whole life.
func (j *Journal) write() {
	defer close(j.done)
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	dirty := false
	for {
		var written chan struct{}
		select {
		case <-j.stop:
			j.spill()
			return
		case <-tick.C:
			if dirty && j.file.at != nil {
				if err := j.file.at.Sync(); err != nil {
					j.failed(err, 0)
				}
			}
			dirty = false
			continue
		case written = <-j.flush:
		case <-j.filled:
			select {
			case <-time.After(gather):
			case <-j.stop:
			case written = <-j.flush:
			}
		}
		dirty = j.spill() || dirty
		if written != nil {
			if j.file.at != nil {
				if err := j.file.at.Sync(); err != nil {
					j.failed(err, 0)
				}
			}
			dirty = false
			close(written)
		}
	}
}

// spill writes what waits, and reports whether that was anything.
func (j *Journal) spill() bool {
	j.mu.Lock()
	b, frames, serial := j.buf, j.frames, j.serial
	j.buf, j.frames = nil, 0
	j.mu.Unlock()
	if len(b) == 0 {
		return false
	}
	for rest := b; len(rest) > 0; {
		if j.file.at != nil && j.file.size >= j.c.Segment {
			if err := j.file.close(); err != nil {
				j.failed(err, frames)
				return true
			}
		}
		if j.file.at == nil {
			if err := j.begin(serial - turnsIn(rest)); err != nil {
				j.failed(err, frames)
				return true
			}
		}
		n, k := fitting(rest, j.c.Segment-j.file.size)
		if err := j.file.append(rest[:n]); err != nil {
			j.failed(err, frames)
			return true
		}
		j.bytes.Add(int64(n))
		frames -= k
		rest = rest[n:]
	}
	j.recycle(b)
	return true
}

// begin begins a segment behind a turn. What the disk did not take before is noted
// first: it is missing before everything that waits.
func (j *Journal) begin(serial uint64) error {
	if err := j.file.begin(j.c.Now(), serial); err != nil {
		return err
	}
	j.epoch.Add(1)
	if j.owed == 0 {
		return nil
	}
	if err := j.file.append(transcript.AppendFrame(nil, &transcript.Record{Kind: transcript.KGap, Gap: transcript.Gap{Dropped: j.owed}})); err != nil {
		return err
	}
	j.owed = 0
	return nil
}

// turnsIn is how many of the frames are turns: each has taken a number.
func turnsIn(b []byte) (n uint64) {
	for at := 0; at < len(b); at += transcript.FrameSize + int(binary.LittleEndian.Uint32(b[at:])) {
		if transcript.Kind(b[at+transcript.FrameSize]) == transcript.KTurn {
			n++
		}
	}
	return n
}

// fitting is how many bytes of whole frames come to at least room, and how many
// frames they are; at least one.
func fitting(b []byte, room int64) (n int, frames int64) {
	for n < len(b) && (n == 0 || int64(n) < room) {
		n += transcript.FrameSize + int(binary.LittleEndian.Uint32(b[n:]))
		frames++
	}
	return n, frames
}

// recycle lets the next records use the same memory, unless it has become much.
func (j *Journal) recycle(b []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.buf == nil && int64(cap(b)) <= 2*j.c.Buffer {
		j.buf = b[:0]
	}
}

// failed counts what the disk did not take, and lets it rest. The segment ends
// where it failed; whoever reads it sees that it is torn, and then the gap.
func (j *Journal) failed(err error, frames int64) {
	j.c.Log.Warn("the journal cannot be written: turns are left out", "dir", j.c.Dir, "err", err)
	_ = j.file.close() // it has failed
	j.owed += uint64(frames)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dropped.Add(frames)
	j.failing = true
	time.AfterFunc(sulk, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.failing = false
	})
}
