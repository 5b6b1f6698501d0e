package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"nova/core"
	"nova/core/transcript"
)

// Name is the name of a segment's file.
func Name(seq uint64) string { return fmt.Sprintf("journal-%012d.nvj", seq) }

// ErrLocked is wrapped by Open's error when another process writes to the journal.
var ErrLocked = errors.New("the journal is in use")

// lockDir takes the directory; closing the file lets go of it, and so does the
// process's end, however it ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "journal.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%w: another process writes to it: give each its own directory", ErrLocked)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// segment is a file that is closed.
type segment struct {
	seq  uint64
	size int64
}

// files are the segments. Only the writer uses them.
type files struct {
	c    Config
	next uint64 // number of the next segment
	old  []segment
	at   *os.File // or nil
	size int64    // of at
	seq  uint64   // of at
}

// openFiles finds the segments that stand, and the last turn's number in them. What
// is no segment, or what is left of one that was torn, stays as it is.
func openFiles(c Config) (f files, serial uint64, err error) {
	f = files{c: c, next: 1}
	ds, err := os.ReadDir(c.Dir)
	if err != nil {
		return f, 0, err
	}
	for _, d := range ds {
		var seq uint64
		if _, err := fmt.Sscanf(d.Name(), "journal-%d.nvj", &seq); err != nil || d.Name() != Name(seq) {
			continue
		}
		info, err := d.Info()
		if err != nil {
			return f, 0, err
		}
		f.old = append(f.old, segment{seq, info.Size()})
	}
	slices.SortFunc(f.old, func(a, b segment) int { return strings.Compare(Name(a.seq), Name(b.seq)) })
	for _, s := range slices.Backward(f.old) {
		f.next = max(f.next, s.seq+1)
		if serial > 0 {
			continue
		}
		b, err := os.ReadFile(f.name(s.seq))
		if err != nil {
			return f, 0, err
		}
		// Damage is for who reads the journal; the numbers only must not come back.
		_, _ = transcript.Scan(string(b), func(_ int, r *transcript.Record) error {
			serial = max(serial, r.Segment.Serial, r.Turn.Serial)
			return nil
		})
	}
	return f, serial, nil
}

func (f *files) name(seq uint64) string { return filepath.Join(f.c.Dir, Name(seq)) }

// begin begins a segment, and drops the oldest while there is no room for it.
func (f *files) begin(now core.Ms, serial uint64) error {
	for sum := f.c.Segment; ; {
		for _, s := range f.old {
			sum += s.size
		}
		if sum <= f.c.Cap || len(f.old) == 0 {
			break
		}
		if err := os.Remove(f.name(f.old[0].seq)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		f.old, sum = f.old[1:], f.c.Segment
	}
	at, err := os.OpenFile(f.name(f.next), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	f.at, f.size, f.seq = at, 0, f.next
	f.next++
	head := transcript.AppendFrame([]byte(transcript.Magic), &transcript.Record{Kind: transcript.KSegment, Segment: transcript.Segment{
		Seq: f.seq, Wall: now, Serial: serial, Commit: commit(), Go: runtime.Version(), Arch: runtime.GOARCH}})
	if err := f.append(head); err != nil {
		return errors.Join(err, f.close())
	}
	if dir, err := os.Open(f.c.Dir); err == nil { // so that the name lasts as long as the bytes
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

func (f *files) append(b []byte) error {
	n, err := f.at.Write(b)
	f.size += int64(n)
	return err
}

// close ends the segment that is being written.
func (f *files) close() error {
	if f.at == nil {
		return nil
	}
	err := errors.Join(f.at.Sync(), f.at.Close())
	f.old = append(f.old, segment{f.seq, f.size})
	f.at = nil
	return err
}
