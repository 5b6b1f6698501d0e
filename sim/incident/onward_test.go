package incident

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/serve"
	"nova/core/transcript"
	"nova/faults"
	"nova/sim"
	"nova/sim/world"
)

func goneOn(t *testing.T, dir string, g Going) *Onward {
	t.Helper()
	on, err := GoOn(dir, g)
	if err != nil {
		t.Fatal(err)
	}
	if on.Report == nil {
		t.Fatalf("it diverges before: %s", printed(t, on.Replay))
	}
	return on
}

// What a whole recording tells is the world as it was: every row at its revision,
// every object with its footer and checksums.
func TestTheWorldIsBuiltAgain(t *testing.T) {
	s := film(t)
	p := newPlay(Options{})
	p.known = newKnown()
	if err := p.read(s.dir()); err != nil {
		t.Fatal(err)
	}
	on := &Onward{}
	x := &scene{g: Going{Whole: true}, on: on, live: p.standing(on), known: p.known, bodies: map[core.Obj]*world.Body{}}
	if err := x.build(); err != nil {
		t.Fatal(err)
	}
	if x.w.Meta.Len() != s.w.Meta.Len() || x.w.Meta.Rev() != s.w.Meta.Rev() || on.Rows != s.w.Meta.Len() {
		t.Errorf("%d rows to revision %d, not %d to %d", x.w.Meta.Len(), x.w.Meta.Rev(), s.w.Meta.Len(), s.w.Meta.Rev())
	}
	for i := range s.w.Meta.Len() {
		want := s.w.Meta.Row(i)
		if got, _ := x.w.Meta.Lookup(want.Key); got != want {
			t.Errorf("row %+v is %+v", want, got)
		}
	}
	objects := 0
	for _, b := range s.w.Buckets() {
		for i := range b.Len() {
			want := b.Object(i)
			got := x.w.Bucket(b.Name).Lookup(want.Key)
			if got == nil || got.Size() != want.Size() {
				t.Errorf("object %s is %+v", want.Key, got)
				continue
			}
			tail, err := format.ParseTail(want.Tail(want.Size()), want.Size())
			if err != nil || got.Tail(tail.Window.Len+format.TrailerSize) != want.Tail(tail.Window.Len+format.TrailerSize) {
				t.Errorf("the tail of %s: %v", want.Key, err)
			}
			for k := range tail.Footer.Len() {
				if c := tail.Footer.At(k); got.Body.CRC(c.Off, c.Len) != c.CRC {
					t.Errorf("chunk %d of %s has another checksum", k, want.Key)
				}
			}
			objects++
		}
		if x.w.Bucket(b.Name).Len() != b.Len() || len(x.w.Bucket(b.Name).Uploads()) != len(b.Uploads()) {
			t.Errorf("store %s has %d objects, not %d", b.Name, x.w.Bucket(b.Name).Len(), b.Len())
		}
	}
	if objects == 0 || objects != on.Objects || on.Dark != 0 {
		t.Errorf("%d objects, %d were filled in, %d are dark", objects, on.Objects, on.Dark)
	}
}

