package serve

import (
	"flag"
	"fmt"
	"testing"

	"nova/core"
	"nova/core/keys"
)

// More than a test run has time for: go test -run Storm ./core/serve -storm.seeds 3000
var (
	stormSeeds = flag.Uint64("storm.seeds", 40, "how many seeds TestStorm runs")
	stormFirst = flag.Uint64("storm.first", 0, "the first of them")
)

// storm is a few stars under faults.
type storm struct {
	w       *world
	c       *client
	n       int
	stars   map[string]*proc
	streams []uint64
	gone    []uint64
	calm    bool
}

func newStorm(t *testing.T, seed uint64) *storm {
	stores := [][]core.Store{{"a"}, {"a", "b"}, {"a", "b", "c"}}[seed%3]
	w := newWorld(t, seed, stores...)
	w.dials.Pipeline = 1 + int(seed/3%4)
	w.dials.SettleBatch = 4
	w.dials.StreamsPerTxn = 2
	w.dials.SpansPerRow = 3
	w.dials.FootersAbreast = 3
	w.dials.SizeTrigger = 500
	w.dials.ScanPage = 4
	w.check = func() {
		if w.rng.IntN(4) == 0 {
			w.laws()
		}
	}
	s := &storm{w: w, c: newClient(w), stars: map[string]*proc{}}
	for i := range 4 {
		s.streams = append(s.streams, w.create(fmt.Sprint("x", i)))
	}
	rate := []int{6, 1, 3, 0, 5}[seed%5]
	w.fate = func(_ *proc, ef *core.Effect) fate {
		k := w.rng.IntN(100)
		switch {
		case s.calm || k >= rate:
			return landed
		case !ef.Op.IsStore() && !ef.Op.IsMeta():
			return landed
		case !ef.Op.Mutates() || k < 2:
			return dropped
		case k < 4:
			return lost
		}
		return delayed
	}
	return s
}

func (s *storm) begin(name string) {
	s.n++
	s.stars[name] = s.w.star(fmt.Sprintf("p%d", s.n), name)
}

// act does something that a cluster has to live with.
func (s *storm) act() {
	w := s.w
	name := []string{"s1", "s2"}[w.rng.IntN(2)]
	p := s.stars[name]
	id := s.streams[w.rng.IntN(len(s.streams))]
	switch k := w.rng.IntN(100); {
	case k < 25:
		s.c.open(p, id)
	case k < 80:
		s.c.append(p, id, s.streams[w.rng.IntN(len(s.streams))])
	case k < 84:
		p.paused = !p.paused
	case k < 87: // a session goes while its process lives on
		w.expire(p.env.Process)
	case k < 90:
		p.kill()
		w.expire(p.env.Process)
		s.begin(name)
	case k < 92: // a zombie beside its successor
		w.expire(p.env.Process)
		s.begin(name)
	case k < 96 && len(w.stores.Of[0]) > 1:
		store := w.stores.Of[0][w.rng.IntN(len(w.stores.Of[0]))]
		w.down[store] = !w.down[store]
	case k < 97 && len(s.gone) == 0:
		s.delete(id)
	case k < 99:
		w.now += core.Ms(w.rng.IntN(200_000))
	}
}

func (s *storm) delete(id uint64) {
	var d Delete
	s.gone = append(s.gone, id)
	once(s.w, "deleter", func(t core.Turn, e *core.Env) core.Verdict {
		v := d.Step(t, e, id)
		if v == core.Again {
			d = Delete{}
			v = d.Step(t, e, id)
		}
		return v
	})
	s.c.hear()
}

