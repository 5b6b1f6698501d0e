package incident

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"nova/core/transcript"
)

// Place is where a record stands.
type Place struct {
	Segment string // the file's name
	At      int    // offset of its frame
}

func (p Place) String() string { return fmt.Sprintf("%s at offset %d", p.Segment, p.At) }

// Damage is a place beyond which a segment cannot be read.
type Damage struct {
	Place
	Err  error
	Torn bool // it just ends there: its process was stopped while it wrote
}

func (d Damage) String() string { return fmt.Sprintf("%s: %v", d.Place, d.Err) }

// ErrNoJournal is wrapped by the error for a directory without segments.
var ErrNoJournal = errors.New("no journal: it has no file *.nvj")

// Read calls f for every record of a journal that can be read, in order, until f
// fails. Of a segment that is damaged it reads what stands before the damage, tells
// hurt, and goes on with the next. It holds one segment in memory.
func Read(dir string, f func(Place, *transcript.Record) error, hurt func(Damage)) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.nvj"))
	if err != nil {
		return fmt.Errorf("read journal %s: %w", dir, err)
	}
	if len(names) == 0 {
		return fmt.Errorf("read %s: %w", dir, ErrNoJournal)
	}
	slices.Sort(names) // their numbers have leading zeros
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read journal %s: %w", dir, err)
		}
		var own error
		at, err := transcript.Scan(string(b), func(at int, r *transcript.Record) error {
			own = f(Place{filepath.Base(name), at}, r)
			return own
		})
		switch {
		case own != nil:
			return own
		case err != nil:
			hurt(Damage{Place{filepath.Base(name), at}, err, errors.Is(err, transcript.ErrTorn)})
		}
	}
	return nil
}

// IsJournal reports whether a path is a directory with segments of a journal.
func IsJournal(path string) bool {
	names, err := filepath.Glob(filepath.Join(path, "*.nvj"))
	return err == nil && len(names) > 0
}
