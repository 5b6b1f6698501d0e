package sim

import (
	"strings"

	"nova/sim/world"
)

// immutable holds what comes to stand to law 6: an object never changes. A key says
// what its object holds, for ever: what stood under it may go, and may come to stand
// again, late, or as a replica in another store, with the same bytes and no others. A
// reader that has its footer uses it wherever it finds the key.
//
// Only a fence may take the place of a slot that is garbage, and be in one store what
// a slot is in another: it holds nothing, and no ref names it.
type immutable struct{ stood map[string]*world.Object }

func (im *immutable) changed(s *Sim, c *world.Change) {
	if c.Kind != world.ObjectPut || strings.HasPrefix(c.Key, "chain/") && fence(c.Object) {
		return
	}
	s.Count.Laws[LawImmutable]++
	was := im.stood[c.Key]
	switch {
	case was == nil:
		if im.stood == nil {
			im.stood = map[string]*world.Object{}
		}
		im.stood[c.Key] = c.Object
	case !was.Body.Equal(&c.Object.Body):
		s.Breach(LawImmutable, "%s/%s stands with %d bytes that are not the %d bytes which stood under that key since %d", c.Store, c.Key, c.Object.Size(), was.Size(), was.Born)
	}
}
