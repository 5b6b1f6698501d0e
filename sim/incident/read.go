package incident

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	Torn bool // it just ends there, as one does whose process was stopped while it wrote
	Cut  bool // Torn: and its process wrote on: something else has cut it off
}

func (d Damage) String() string { return fmt.Sprintf("%s: %v", d.Place, d.Err) }

// ErrNoJournal is wrapped by the error for a directory without segments.
var ErrNoJournal = errors.New("no journal: it has no file *.nvj")

// Read calls f for every record of a journal that can be read, in order, until f
// fails. Of a segment that is damaged it reads what stands before the damage, tells
// hurt, and goes on with the next. It holds one segment in memory.
func Read(dir string, f func(Place, *transcript.Record) error, hurt func(Damage)) error {
	names, err := segmentsOf(dir)
	if err != nil {
		return err
	}
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
			hurt(Damage{Place: Place{filepath.Base(name), at}, Err: err, Torn: errors.Is(err, transcript.ErrTorn)})
		}
	}
	return nil
}

// segmentsOf is the files of a journal, oldest first; at least one, or an error.
func segmentsOf(dir string) ([]string, error) {
	at, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", dir, err)
	}
	var names []string
	for _, d := range at { // by name: their numbers have leading zeros
		if filepath.Ext(d.Name()) == ".nvj" {
			names = append(names, filepath.Join(dir, d.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("read %s: %w", dir, ErrNoJournal)
	}
	return names, nil
}
