package serve

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// leaseDrop is one stream that is handed back.
type leaseDrop struct {
	call  core.Call
	tries uint8
}

// stepClose ends the star: everything is absorbed.
func (s *Star) stepClose(t core.Turn, e *core.Env) {
	switch s.step {
	case starLeases: // 1. Hand the streams back, so that others can open them at once.
		rows := s.table.rows.All()
		if !s.leases.Run(t, len(rows), e.Dials.DrainWidth, func(i int, m *leaseDrop, t core.Turn) bool {
			for {
				re, ok := m.call.Await(t, core.Txn(core.If(rows[i].lease), core.Del(rows[i].lease.Key)))
				if !ok {
					return false
				}
				if m.tries++; re.Outcome != core.Unknown || m.tries == verbTries {
					return true // what could not be handed back goes with the session
				}
			}
		}) {
			return
		}
		s.leases = core.Group[leaseDrop]{}
		s.table.put(nil)
		s.step = starRetire
	case starRetire: // 2. Announce the chain and go, in one transaction: a settle that still finds us alive would be deferred.
		re, ok := s.call.AwaitFunc(t, func() core.Op {
			c := &s.chain
			shard := keys.ShardOfChain(c.Star, c.Epoch, e.Dials.Shards)
			return core.Txn(core.If(s.reg), core.Del(s.reg.Key),
				core.Put(keys.DueSettle(shard, t.Now, c.Star, c.Epoch), format.SettleMark{}.Encode()))
		})
		if !ok {
			return
		}
		switch re.Outcome {
		case core.OK:
			t.Note(core.NoteChainClosed, 1)
			s.step = starAnswer
		case core.Conflict, core.Unknown:
			s.step = starRetired
		default:
			s.rest(starRetire)
		}
	case starRetired: // gone already, or not: the marker of the mint stands either way
		re, ok := s.call.Await(t, core.Get(s.reg.Key))
		switch {
		case !ok:
		case re.Outcome == core.OK && re.Rev == s.reg.Rev:
			s.step = starRetire
		case re.Outcome == core.OK || re.Outcome == core.Absent:
			s.step = starAnswer
		default:
			s.rest(starRetired)
		}
	case starAnswer: // 3. Answer.
		for _, r := range s.waiting {
			s.answer(Answer{Outcome: Failed, ID: r.ID, Reason: Closing})
		}
		s.waiting = nil
		s.answer(Answer{Outcome: Closed, ID: s.closeID})
		s.step = starDone
	}
}
