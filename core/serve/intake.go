package serve

import (
	"nova/core"
)

// intake takes requests, one at a time, and finds each its place. An append that
// the pipeline has no room for is held, and nothing more is taken: that is how a
// star slows its clients down.
func (s *Star) intake(t core.Turn, e *core.Env) (moved bool) {
	for {
		if s.held {
			if !s.place(t, e, s.req) {
				return moved
			}
			s.held, s.req, moved = false, Request{}, true
		}
		if !s.take.Sent() && (s.closing || len(s.outbox) >= maxOutbox) {
			return moved
		}
		re, ok := s.take.Await(t, core.Take(Queue))
		if !ok {
			return moved
		}
		moved = true
		if re.Outcome != core.OK {
			continue
		}
		r, err := DecodeRequest(re.Val)
		if err != nil {
			s.answer(Answer{Outcome: Failed, ID: r.ID, Reason: Malformed})
			continue
		}
		s.held, s.req = true, r
	}
}

// place gives a request its place; false: there is none yet.
func (s *Star) place(t core.Turn, e *core.Env, r Request) bool {
	running := s.step == starRun && !s.rolling
	switch r.Verb {
	case VerbClose:
		s.closing, s.closeID = true, r.ID
	case VerbOpen:
		if s.step == starRefuse {
			s.answer(Answer{Outcome: Failed, ID: r.ID, Reason: Gone})
			return true
		}
		if len(s.waiting) >= maxWaiting {
			s.answer(Answer{Outcome: Failed, ID: r.ID, Reason: Busy})
			return true
		}
		n := len(s.waiting)
		s.waiting = append(s.waiting[:n:n], r)
	case VerbAppend:
		if !s.leads(r) {
			acks := make([]Ack, len(r.Chunks))
			for i := range acks {
				acks[i].Reason = NotOpen
			}
			s.answer(Answer{Outcome: Acked, ID: r.ID, Acks: acks})
			return true
		}
		if !running || s.fresh-s.first >= uint64(s.lanes.Len()) || !s.absorber.room(e) {
			return false
		}
		s.submit(t, e, r)
	}
	return true
}

// leads reports whether the star leads any stream of an append.
func (s *Star) leads(r Request) bool {
	for i := range r.Chunks {
		if _, ok := s.table.find(r.Chunks[i].Stream); ok {
			return true
		}
	}
	return false
}

// submit gives an append the next slot, or answers it where none of its streams
// is led (any more).
func (s *Star) submit(t core.Turn, e *core.Env, r Request) {
	l, ok := s.table.slot(t, e, r, s.fresh)
	if !ok {
		s.answer(Answer{Outcome: Acked, ID: r.ID, Acks: l.acks})
		return
	}
	s.lanes.Set(int(s.fresh%uint64(s.lanes.Len())), l)
	s.fresh++
}

// opening is one open that runs.
type opening struct {
	busy   bool
	id     uint64 // the request's
	stream uint64
	open   Open
}

// walks are the epochs that opens other than this one are settling. Opens of many
// streams that one dead star led all wait for its chain: they share one walk.
func (s *Star) walks(but int) (w walks) {
	for i := range s.opens {
		if i != but && s.opens[i].busy {
			w[i] = s.opens[i].open.walks()
		}
	}
	return w
}

// stepOpens runs the opens, and reports progress. Those that run go on through
// the drain of a roll; no new one begins then.
func (s *Star) stepOpens(t core.Turn, e *core.Env) (moved bool) {
	for i := range s.opens {
		o := &s.opens[i]
		if !o.busy && !s.rolling {
			moved = s.nextOpen(o) || moved
		}
		if o.busy {
			o.open.others = s.walks(i)
		}
		if !o.busy || o.open.Step(t.In(slotOpens+core.Slot(i)), e, s.Name, s.chain.Epoch, o.stream, core.Mark{}) == core.Working {
			continue
		}
		moved = true
		if r := o.open.Reason; r != None {
			s.answer(Answer{Outcome: Failed, ID: o.id, Reason: r})
		} else {
			s.table.set(openStream{id: o.stream, next: o.open.Next, newest: o.open.Newest, lease: o.open.Lease})
			s.answer(Answer{Outcome: Opened, ID: o.id, Next: o.open.Next})
		}
		*o = opening{}
	}
	return moved
}

// nextOpen finds a lane its next open: the first that waits whose stream is not
// being opened already. A stream that is led needs no lane.
func (s *Star) nextOpen(o *opening) (moved bool) {
	for k := 0; k < len(s.waiting); {
		r := s.waiting[k]
		led, ok := s.table.find(r.Stream)
		switch {
		case s.closing:
			s.answer(Answer{Outcome: Failed, ID: r.ID, Reason: Closing})
		case ok:
			s.answer(Answer{Outcome: Opened, ID: r.ID, Next: led.next})
		case s.opensStream(r.Stream):
			k++
			continue
		default:
			*o = opening{busy: true, id: r.ID, stream: r.Stream}
		}
		moved = true
		s.waiting = append(s.waiting[:k:k], s.waiting[k+1:]...)
		if o.busy {
			break
		}
	}
	return moved
}

func (s *Star) opensStream(id uint64) bool {
	for i := range s.opens {
		if s.opens[i].busy && s.opens[i].stream == id {
			return true
		}
	}
	return false
}

func (s *Star) opensIdle() bool {
	for i := range s.opens {
		if s.opens[i].busy {
			return false
		}
	}
	return true
}
