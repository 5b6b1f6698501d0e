package journal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nova/core"
	"nova/core/transcript"
	"nova/plain"
)

// counter is a machine that reads a row again and again, and adds up how long they
// were.
type counter struct {
	call core.Call
	sum  int64
	last string
}

func (m *counter) Step(t core.Turn) bool {
	for {
		r, ok := m.call.Await(t.In(1), core.Get(fmt.Sprint("row ", m.sum)))
		if !ok {
			return false
		}
		m.sum += int64(len(r.Val))
		m.last = r.Val
	}
}

// recorded is a counter that is driven by hand before a journal.
type recorded struct {
	m       *counter
	p       *Process
	x       core.Exchange
	pending core.Path
}

func begin(j *Journal) *recorded {
	m := &counter{}
	r := &recorded{m: m, p: j.Begin(transcript.Begin{Role: transcript.Star, Name: "s", Env: core.Env{Process: "p"}}, m)}
	r.x.Now = 1
	done := m.Step(r.x.Start())
	r.p.Turn(&r.x, true, done)
	r.pending = r.x.Out[0].At
	return r
}

func (r *recorded) turn(val string) {
	r.x.Now++
	done := r.m.Step(r.x.Deliver(r.pending, core.Reply{Val: val, Rev: 7}))
	r.p.Turn(&r.x, false, done)
	r.pending = r.x.Out[0].At
}