// From any turn on, under any faults, machines that are right break no law.
func TestGoOn(t *testing.T) {
	s := film(t)
	dir := s.dir()
	worked := int64(0)
	for seed := range uint64(8) {
		from := 40 + seed*(s.serial-40)/8
		on := goneOn(t, dir, Going{From: from, Seed: seed, Whole: true})
		if on.Report.Breach != nil {
			t.Errorf("from turn %d, seed %d: %v", from, seed, on.Report.Breach)
		}
		if on.Report.Count.Effects == 0 || len(on.Resumed) == 0 || on.Rows == 0 {
			t.Errorf("from turn %d, seed %d: %+v", from, seed, on)
		}
		worked += on.Report.Count.Changes
		if again := goneOn(t, dir, Going{From: from, Seed: seed, Whole: true}); again.Report.Sum != on.Report.Sum {
			t.Errorf("from turn %d, seed %d: two runs differ", from, seed)
		}
	}
	if worked == 0 {
		t.Error("nothing was written by any of them")
	}
	// Which work comes up is a matter of the draw: until each has.
	var sum sim.Count
	work := []core.NoteKind{core.NoteSlotCommitted, core.NoteSettleOutput, core.NoteReapDeleted, core.NoteTeardownFinal}
	idle := func(n core.NoteKind) bool { return sum.Notes[n] == 0 }
	for seed := uint64(0); seed < 6 || seed < 80 && slices.ContainsFunc(work, idle); seed++ {
		on := goneOn(t, dir, Going{From: 60 + seed%12*(s.serial-60)/12, Seed: seed, Whole: true, Clients: true, Effects: 3000})
		if on.Report.Breach != nil {
			t.Errorf("with clients, seed %d: %v", seed, on.Report.Breach)
		}
		sum.Add(&on.Report.Count)
	}
	for _, n := range work {
		if idle(n) {
			t.Errorf("with clients, no %s in %d effects", n, sum.Effects)
		}
	}
}

// Of a journal whose beginning is gone, what is not known is dark, and the laws that
// need it are not judged; to call it whole is refused.
func TestGoOnFromAPart(t *testing.T) {
	s := film(t)
	s.drop(1)
	dir := s.dir()
	for seed := range uint64(6) {
		on := goneOn(t, dir, Going{From: s.serial - 20*seed, Seed: seed})
		if on.Report.Breach != nil || on.Report.Count.Effects == 0 {
			t.Errorf("seed %d: %v after %d effects", seed, on.Report.Breach, on.Report.Count.Effects)
		}
		if on.Report.Count.Laws[sim.LawWatched] != 0 || on.Report.Count.Laws[sim.LawCursors] == 0 {
			t.Errorf("seed %d: laws were judged %v", seed, on.Report.Count.Laws)
		}
		var b strings.Builder
		if err := on.Print(&b); err != nil || !strings.Contains(b.String(), "no law that is judged breaks") || strings.Contains(b.String(), "1 watched") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
	if on, err := GoOn(dir, Going{From: s.serial, Whole: true}); !errors.Is(err, ErrNotWhole) {
		t.Errorf("a part is taken for the whole: %+v, %v", on, err)
	}
}

// Where no machine is at work, there is nothing to go on with.
func TestGoOnFromNothing(t *testing.T) {
	s := newStudio(t)
	s.start(transcript.Begin{Role: transcript.Create, Spec: serve.Spec{Bucket: "b", Name: "n"}})
	s.run(100)
	if on, err := GoOn(s.dir(), Going{From: s.serial}); !errors.Is(err, ErrNothing) {
		t.Errorf("%+v, %v", on, err)
	}
}

// The laws see what goes wrong: a delete of an object that a live ref names.
func TestGoOnSeesABreach(t *testing.T) {
	s := film(t)
	p := newPlay(Options{})
	p.known = newKnown()
	if err := p.read(s.dir()); err != nil {
		t.Fatal(err)
	}
	on := &Onward{}
	x := &scene{on: on, live: p.standing(on), known: p.known, bodies: map[core.Obj]*world.Body{}}
	if err := x.build(); err != nil {
		t.Fatal(err)
	}
	var live *core.Obj
	for _, b := range x.w.Buckets() {
		for i := range b.Len() {
			if o := (core.Obj{Store: b.Name, Key: b.Object(i).Key}); x.laws.judge.Live(o) {
				live = &o
			}
		}
	}
	if live == nil {
		t.Fatal("no live ref names any object")
	}
	x.live[0].pending[core.Path{}.Then(999)] = sent{op: core.Delete(*live)}
	r := sim.Run(sim.Config{Dials: &x.live[0].begin.Env.Dials, Plan: &faults.Plan{}, Effects: 2000, Instant: true, Scene: x.scene})
	if r.Breach == nil || r.Breach.Law != sim.LawReader || !strings.Contains(r.Breach.What, live.Key) {
		t.Errorf("want law 4 of %s, have %v", live.Key, r.Breach)
	}
}
