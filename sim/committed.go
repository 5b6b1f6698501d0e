package sim

import (
	"fmt"
	"strings"

	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

// commits knows in which order slots were committed and streams deleted. A slot is
// committed once it and every slot before it stand in every store of its chain, or
// below a cut that is published: from then on nothing can undo it. What is committed
// after its stream's tombstone must not be acknowledged (C19).
type commits struct {
	n      uint64            // changes so far: the order in which they took effect
	tombs  map[uint64]uint64 // by stream: at which change it was deleted
	chains map[*wayOf]*chainCommits
}

// chainCommits is at which change each slot of a chain was committed, from the first
// on; beyond them none is.
type chainCommits struct{ at []uint64 }

func newCommits() commits {
	return commits{tombs: map[uint64]uint64{}, chains: map[*wayOf]*chainCommits{}}
}

// committing follows one change.
func (l *Ledger) committing(s *Sim, c *world.Change) {
	l.commits.n++
	switch {
	case c.Kind == world.ObjectPut && strings.HasPrefix(c.Key, "chain/"):
		if _, _, _, err := keys.ParseSlot(c.Key); err == nil {
			l.stands(s, l.chain(c.Key))
		}
	case c.Kind == world.RowPut && strings.HasSuffix(c.Key, "/"+keys.PartHead) && strings.HasPrefix(c.Key, "chain/"):
		if h, err := format.DecodeChainHead(c.Val); err == nil && h.State != format.ChainOpen {
			l.commits.to(l.chain(c.Key), h.Cut)
		}
	case strings.HasPrefix(c.Key, "stream/") && (c.Kind == world.RowPut || c.Kind == world.RowDel):
		id, err := keys.ParseStream(c.Key)
		if _, dead := l.commits.tombs[id]; err != nil || dead {
			return
		}
		if st, err := format.DecodeStream(c.Val); c.Kind == world.RowDel || err == nil && st.Deleted {
			l.commits.tombs[id] = l.commits.n
		}
	}
}

// of is a chain's.
func (m *commits) of(way *wayOf) *chainCommits {
	c := m.chains[way]
	if c == nil {
		c = &chainCommits{}
		m.chains[way] = c
	}
	return c
}

// to commits every slot below end that was not committed before.
func (m *commits) to(way *wayOf, end uint64) {
	for c := m.of(way); uint64(len(c.at)) < end; {
		c.at = append(c.at, m.n)
	}
}

// stands commits the slots of an open chain that stand in every store, in order.
func (l *Ledger) stands(s *Sim, way *wayOf) {
	cr, _ := s.W.Meta.Lookup(way.constKey)
	hr, _ := s.W.Meta.Lookup(way.headKey)
	con, err := format.DecodeChainConst(cr.Val)
	head, err2 := format.DecodeChainHead(hr.Val)
	star, epoch, _, err3 := keys.ParseChain(way.constKey)
	if err != nil || err2 != nil || err3 != nil || head.State != format.ChainOpen {
		return // what comes late above a cut is not committed by it
	}
	for c := l.commits.of(way); ; {
		slot := uint64(len(c.at))
		for _, st := range con.Stores {
			if o := s.W.Bucket(st).Lookup(keys.Slot(star, epoch, slot)); o == nil || fence(o) {
				return
			}
		}
		l.commits.to(way, slot+1)
	}
}

// late says that a chunk's stream was deleted before a slot with it was committed,
// or "".
func (l *Ledger) late(c *Chunk) string {
	tomb, deleted := l.commits.tombs[c.Stream]
	if !deleted {
		return ""
	}
	slot := "no slot of any chain"
	for _, at := range l.slots[c.Blob] {
		if when := l.commits.of(at.of).at; at.slot < uint64(len(when)) && when[at.slot] < tomb {
			return ""
		}
		slot = at.key
	}
	return fmt.Sprintf("blob %d is acknowledged, and its stream's tombstone %s stood before %s was committed", c.Blob, keys.Stream(c.Stream), slot)
}
