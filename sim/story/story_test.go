package story_test

import (
	"strings"
	"testing"

	"nova/core/keys"
	"nova/sim"
	"nova/sim/story"
)

// breaks says of the first object that stands that it broke a law.
func breaks(s *sim.Sim) {
	for _, b := range s.W.Buckets() {
		for i := range b.Len() {
			if k := b.Object(i).Key; strings.HasPrefix(k, "data/") {
				s.Breach(sim.LawWatched, "%s/%s: a test says so", b.Name, k)
				return
			}
		}
	}
	s.After(50, func() { breaks(s) })
}

// The story of an object says how it came, what named it and what watched it, in
// few lines, however full of faults the run is.
func TestStory(t *testing.T) {
	told := 0
	for seed := range uint64(8) {
		scene := func(s *sim.Sim) {
			sim.Nova(s)
			s.After(1000, func() { breaks(s) })
		}
		rec := sim.Recorded(sim.Config{Seed: seed, Scene: scene}).Record
		if rec.Breach == nil || rec.Breach.Law != sim.LawWatched {
			continue
		}
		told++
		s, _ := story.Of(rec, scene)
		lines := s.Lines()
		text := strings.Join(lines, "\n")
		if len(lines) > story.MostLines || len(s.Events) > story.Most || len(s.Events) == 0 {
			t.Errorf("seed %d: %d lines, %d events", seed, len(lines), len(s.Events))
		}
		if !strings.Contains(text, "the bytes stand") || !strings.Contains(text, "watched by orphan") {
			t.Errorf("seed %d: it does not say how the object came:\n%s", seed, text)
		}
		for i := 1; i < len(s.Events); i++ {
			if s.Events[i].At < s.Events[i-1].At {
				t.Errorf("seed %d: it goes back in time:\n%s", seed, text)
			}
		}
	}
	if told < 4 {
		t.Errorf("%d stories", told)
	}
}

func TestThing(t *testing.T) {
	slot := story.NewThing(keys.Slot("star-0", 3, 5))
	settled := keys.Settled{Bucket: "b", Stream: 7, Epoch: 3, First: 9, HasInc: true, Inc: keys.Incarnation{Generation: 1, Created: 44}}
	object := story.NewThing(settled.Key())
	for _, c := range []struct {
		thing *story.Thing
		row   string
		want  story.Rel
	}{
		{&slot, keys.DueSettle(0, 10, "star-0", 3), story.Watches},
		{&slot, keys.DueSettle(0, 10, "star-0", 4), story.None},
		{&slot, keys.DueDenorm(0, "star-0", 3, 5), story.Watches},
		{&slot, keys.DueDenorm(0, "star-0", 3, 6), story.None},
		{&slot, keys.ChainHead("star-0", 3), story.Near},
		{&slot, keys.ChainHead("star-1", 3), story.None},
		{&object, keys.DueOrphan(0, settled.Derived().Key()), story.Watches},
		{&object, keys.DueReap(0, 5, settled.Key()), story.Watches},
		{&object, keys.DueReap(0, 5, settled.Derived().Key()+"@00000001-0000000000000001"), story.None},
		{&object, keys.Stream(7), story.Near},
		{&object, keys.Stream(8), story.None},
		{&object, keys.Park(keys.Reap, keys.DueReap(0, 5, settled.Key())), story.Watches},
	} {
		if got, _ := c.thing.Row(c.row, ""); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.row, c.thing.Key, got, c.want)
		}
	}
}
