package incident

import (
	"fmt"
	"path/filepath"

	"nova/core/transcript"
)

// course follows a recording from segment to segment: their numbers have no holes,
// nor have those of the turns in them. What is not there is told, since machines that
// begin anew from a state behind a hole diverge from nothing.
type course struct {
	res     *Result
	present map[string]bool // names of the files that stand
	seq     uint64          // of the segment that is read; 0: none was yet
	was     uint64          // of the one before
	last    uint64          // the last turn
	gap     uint64          // records that the writer says it left out, since the last turn
	writer  uint64          // the first segment of the process that writes
	torn    []int           // damages of which it is not known whether their writer went on
	prev    string          // the segment before
	name    string          // the segment that is read
	turns   bool            // it has one
	open    bool            // the last of res.Missing awaits the turn behind it
}

// Missing is a part of a recording that is not there, and of which its writer does
// not say that it left it out.
type Missing struct {
	Files    []string // that are gone; at most the first and the last of many
	Gone     uint64   // how many files are
	After    string   // the segment before
	From, To uint64   // the turns that are not there, both included; none if To is less
}

// Turns is how many turns are missing.
func (m *Missing) Turns() uint64 { return max(m.To+1, m.From) - m.From }

func (m *Missing) String() string {
	s := "after " + m.After
	switch {
	case m.Gone == 1:
		s = m.Files[0]
	case m.Gone > 1:
		s = fmt.Sprintf("%s to %s, %d files", m.Files[0], m.Files[len(m.Files)-1], m.Gone)
	}
	if n := m.Turns(); n > 0 {
		return fmt.Sprintf("%s: %d turns, from %d to %d", s, n, m.From, m.To)
	}
	return s + ": no turn is known to have been there"
}

// segmentName is the name of a segment's file, as its writer gives it.
func segmentName(seq uint64) string { return fmt.Sprintf("journal-%012d.nvj", seq) }

// numberOf is the segment's number by its file's name; 0: the name is not one that
// the writer gives.
func numberOf(name string) (seq uint64) {
	if _, err := fmt.Sscanf(name, "journal-%d.nvj", &seq); err != nil || segmentName(seq) != name {
		return 0
	}
	return seq
}

// stand says which files there are.
func (c *course) stand(dir string) error {
	names, err := segmentsOf(dir)
	c.present = map[string]bool{}
	for _, n := range names {
		c.present[filepath.Base(n)] = true
	}
	return err
}

// hurt takes a damage in.
func (c *course) hurt(d Damage) {
	if d.Torn {
		c.torn = append(c.torn, len(c.res.Damages))
	}
	c.res.Damages = append(c.res.Damages, d)
}

// wrong is a record that cannot follow what was before it.
func (c *course) wrong(at Place, format string, args ...any) {
	c.hurt(Damage{Place: at, Err: fmt.Errorf("%w: %s", transcript.ErrDamaged, fmt.Sprintf(format, args...))})
}

// segment begins a segment.
func (c *course) segment(at Place, s *transcript.Segment) {
	if n := numberOf(at.Segment); n > 0 && n != s.Seq {
		c.wrong(at, "it says that it is segment %d", s.Seq)
	}
	was := c.seq
	c.was, c.seq, c.prev, c.name, c.turns = was, s.Seq, c.name, at.Segment, false
	switch {
	case was == 0:
		c.res.Oldest = s.Seq
		return
	case s.Seq <= was:
		c.wrong(at, "segment %d follows segment %d: they are of two journals", s.Seq, was)
		return
	}
	m := Missing{After: c.prev, From: c.last + 1, To: c.last}
	for n := was + 1; n < s.Seq && m.Gone < 1<<20; n++ {
		if name := segmentName(n); !c.present[name] {
			m.Gone++
			m.Files = append(m.Files[:min(len(m.Files), 1)], name)
		}
	}
	if m.Gone > 0 {
		c.res.Missing = append(c.res.Missing, m)
		c.open = true
	}
}

// turn follows the number of a turn.
func (c *course) turn(at Place, serial uint64) {
	begun, next := c.last > 0 || c.res.Oldest == 1, c.last+1
	switch {
	case begun && serial < next:
		c.wrong(at, "turn %d follows turn %d", serial, c.last)
		return
	case begun && c.open:
		c.res.Missing[len(c.res.Missing)-1].To = serial - 1
	case begun && serial-next > c.gap:
		m := Missing{After: c.name, From: next, To: serial - 1}
		if !c.turns {
			m.After = c.prev
		}
		c.res.Missing = append(c.res.Missing, m)
	}
	if c.res.First == 0 {
		c.res.First = serial
	}
	c.last, c.gap, c.open, c.turns = serial, 0, false, true
	c.res.Last = serial
}

// gaps: the writer says that it left something out.
func (c *course) gaps(dropped uint64) {
	c.gap += dropped
	c.torn = nil // its disk failed; it says so itself
}

// rootOf is the segment with which the process began that a machine is of: its
// number is in the machine's.
func rootOf(root uint64) uint64 { return root >> 24 }

// of takes a machine's number in. A process numbers its machines by its first segment:
// so a torn segment of one that wrote on was not torn by its end. It reports whether
// this is the first machine of another process, which then began behind the segment
// before.
func (c *course) of(root uint64) (another bool) {
	w := rootOf(root)
	for _, i := range c.torn {
		if d := &c.res.Damages[i]; numberOf(d.Segment) >= w {
			d.Cut = true
		}
	}
	c.torn = nil
	if another = w > c.writer && w > c.was && w <= c.seq; another {
		c.writer = w
	}
	return another
}
