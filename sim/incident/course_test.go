package incident

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nova/core/serve"
	"nova/core/transcript"
)

// without is the journal without some of its segments.
func (s *studio) without(seqs ...uint64) string {
	dir := s.dir()
	for _, n := range seqs {
		if err := os.Remove(filepath.Join(dir, segmentName(n))); err != nil {
			s.t.Fatal(err)
		}
	}
	return dir
}

// turns are the first and the last turn of a segment.
func (s *studio) turns(seq int) (from, to uint64) {
	_, _ = transcript.Scan(string(s.segs[seq-1]), func(_ int, r *transcript.Record) error {
		if r.Kind == transcript.KTurn {
			if to = r.Turn.Serial; from == 0 {
				from = to
			}
		}
		return nil
	})
	return from, to
}

// A segment that is gone is named, and how many turns went with it; nothing that
// follows is taken for the whole.
func TestMissingSegment(t *testing.T) {
	s := film(t)
	from, to := s.turns(2)
	dir := s.without(2)
	r := replayed(t, dir, Options{})
	if len(r.Missing) != 1 || r.OK() || r.Diverged != nil {
		t.Fatalf("%s%+v", printed(t, r), r)
	}
	if m := r.Missing[0]; m.Gone != 1 || m.Files[0] != segmentName(2) || m.From != from || m.To != to || m.Turns() != to-from+1 {
		t.Errorf("turns %d to %d are missing, and it says %s", from, to, &m)
	}
	out := printed(t, r)
	if !strings.Contains(out, "MISSING journal-000000000002.nvj: ") || strings.Contains(out, "no divergence\n") || !strings.Contains(out, "the journal is not whole") {
		t.Error(out)
	}
	for _, turn := range []uint64{(from + to) / 2, to + 5} {
		if on, err := GoOn(dir, Going{From: turn, Whole: true}); !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), segmentName(2)) {
			t.Errorf("from turn %d it is taken for the whole: %+v, %v", turn, on, err)
		}
		if on := goneOn(t, dir, Going{From: turn}); on.Replay.OK() || len(on.Replay.Missing) != 1 {
			t.Errorf("from turn %d: %s", turn, printed(t, on.Replay))
		}
	}
	if on := goneOn(t, dir, Going{From: from - 1, Whole: true}); !on.Replay.OK() {
		t.Errorf("up to the hole nothing is missing, and: %s", printed(t, on.Replay))
	}
}

// More than one segment, and the last that are gone with no turn behind them.
func TestMissingSegments(t *testing.T) {
	s := film(t)
	s.cut()
	s.cut()
	s.cut()
	r := replayed(t, s.without(2, 4, 5), Options{})
	out := printed(t, r)
	if len(r.Missing) != 2 || r.Missing[1].Gone != 2 || r.Missing[1].Turns() != 0 || !strings.Contains(out, "MISSING journal-000000000004.nvj to journal-000000000005.nvj, 2 files: no turn is known") {
		t.Errorf("%s%+v", out, r.Missing)
	}
}

// Where a segment ends too early, that is no end of its process if that wrote on: not
// inside of a record, nor between two of them, nor at its very beginning.
func TestCutShort(t *testing.T) {
	s := film(t)
	from, to := s.turns(2)
	frames := []int{}
	_, _ = transcript.Scan(string(s.segs[1]), func(at int, r *transcript.Record) error {
		if r.Kind == transcript.KTurn {
			frames = append(frames, at)
		}
		return nil
	})
	last := frames[len(frames)-1]
	for name, c := range map[string]struct {
		size       int
		torn       bool
		from, turn uint64
	}{
		"inside of the last turn": {last + 5, true, to, to},
		"before the last turn":    {last, false, to, to},
		"empty":                   {0, true, from, to},
	} {
		t.Run(name, func(t *testing.T) {
			was := s.segs[1]
			defer func() { s.segs[1] = was }()
			s.segs[1] = was[:c.size]
			dir := s.dir()
			r := replayed(t, dir, Options{})
			if r.OK() || len(r.Missing) != 1 || r.Missing[0].Gone != 0 || r.Missing[0].From != c.from || r.Missing[0].To != c.turn {
				t.Errorf("%s%+v", printed(t, r), r.Missing)
			}
			if c.torn != (len(r.Damages) == 1 && r.Damages[0].Cut) || c.torn != strings.Contains(printed(t, r), "CUT SHORT journal-000000000002.nvj") {
				t.Errorf("%s%+v", printed(t, r), r.Damages)
			}
			if on, err := GoOn(dir, Going{From: to + 5, Whole: true}); !errors.Is(err, ErrNotWhole) {
				t.Errorf("it is taken for the whole: %+v, %v", on, err)
			}
		})
	}
}

