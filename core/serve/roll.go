package serve

import (
	"nova/core"
	"nova/core/format"
	"nova/core/protocol"
)

// roll is what a star carries from an epoch that it gives up to the next.
type roll struct {
	old    uint64 // the epoch that is given up
	settle protocol.Settlement
	cut    uint64
	again  []Request // appends of slots at or above the cut, in order; immutable
	opens  core.Group[reopening]
	opened core.Results[reopened]
}

// reopening is one stream on its way to the new epoch.
type reopening struct {
	begun   bool
	resting bool
	wait    core.Call
	open    Open
}

type reopened struct {
	next   uint64
	newest core.Ms
	reason Reason
}

// mustRoll reports whether the epoch has to be given up: the right is lost, a
// replica got no answer or met a fence, or what is committed does not absorb.
func (s *Star) mustRoll(t core.Turn, e *core.Env) bool {
	must := s.right.lost || s.absorber.broken
	for k := s.first; k < s.fresh; k++ {
		l := s.lane(k)
		for i, store := range s.chain.Const.Stores {
			switch l.puts[i].step {
			case putFailed:
				s.blame(t, e, store)
				must = true
			case putLost:
				must = true
			}
		}
	}
	return must
}

// stepRoll gives the epoch up: everything of it has been drained.
func (s *Star) stepRoll(t, root core.Turn, e *core.Env) {
	r := &s.roll
	switch s.step {
	case starRollMint: // 1. Mint a new epoch, without a store that did not answer.
		if s.absorber.broken {
			// Settlement would fail on it, too: its marker is parked, the rest goes on.
			s.abandon(Damaged)
			s.step = starMint
			return
		}
		if r.old == 0 {
			r.old = s.chain.Epoch
		}
		s.stepMint(t, e, starRollSettle)
	case starRollSettle: // 2. Settle the old one: only the published cut says what was committed.
		v := r.settle.Step(t, e, s.Name, r.old, false)
		if v == core.Working {
			return
		}
		state, cut := r.settle.State, r.settle.Cut
		r.settle = protocol.Settlement{}
		switch {
		case v == core.Again:
			s.rest(starRollSettle)
		case v == core.Broken:
			s.abandon(Damaged)
			s.newRing()
			s.step = starRun
		case state < format.ChainCut: // its record is gone: nobody can say any more
			s.fail(Undecided)
			s.step = starRollReopen
		default:
			r.cut, s.step = cut, starRollAck
		}
	case starRollAck: // 3. Acknowledge what lies below the cut.
		if !s.ackBelow(root, e) {
			return
		}
		for ; s.first < s.fresh; s.first++ {
			n := len(r.again)
			r.again = append(r.again[:n:n], s.lane(s.first).req)
		}
		s.step = starRollReopen
	case starRollReopen: // 4. Open the streams on the new epoch.
		if !s.reopen(t, e) {
			return
		}
		s.step = starRollSubmit
	case starRollSubmit: // 5. Submit the rest again, in order: the numbers come out the same.
		s.newRing()
		again := r.again
		s.roll, s.rolling = roll{}, false
		for _, q := range again {
			s.submit(t, e, q)
		}
		s.step = starRun
	}
}

// ackBelow acknowledges the undecided slots below the cut, in order. They are
// absorbed; what is left is to know which of their streams are deleted.
func (s *Star) ackBelow(root core.Turn, e *core.Env) bool {
	end := min(s.roll.cut, s.fresh)
	all := true
	for k := s.first; k < end; k++ {
		l := s.lane(k)
		l.blind = false
		l.stepLooks(laneTurn(root, s, k).In(laneLooks), e, false)
		all = all && l.looked
	}
	if !all {
		return false
	}
	for ; s.first < end; s.first++ {
		s.acknowledge(root, s.lane(s.first))
	}
	return true
}

// reopen opens every stream of the table on the new epoch. One that was deleted,
// or that others may have led since, is dropped.
func (s *Star) reopen(t core.Turn, e *core.Env) bool {
	r := &s.roll
	rows := s.table.rows.All()
	if r.opened.Len() != len(rows) {
		r.opened.Make(len(rows))
	}
	if !r.opens.Run(t, len(rows), e.Dials.DrainWidth, func(i int, m *reopening, t core.Turn) bool {
		for {
			if m.resting {
				if _, ok := m.wait.Await(t, core.Wait(t.Now+e.Dials.BackoffFirst)); !ok {
					return false
				}
				m.resting = false
			}
			if !m.begun {
				m.begun, m.open.settled = true, r.old
			}
			if m.open.Step(t, e, s.Name, s.chain.Epoch, rows[i].id, rows[i].lease) == core.Working {
				return false
			}
			if m.open.Reason != Undecided {
				r.opened.Set(i, reopened{m.open.Next, m.open.Newest, m.open.Reason})
				return true
			}
			*m = reopening{resting: true}
		}
	}) {
		return false
	}
	r.opens = core.Group[reopening]{}
	kept := make([]openStream, 0, len(rows))
	for i, w := range rows {
		if o := r.opened.At(i); o.reason == None {
			kept = append(kept, openStream{id: w.id, next: o.next, newest: max(o.newest, w.newest), lease: w.lease})
		}
	}
	r.opened.Make(0)
	s.table.put(kept)
	return true
}

// fail answers every append that is not decided.
func (s *Star) fail(reason Reason) {
	for ; s.first < s.fresh; s.first++ {
		l := s.lane(s.first)
		s.answer(Answer{Outcome: Failed, ID: l.req.ID, Reason: reason})
		*l = lane{}
	}
	for _, q := range s.roll.again {
		s.answer(Answer{Outcome: Failed, ID: q.ID, Reason: reason})
	}
	s.roll.again = nil
}

// abandon gives up everything that the star leads. Clients open their streams
// again.
func (s *Star) abandon(reason Reason) {
	s.fail(reason)
	s.table.put(nil)
	s.absorber.forget()
	s.absorber.broken = false
	s.roll, s.rolling = roll{}, false
}
