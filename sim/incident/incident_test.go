package incident

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nova/core"
	"nova/core/serve"
	"nova/core/transcript"
	"nova/plain"
	"nova/sim/world"
)

// studio records machines over a world in which everything lands at once.
type studio struct {
	t             *testing.T
	w             *world.World
	now           core.Ms
	env           core.Env
	segs          [][]byte
	first         int // how many segments before them are gone
	roots, serial uint64
	live          []*recorded
}

type recorded struct {
	begin   transcript.Begin
	m       transcript.Machine
	x       core.Exchange
	n       uint64
	pending []core.Effect
	push    []string // requests that wait
	gave    []string
	done    bool
}

func newStudio(t *testing.T) *studio {
	s := &studio{t: t, now: 1_790_000_000_000}
	s.env.Dials = core.Spec()
	s.env.Dials.Shards, s.env.Dials.LiveHeadProbe = 2, 1000
	s.env.Dials.Linger, s.env.Dials.AgeCap = [2]core.Ms{100, 100}, [2]core.Ms{500, 500}
	s.env.Dials.ReadGrace, s.env.Dials.RequestLife, s.env.Dials.Admission, s.env.Dials.Service, s.env.Dials.Skew, s.env.Dials.Confirm = 3000, 1000, 500, 300, 50, 100
	s.env.Dials.PlanTTL, s.env.Dials.FooterLife, s.env.Dials.OrphanGrace, s.env.Dials.ReapBucket = 1000, 1000, 2000, 100
	s.env.Stores = core.Stores{Of: [core.Classes][]core.Store{{"std"}, {"exp"}}}
	s.env.Generation = 1
	s.w = world.New(world.LimitsOf(&s.env.Dials), world.Dialect{RepeatComplete: core.Absent}, "std", "exp")
	s.cut()
	return s
}

// cut begins a segment.
func (s *studio) cut() {
	s.segs = append(s.segs, []byte(transcript.Magic))
	s.add(&transcript.Record{Kind: transcript.KSegment, Segment: transcript.Segment{Seq: uint64(len(s.segs)), Serial: s.serial, Go: "go", Commit: "c"}})
}

func (s *studio) add(r *transcript.Record) {
	n := len(s.segs) - 1
	s.segs[n] = transcript.AppendFrame(s.segs[n], r)
}

// state records how a machine stands.
func (s *studio) state(r *recorded) {
	s.add(&transcript.Record{Kind: transcript.KState, State: transcript.State{Begin: r.begin, N: r.n, Now: s.now, Pending: r.pending,
		Shape: plain.Shape(r.m.State()), Bytes: string(plain.Append(nil, r.m.State()))}})
}

func (s *studio) start(b transcript.Begin) *recorded {
	s.roots++
	b.Root, b.Env = s.roots, s.env
	b.Env.Process = fmt.Sprintf("%s%s-%d", b.Role, b.Name, s.roots)
	r := &recorded{begin: b}
	var err error
	if r.m, err = r.begin.Boot(); err != nil {
		s.t.Fatal(err)
	}
	s.w.Meta.Grant(b.Env.Process, s.now+1<<40)
	s.add(&transcript.Record{Kind: transcript.KBegin, Begin: b})
	s.live = append(s.live, r)
	s.turn(r, true, core.Path{}, core.Reply{})
	return r
}

func (s *studio) turn(r *recorded, first bool, at core.Path, re core.Reply) {
	r.x.Now = s.now
	t := r.x.Start()
	if !first {
		t = r.x.Deliver(at, re)
	}
	r.done = r.m.Step(t)
	r.n++
	s.serial++
	s.add(&transcript.Record{Kind: transcript.KTurn, Turn: transcript.Turn{Root: r.begin.Root, Serial: s.serial, N: r.n, Now: s.now, First: first, At: at, Reply: re, Out: r.x.Out, Done: r.done}})
	r.pending = append(r.pending, r.x.Out...)
	if r.done {
		s.end(r, "")
	}
}

func (s *studio) end(r *recorded, why string) {
	s.add(&transcript.Record{Kind: transcript.KEnd, End: transcript.End{Root: r.begin.Root, Why: why}})
	for i, x := range s.live {
		if x == r {
			s.live = append(s.live[:i:i], s.live[i+1:]...)
		}
	}
}