func open(t *testing.T, c Config) *Journal {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	j, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// segments are the files of a journal, oldest first.
func segments(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "journal-*.nvj"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// records reads a segment; a torn tail is reported.
func records(t *testing.T, name string) (all []transcript.Record, torn bool) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = transcript.Scan(string(b), func(_ int, r *transcript.Record) error {
		all = append(all, *r)
		return nil
	})
	if err != nil && !errors.Is(err, transcript.ErrTorn) {
		t.Fatalf("%s: %v", name, err)
	}
	return all, err != nil
}

func TestEveryTurnIsThere(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Config{Dir: dir, Now: func() core.Ms { return 77 }})
	r := begin(j)
	for i := range 100 {
		r.turn(strings.Repeat("v", i))
	}
	r.p.Over(errors.New("killed"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("a second close: %v", err)
	}
	all, torn := records(t, segments(t, dir)[0])
	if torn || len(all) != 104 || all[0].Segment.Wall != 77 || all[0].Segment.Seq != 1 || all[0].Segment.Go == "" {
		t.Fatalf("%d records, torn %v, first %+v", len(all), torn, all[0].Segment)
	}
	root := all[1].Begin.Root
	if all[1].Kind != transcript.KBegin || all[1].Begin.Name != "s" || root == 0 {
		t.Errorf("the machine begins as %+v", all[1].Begin)
	}
	for i, x := range all[2:103] {
		if x.Kind != transcript.KTurn || x.Turn.Root != root || x.Turn.N != uint64(i+1) || x.Turn.Serial != uint64(i+1) || x.Turn.Now != core.Ms(i+1) || x.Turn.First != (i == 0) || len(x.Turn.Out) != 1 {
			t.Fatalf("record %d is %+v", i, x.Turn)
		}
		if i > 0 && (x.Turn.Reply.Val != strings.Repeat("v", i-1) || x.Turn.Reply.Rev != 7 || x.Turn.At != core.Path{}.Then(1)) {
			t.Fatalf("turn %d was told %+v at %s", i, x.Turn.Reply, x.Turn.At)
		}
	}
	if end := all[103]; end.Kind != transcript.KEnd || end.End.Why != "killed" || end.End.Root != root {
		t.Errorf("the end is %+v", end)
	}
	if s := j.Stats(); s.Turns != 101 || s.Dropped != 0 || s.Bytes == 0 {
		t.Errorf("%+v", s)
	}
}

// The journal stays below its cap, and what is left can be read on its own: every
// segment in which a machine has turns has its state.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	c := Config{Dir: dir, Cap: 1 << 20, Segment: 64 << 10}
	j := open(t, c)
	r := begin(j)
	for i := range 4000 {
		r.turn(strings.Repeat("v", 1000))
		if i%50 == 0 {
			if err := j.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	names := segments(t, dir)
	size := int64(0)
	for _, n := range names {
		i, err := os.Stat(n)
		if err != nil {
			t.Fatal(err)
		}
		if size += i.Size(); i.Size() > c.Segment+4096 {
			t.Errorf("%s has %d bytes", n, i.Size())
		}
	}
	if size > c.Cap+4096 || size < c.Cap/2 || strings.HasSuffix(names[0], Name(1)) {
		t.Errorf("%d bytes in %d segments from %s", size, len(names), names[0])
	}
	last := uint64(0)
	for i, n := range names {
		all, torn := records(t, n)
		if torn || all[0].Kind != transcript.KSegment {
			t.Fatalf("%s begins with %s", n, all[0].Kind)
		}
		if i > 0 && all[0].Segment.Serial != last {
			t.Errorf("%s follows turn %d, and says %d", n, last, all[0].Segment.Serial)
		}
		stands := false
		for _, x := range all[1:] {
			switch x.Kind {
			case transcript.KState:
				var m counter
				if err := plain.Decode(x.State.Bytes, &m); err != nil || x.State.Shape != plain.Shape(&m) {
					t.Fatal(err)
				}
				if stands = true; x.State.N != last || len(x.State.Pending) != 1 || m.sum != 1000*int64(last-1) {
					t.Fatalf("%s: after turn %d its state is of %d: sum %d", n, last, x.State.N, m.sum)
				}
			case transcript.KTurn:
				if last > 0 && x.Turn.N != last+1 {
					t.Fatalf("%s: turn %d follows %d", n, x.Turn.N, last)
				}
				last = x.Turn.N
			}
		}
		// What was taken before a segment began goes into it ahead of the state.
		if !stands && i < len(names)-1 {
			t.Errorf("%s has %d records and no state", n, len(all))
		}
	}
	if last != 4001 {
		t.Errorf("the last turn is %d", last)
	}
}

// A process that was killed leaves a torn tail; the next goes on behind it, and no
// number comes back.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	c := Config{Dir: dir}
	j := open(t, c)
	r := begin(j)
	r.turn("a")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name := segments(t, dir)[0]
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\x20\x00\x00"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, torn := records(t, name); !torn {
		t.Fatal("the tail is not torn")
	}
	j = open(t, c)
	begin(j).turn("b")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	first, _ := records(t, name)
	next, torn := records(t, segments(t, dir)[1])
	if torn || next[0].Segment.Serial != 2 || next[2].Turn.Serial != 3 || next[1].Begin.Root <= first[1].Begin.Root {
		t.Errorf("after %+v\n%+v", first[1:], next)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	c := Config{Dir: t.TempDir()}
	open(t, c)
	if j, err := Open(c); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one opens it: %v, %v", j, err)
	}
	for _, bad := range []Config{{Dir: t.TempDir(), Cap: 1000}, {Dir: t.TempDir(), Cap: 1 << 20, Segment: 1 << 20}} {
		if _, err := Open(bad); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Where the writer cannot follow, turns are left out at once, counted and noted; and
// the machine's state follows the gap.
func TestTheWriterCannotFollow(t *testing.T) {
	for name, hinder := range map[string]func(j *Journal, r *recorded){
		"buffer": func(j *Journal, r *recorded) {
			for j.Stats().Dropped == 0 { // faster than the writer, which lets records wait for company
				r.turn(strings.Repeat("v", 1000))
			}
		},
		"disk": func(j *Journal, r *recorded) {
			if err := j.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = j.file.at.Close() // writes fail from now on
			r.turn("lost with what was on its way")
			if err := j.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			// It came while the disk failed, and waits: the note comes before it.
			j.mu.Lock()
			j.failing = false
			j.mu.Unlock()
			r.turn("written")
			j.mu.Lock()
			j.failing = true
			j.mu.Unlock()
			r.turn("lost at once")
			for failing := true; failing; time.Sleep(time.Millisecond) {
				j.mu.Lock()
				failing = j.failing
				j.mu.Unlock()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, Config{Dir: dir, Buffer: 16 << 10})
			r := begin(j)
			hinder(j, r)
			if err := j.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			dropped := j.Stats().Dropped
			if dropped == 0 {
				t.Fatal("nothing was left out")
			}
			for range 3 {
				r.turn("b")
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			var last, noted uint64
			gap, stood := false, false
			var serial, since uint64
			for _, n := range segments(t, dir) {
				all, _ := records(t, n)
				for _, x := range all {
					switch x.Kind {
					case transcript.KGap:
						noted += x.Gap.Dropped
						since += x.Gap.Dropped
					case transcript.KTurn:
						if x.Turn.Serial > serial+1+since {
							t.Errorf("turn %d follows %d, and %d were noted between", x.Turn.Serial, serial, since)
						}
						serial, since = x.Turn.Serial, 0
						gap = gap || x.Turn.N != last+1
						last = x.Turn.N
					case transcript.KState:
						stood = x.State.N == last && last == x.State.N && gap
					}
				}
			}
			if !gap || !stood || int64(noted) != dropped {
				t.Errorf("gap %v, state after it %v, %d noted of %d", gap, stood, noted, dropped)
			}
		})
	}
}

// A machine that panics is on the disk before its process ends.
func TestPanic(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Config{Dir: dir})
	r := begin(j)
	r.x.Deliver(r.pending, core.Reply{Val: "the one"})
	r.p.Fell(&r.x, false, "why")
	r.p.Over(nil)
	all, _ := records(t, segments(t, dir)[0]) // the journal is still open
	if x := all[len(all)-1]; x.Kind != transcript.KTurn || x.Turn.Panic != "panic: why" || x.Turn.Reply.Val != "the one" {
		t.Errorf("the last record is %+v", x)
	}
}

func TestTailsAreBlanked(t *testing.T) {
	dir := t.TempDir()
	j := open(t, Config{Dir: dir})
	const secret = "the bytes of a record"
	for _, op := range []core.Op{core.ReadTail(core.Obj{}, 100), core.ReadRange(core.Obj{}, 0, 100)} {
		p := j.Begin(transcript.Begin{Role: transcript.Star}, &counter{})
		var x core.Exchange
		x.Start()
		x.Out = []core.Effect{{Op: op}}
		p.Turn(&x, true, false)
		x.Deliver(core.Path{}, core.Reply{Val: secret, Size: int64(len(secret))})
		p.Turn(&x, false, true)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(segments(t, dir)[0])
	if err != nil || strings.Contains(string(b), secret) {
		t.Errorf("the journal holds %q: %v", secret, err)
	}
}

// What a turn costs the goroutine that runs a machine, on top of the turn itself:
// one that reads a row of 200 bytes.
func BenchmarkTurn(b *testing.B) {
	val := strings.Repeat("v", 200)
	b.Run("unrecorded", func(b *testing.B) {
		m := &counter{}
		var x core.Exchange
		m.Step(x.Start())
		for b.Loop() {
			m.Step(x.Deliver(x.Out[0].At, core.Reply{Val: val, Rev: 7}))
		}
	})
	b.Run("recorded", func(b *testing.B) {
		j, err := Open(Config{Dir: b.TempDir(), Cap: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		r := begin(j)
		b.ReportAllocs()
		for b.Loop() {
			r.turn(val)
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
		s := j.Stats()
		b.ReportMetric(100*float64(s.Dropped)/float64(s.Dropped+s.Turns), "%dropped")
	})
}