// A process that was killed may leave a torn segment, and an empty one; the next goes
// on behind them. Its machines are not those of the first, which do not go on.
func TestKilledProcess(t *testing.T) {
	s := newStudio(t)
	s.roots = 1 << 24
	s.start(transcript.Begin{Role: transcript.Create, Spec: serve.Spec{Bucket: "b", Name: "n"}})
	s.run(100)
	s.start(transcript.Begin{Role: transcript.Star, Name: "first"})
	s.run(300)
	died := s.serial
	s.live = nil
	s.segs[0] = append(s.segs[0], 9, 0, 0)
	s.cut()
	s.segs[1] = nil
	s.cut()
	s.roots = 3 << 24
	s.start(transcript.Begin{Role: transcript.Star, Name: "second"})
	s.run(300)
	dir := s.dir()
	r := replayed(t, dir, Options{})
	if !r.OK() || len(r.Damages) != 2 || r.Damages[0].Cut || r.Damages[1].Cut || len(r.Killed) != 1 || r.Killed[0] != (Killed{segmentName(3), died, 1}) {
		t.Errorf("%s%+v", printed(t, r), r)
	}
	on := goneOn(t, dir, Going{From: s.serial})
	if len(on.Resumed) != 1 || !strings.Contains(on.Resumed[0], "second") {
		t.Errorf("on go %v", on.Resumed)
	}
	if on, err := GoOn(dir, Going{From: s.serial, Whole: true}); !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("what the killed one did last is not known: %+v, %v", on, err)
	}
	goneOn(t, dir, Going{From: died, Whole: true})
}

// A disk that took nothing for a while is told by the writer; its turns are not
// missing besides.
func TestDiskFailed(t *testing.T) {
	s := film(t)
	_, to := s.turns(1)
	at := 0
	_, _ = transcript.Scan(string(s.segs[0]), func(i int, r *transcript.Record) error {
		if r.Kind == transcript.KTurn && r.Turn.Serial == to-3 {
			at = i
		}
		return nil
	})
	s.segs[0] = s.segs[0][:at+3]
	second := s.segs[1]
	s.segs[1] = transcript.AppendFrame([]byte(transcript.Magic), &transcript.Record{Kind: transcript.KSegment, Segment: transcript.Segment{Seq: 2, Serial: to}})
	s.addTo(1, &transcript.Record{Kind: transcript.KGap, Gap: transcript.Gap{Dropped: 4}})
	if _, err := transcript.Scan(string(second), func(_ int, r *transcript.Record) error {
		if r.Kind != transcript.KSegment {
			s.addTo(1, r)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	r := replayed(t, s.dir(), Options{})
	if !r.OK() || r.Gaps != 1 || len(r.Missing) != 0 || r.Damages[0].Cut {
		t.Errorf("%s%+v", printed(t, r), r)
	}
	if on, err := GoOn(s.dir(), Going{From: s.serial, Whole: true}); !errors.Is(err, ErrNotWhole) {
		t.Errorf("with a gap it is taken for the whole: %+v, %v", on, err)
	}
}

// addTo adds a record to one of the segments.
func (s *studio) addTo(seg int, r *transcript.Record) {
	s.segs[seg] = transcript.AppendFrame(s.segs[seg], r)
}

// Segments of two journals in one directory are no journal.
func TestTwoJournals(t *testing.T) {
	s := film(t)
	s.segs[1], s.segs[2] = s.segs[2], s.segs[1]
	r := replayed(t, s.dir(), Options{})
	if out := printed(t, r); r.OK() || !strings.Contains(out, "DAMAGED journal-000000000002.nvj") || !strings.Contains(out, "it says that it is segment 3") {
		t.Error(out)
	}
}

// That nothing was compared is no success, and says what there is.
func TestNothingIsCompared(t *testing.T) {
	s := film(t)
	r := replayed(t, s.dir(), Options{Process: "nonsense"})
	if out := printed(t, r); r.OK() || !strings.Contains(out, "NOTHING was compared") || !strings.Contains(out, "there are: create-1, stars-2, auditor-3") {
		t.Error(out)
	}
	s.segs = [][]byte{nil}
	r = replayed(t, s.dir(), Options{})
	if out := printed(t, r); r.OK() || !strings.Contains(out, "no turn can be read") {
		t.Error(out)
	}
}

// A turn behind the end of a journal is not its end.
func TestBeyondTheEnd(t *testing.T) {
	s := film(t)
	dir := s.dir()
	if r, err := Replay(dir, Options{To: s.serial + 1}); !errors.Is(err, ErrBeyond) {
		t.Errorf("%+v, %v", r, err)
	}
	if on, err := GoOn(dir, Going{From: s.serial + 1}); !errors.Is(err, ErrBeyond) {
		t.Errorf("%+v, %v", on, err)
	}
	if _, err := Replay(dir, Options{To: s.serial}); err != nil {
		t.Error(err)
	}
}
