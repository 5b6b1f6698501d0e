package sim

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/sim/world"
)

// unpark puts every parked marker back where its duty looks for it, as an operator
// does once the cause is gone.
func (w *Workload) unpark(s *Sim) {
	m := &s.W.Meta
	var parked []core.Row
	from, end := keys.ParkRange()
	m.Range(from, end, func(r core.Row) bool {
		parked = append(parked, r)
		return true
	})
	for _, r := range parked {
		q, marker, err := keys.ParsePark(r.Key)
		p, err2 := format.DecodeParked(r.Val)
		if err != nil || err2 != nil {
			s.Breach(LawContract, "%s is no parked marker: %v %v", r.Key, err, err2)
			return
		}
		s.Count.Clients[reqUnpark]++
		ws := append([]core.Write{core.If(r.Mark), core.Del(r.Key)}, putBack(s, q, marker, &p)...)
		op := core.Txn(ws...)
		s.W.Apply(&op, world.When{Now: s.now, Admitted: s.now})
		s.logf(nil, "unpark", "%s: %s", r.Key, p.Reason)
		s.changed(&op)
	}
}

// putBack is the writes that give a duty its marker again. Of what readers take
// for a flag only the schedule row was gone.
func putBack(s *Sim, q keys.Queue, marker string, p *format.Parked) []core.Write {
	at, stood := s.W.Meta.Lookup(marker)
	d, err := keys.ParseDue(marker)
	switch {
	case err != nil:
		return nil
	case !q.Scheduled() && !stood: // an arming since would have put it back already
		return []core.Write{core.Missing(marker), core.Put(marker, p.Value)}
	case q == keys.Denorm && stood:
		b, err := format.DecodeBatchMark(at.Val)
		if err != nil {
			return nil
		}
		b.Parked, b.Ready = false, s.now
		return []core.Write{core.If(at.Mark), core.Put(marker, b.Encode()), core.Put(keys.SchedDenorm(d.Shard, s.now, d.Star, d.Epoch, d.Slot), "")}
	case q == keys.Orphan && stood:
		return []core.Write{core.If(at.Mark), core.Put(keys.SchedOrphan(d.Shard, s.now-s.Dials.OrphanGrace, d.Object), "")}
	}
	return nil
}