// run lets everything land at once, for a while.
func (s *studio) run(ms core.Ms) {
	for end := s.now + ms; s.now < end; {
		moved := false
		for _, r := range append([]*recorded(nil), s.live...) {
			for i := 0; i < len(r.pending) && !r.done; i++ {
				e := r.pending[i]
				re, ok := s.answer(r, &e.Op)
				if !ok {
					continue
				}
				r.pending = append(r.pending[:i:i], r.pending[i+1:]...)
				i--
				s.turn(r, false, e.At, re)
				moved = true
			}
		}
		if !moved {
			s.now += 50
		}
	}
}

func (s *studio) answer(r *recorded, op *core.Op) (re core.Reply, ok bool) {
	switch op.Kind {
	case core.KWait:
		return re, s.now >= op.Until
	case core.KTake:
		if len(r.push) == 0 {
			return re, false
		}
		re.Val, r.push = r.push[0], r.push[1:]
		return re, true
	case core.KGive:
		r.gave = append(r.gave, op.Val)
		return re, true
	case core.KStage:
		return re, true
	}
	return s.w.Apply(op, world.When{Now: s.now, Admitted: s.now, Session: r.begin.Env.Process}), true
}

// dir writes the segments.
func (s *studio) dir() string {
	dir := s.t.TempDir()
	for i, b := range s.segs {
		if err := os.WriteFile(filepath.Join(dir, segmentName(uint64(s.first+i+1))), b, 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	return dir
}

// drop takes the first segments away, as a journal does that becomes too large.
func (s *studio) drop(n int) { s.segs, s.first = s.segs[n:], s.first+n }

// film is a star that takes one stream in and an auditor that settles it, in three
// segments; the second and third begin with their states.
func film(t *testing.T) *studio {
	s := newStudio(t)
	s.start(transcript.Begin{Role: transcript.Create, Spec: serve.Spec{Bucket: "b", Name: "n"}})
	s.run(100)
	star := s.start(transcript.Begin{Role: transcript.Star, Name: "s"})
	s.run(200)
	star.push = append(star.push, serve.Request{Verb: serve.VerbOpen, ID: 1, Stream: 1}.Encode())
	s.run(200)
	for i := range 3 {
		star.push = append(star.push, serve.Request{Verb: serve.VerbAppend, ID: uint64(i + 2), Chunks: []serve.AppendChunk{{Stream: 1, Count: 2, Len: 50, Blob: uint64(i + 1), CRC: world.BlobCRC(uint64(i+1), 0, 50)}}}.Encode())
		s.run(300)
	}
	s.cut()
	s.state(star)
	auditor := s.start(transcript.Begin{Role: transcript.Auditor})
	s.run(2000)
	s.cut()
	s.state(star)
	s.state(auditor)
	s.run(8000)
	if len(star.gave) != 4 || s.w.Bucket("std").Len() == 0 {
		t.Fatalf("the star gave %d answers, %d objects stand", len(star.gave), s.w.Bucket("std").Len())
	}
	return s
}

func replayed(t *testing.T, dir string, o Options) *Result {
	t.Helper()
	r, err := Replay(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func printed(t *testing.T, r *Result) string {
	t.Helper()
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReplayDoesTheSame(t *testing.T) {
	s := film(t)
	r := replayed(t, s.dir(), Options{})
	if !r.OK() || r.Machines != 3 || r.Turns != int(s.serial) || r.States != 3 || r.Skipped != 0 || r.Segments != 3 || r.To <= r.From {
		t.Fatalf("%s%+v", printed(t, r), r)
	}
	t.Log(printed(t, r))
	if r := replayed(t, s.dir(), Options{To: 20}); r.Turns != 20 || !r.OK() {
		t.Errorf("up to turn 20: %+v", r)
	}
	for _, name := range []string{"s", "star", "stars-2", "stars"} {
		if r := replayed(t, s.dir(), Options{Process: name}); r.Machines != 1 || r.Turns == 0 || r.Turns == int(s.serial) || r.Skipped != 0 || !r.OK() {
			t.Errorf("of %s: %+v", name, r)
		}
	}
	if _, err := Replay(t.TempDir(), Options{}); !errors.Is(err, ErrNoJournal) {
		t.Errorf("an empty directory: %v", err)
	}
}

// Without its first segments, every machine is taken up from its state.
func TestReplayFromTheMiddle(t *testing.T) {
	s := film(t)
	s.drop(2)
	r := replayed(t, s.dir(), Options{})
	if !r.OK() || r.Machines != 2 || r.Turns == 0 || r.Skipped != 0 || r.States != 0 {
		t.Errorf("%s%+v", printed(t, r), r)
	}
}

// Other dials: the first turn in which they tell is named.
func TestOtherDialsDiverge(t *testing.T) {
	s := film(t)
	r := replayed(t, s.dir(), Options{Change: func(b *transcript.Begin) { b.Env.Dials.PollEvery += 7 }})
	d := r.Diverged
	if d == nil || r.OK() {
		t.Fatalf("nothing diverges: %+v", r)
	}
	if d.What != "it asks for something else" || len(d.Want) == 0 || len(d.Got) == 0 || !strings.HasPrefix(d.Machine, "auditor") || !strings.Contains(d.Want[0], "Kind:scan") || d.State == "" {
		t.Errorf("%s", printed(t, r))
	}
	for _, want := range []string{"DIVERGED at turn", "wanted ", "got ", "state ", d.Place.Segment} {
		if !strings.Contains(printed(t, r), want) {
			t.Errorf("the report lacks %q:\n%s", want, printed(t, r))
		}
	}
}

// rewrite changes a record, and frames it again with the right checksum.
func (s *studio) rewrite(change func(*transcript.Record) bool) (serial uint64) {
	for i, seg := range s.segs {
		out := []byte(transcript.Magic)
		if _, err := transcript.Scan(string(seg), func(_ int, r *transcript.Record) error {
			if serial == 0 && change(r) {
				serial = r.Turn.Serial
			}
			out = transcript.AppendFrame(out, r)
			return nil
		}); err != nil {
			s.t.Fatal(err)
		}
		s.segs[i] = out
	}
	return serial
}

func TestChangedRecordsDiverge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*transcript.Record) bool
		what   string
	}{
		"an effect": {func(r *transcript.Record) bool {
			if r.Kind != transcript.KTurn || len(r.Turn.Out) == 0 || r.Turn.Out[0].Op.Kind != core.KTxn || r.Turn.Serial < 100 {
				return false
			}
			r.Turn.Out[0].Op.Txn[0].At.Key += "x"
			return true
		}, "it asks for something else"},
		"a missing effect": {func(r *transcript.Record) bool {
			if r.Kind != transcript.KTurn || len(r.Turn.Out) < 2 || r.Turn.Serial < 100 {
				return false
			}
			r.Turn.Out = r.Turn.Out[1:]
			return true
		}, "it asks for something else"},
		"done": {func(r *transcript.Record) bool {
			if r.Kind != transcript.KTurn || !r.Turn.Done {
				return false
			}
			r.Turn.Done = false
			return true
		}, "it is done, and went on"},
		"a panic": {func(r *transcript.Record) bool {
			if r.Kind != transcript.KTurn || r.Turn.Serial < 30 {
				return false
			}
			r.Turn.Panic = "panic: then"
			return true
		}, `it panicked (panic: then), and now: ""`},
		"a state": {func(r *transcript.Record) bool {
			if r.Kind != transcript.KState {
				return false
			}
			r.State.Bytes = strings.Replace(r.State.Bytes, "\x01s", "\x01t", 1)
			return true
		}, "its state is another than the recorded one"},
	} {
		t.Run(name, func(t *testing.T) {
			s := film(t)
			want := s.rewrite(c.change)
			r := replayed(t, s.dir(), Options{})
			if r.Diverged == nil || r.Diverged.What != c.what || r.Diverged.Serial != want {
				t.Errorf("want turn %d: %s\n%s", want, c.what, printed(t, r))
			}
		})
	}
}

// An effect that is recorded in another order is the same set.
func TestEffectsAreASet(t *testing.T) {
	s := film(t)
	if s.rewrite(func(r *transcript.Record) bool {
		n := len(r.Turn.Out)
		if n < 2 {
			return false
		}
		r.Turn.Out[0], r.Turn.Out[n-1] = r.Turn.Out[n-1], r.Turn.Out[0]
		return true
	}) == 0 {
		t.Fatal("no turn emits two effects")
	}
	if r := replayed(t, s.dir(), Options{}); !r.OK() {
		t.Error(printed(t, r))
	}
}

func TestDamage(t *testing.T) {
	s := film(t)
	whole := replayed(t, s.dir(), Options{}).Turns
	for name, c := range map[string]struct {
		hurt func()
		torn bool
		ok   bool
		seg  string
	}{
		"torn tail":   {func() { s.segs[2] = s.segs[2][:len(s.segs[2])-3] }, true, true, "journal-000000000003.nvj"},
		"torn middle": {func() { s.segs[0] = s.segs[0][:len(s.segs[0])-3] }, true, false, "journal-000000000001.nvj"},
		"one bit":     {func() { s.segs[1] = append([]byte(nil), s.segs[1]...); s.segs[1][len(s.segs[1])/2] ^= 4 }, false, false, "journal-000000000002.nvj"},
	} {
		t.Run(name, func(t *testing.T) {
			was := append([][]byte(nil), s.segs...)
			defer func() { s.segs = was }()
			c.hurt()
			r := replayed(t, s.dir(), Options{})
			if len(r.Damages) != 1 || r.Damages[0].Torn != c.torn || r.Damages[0].Segment != c.seg || r.Damages[0].At == 0 {
				t.Fatalf("%+v", r.Damages)
			}
			if r.OK() != c.ok || r.Diverged != nil || r.Turns == 0 || r.Turns >= whole {
				t.Errorf("%s%+v", printed(t, r), r)
			}
			if !strings.Contains(printed(t, r), c.seg+" at offset") {
				t.Errorf("the report does not say where:\n%s", printed(t, r))
			}
		})
	}
}

// A turn that is missing costs its machine what follows, up to its next state.
func TestGap(t *testing.T) {
	s := film(t)
	out, dropped := []byte(transcript.Magic), false
	if _, err := transcript.Scan(string(s.segs[1]), func(_ int, r *transcript.Record) error {
		if !dropped && r.Kind == transcript.KTurn && r.Turn.N > 20 {
			dropped = true
			r = &transcript.Record{Kind: transcript.KGap, Gap: transcript.Gap{Dropped: 1}}
		}
		out = transcript.AppendFrame(out, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.segs[1] = out
	r := replayed(t, s.dir(), Options{})
	if !r.OK() || r.Gaps != 1 || r.Dropped != 1 || r.Skipped == 0 || r.Turns+r.Skipped != int(s.serial)-1 {
		t.Errorf("%s%+v", printed(t, r), r)
	}
}

// A machine that panicked in production panics again, and that is no divergence.
func TestAPanicComesAgain(t *testing.T) {
	for _, why := range []string{"panic: core: group out of bounds", "panic: something else"} {
		s := newStudio(t)
		s.env.Dials.FootersAbreast = 0
		b := transcript.Begin{Root: 1, Role: transcript.Fetch, Env: s.env, Extents: []serve.Extent{{Count: 1}}}
		s.add(&transcript.Record{Kind: transcript.KBegin, Begin: b})
		s.add(&transcript.Record{Kind: transcript.KTurn, Turn: transcript.Turn{Root: 1, Serial: 1, N: 1, First: true, Panic: why}})
		r := replayed(t, s.dir(), Options{})
		again := strings.HasSuffix(why, "bounds")
		if r.OK() != again || again != (len(r.Fell) == 1) || again != strings.Contains(printed(t, r), "again: turn 1 of fetch") {
			t.Errorf("%q: %s", why, printed(t, r))
		}
	}
}

// A reply that finds no call was the end of the machine in production; if it went on
// there, it does not do the same here.
func TestABrokenContractComesAgain(t *testing.T) {
	for _, ended := range []bool{true, false} {
		s := newStudio(t)
		r := s.start(transcript.Begin{Role: transcript.Create, Spec: serve.Spec{Bucket: "b", Name: "n"}})
		s.turn(r, false, core.Path{}.Then(77), core.Reply{})
		if ended {
			s.end(r, "the machine broke its contract")
		} else {
			s.run(100)
		}
		res := replayed(t, s.dir(), Options{})
		if res.OK() != ended || ended != (len(res.Fell) == 1) || !ended && res.Diverged.N != 3 {
			t.Errorf("ended %v: %s", ended, printed(t, res))
		}
	}
}

// The state of another build's types is not misread: what follows it is left out.
func TestStatesOfAnotherBuild(t *testing.T) {
	s := film(t)
	for range 3 {
		s.rewrite(func(r *transcript.Record) bool {
			if r.Kind != transcript.KState || r.State.Shape == 1 {
				return false
			}
			r.State.Shape, r.Turn.Serial = 1, 1
			return true
		})
	}
	if r := replayed(t, s.dir(), Options{}); !r.OK() || r.Turns != int(s.serial) || r.Foreign != 0 || r.States != 0 {
		t.Errorf("from the beginning: %s%+v", printed(t, r), r)
	}
	s.drop(2)
	r := replayed(t, s.dir(), Options{})
	if r.OK() || r.Foreign != 2 || r.Skipped == 0 || r.Turns != 0 || !strings.Contains(printed(t, r), "of other types") {
		t.Errorf("from the middle: %s%+v", printed(t, r), r)
	}
}