func TestStorm(t *testing.T) {
	notes := map[core.NoteKind]int64{}
	for seed := *stormFirst; seed < *stormFirst+*stormSeeds; seed++ {
		s := newStorm(t, seed)
		w := s.w
		s.begin("s1")
		s.begin("s2")
		if seed%2 == 0 {
			w.auditor("aud1")
			w.auditor("aud2")
		}
		for range 120 {
			s.act()
			for range w.rng.IntN(30) {
				w.turnOnce()
			}
			s.c.hear()
		}
		// The faults stop. Everybody who still stands for something closes.
		s.calm = true
		for _, p := range w.procs {
			p.paused = false
		}
		clear(w.down)
		w.run(60_000)
		for _, p := range s.stars {
			id := s.c.close(p)
			w.until(fmt.Sprintf("seed %d: %s closed", seed, p.env.Process), func() bool { _, ok := answerTo(p, id); return ok })
			w.expire(p.env.Process)
		}
		for _, p := range w.procs {
			if p.step != nil && p.env.Process[0] == 'p' {
				p.kill() // zombies whose star has gone on wait for a name that stays taken
				w.expire(p.env.Process)
			}
		}
		w.late = nil
		w.auditor("aud3")
		w.settled()
		s.c.verify(s.gone...)
		if ks := w.keys("lease/stream/"); len(ks) > 0 {
			w.fail("seed %d: left behind: %v", seed, ks)
		}
		for k, n := range w.notes {
			notes[k] += n
		}
		for o := range w.objects {
			if _, _, _, err := keys.ParseSlot(o.Key); err != nil {
				w.fail("seed %d: %v stands", seed, o)
			}
		}
	}
	if *stormSeeds < 40 {
		return
	}
	for _, k := range []core.NoteKind{core.NoteMinted, core.NoteOpened, core.NoteAcked, core.NoteAbsorbed, core.NoteAbsorbDropped,
		core.NoteFenced, core.NoteCutPublished, core.NoteCutAdopted, core.NoteClaimLost, core.NoteGarbageSwept, core.NoteChainSettled, core.NoteChainClosed} {
		if notes[k] == 0 {
			t.Errorf("%s never happened", k)
		}
	}
	t.Logf("acked %d records, minted %d epochs, adopted %d cuts, lost %d claims", notes[core.NoteAcked], notes[core.NoteMinted], notes[core.NoteCutAdopted], notes[core.NoteClaimLost])
}

// A star is cut at every effect, before it and after it; its streams go on
// elsewhere. Nothing that was acknowledged is lost or stands twice.
func TestCutAtEveryEffect(t *testing.T) {
	for _, how := range []fate{cutHere, cutAfter} {
		cuts := 0
		for k := 0; ; k++ {
			w := newWorld(t, uint64(k), "a", "b")
			w.dials.SettleBatch, w.dials.StreamsPerTxn, w.dials.SizeTrigger = 2, 1, 200
			w.check = w.laws
			c := newClient(w)
			x, y := w.create("x"), w.create("y")
			n := 0
			w.fate = func(p *proc, ef *core.Effect) fate {
				if p.env.Process != "p1" || ef.Op.Kind == core.KWait || ef.Op.Kind == core.KTake {
					return landed
				}
				if n++; n == k+1 {
					return how
				}
				return landed
			}
			p := w.star("p1", "s1")
			c.open(p, x)
			c.open(p, y)
			w.run(100)
			for range 5 {
				c.append(p, x, y)
			}
			w.run(2000)
			c.close(p)
			w.until("done or cut", func() bool { return p.done || p.dead })
			w.expire("p1")
			q, r := w.star("p2", "s2"), w.star("p3", "s1")
			c.mustOpen(q, x)
			c.mustOpen(r, y)
			c.await(q, c.append(q, x, x))
			c.await(r, c.append(r, y))
			c.await(q, c.close(q))
			c.await(r, c.close(r))
			w.auditor("aud")
			w.settled()
			c.verify()
			if p.done {
				cuts = k
				break
			}
		}
		if cuts < 60 {
			t.Errorf("the star was cut at %d effects only", cuts)
		}
		t.Logf("cut at %d effects", cuts)
	}
}
