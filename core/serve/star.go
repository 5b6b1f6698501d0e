package serve

import (
	"nova/core"
	"nova/core/keys"
	"nova/core/protocol"
)

// Star is the serving side's root machine: one star, one storage class. Its host
// sets Name (keys.CheckStar) and Class, and steps it until it is done, which is
// after a Close was answered.
//
// It registers, mints an epoch, and then runs side by side: the intake of
// requests, opens, the slots of its pipeline, the absorbing of what is committed,
// and the confirmation of its right to append. What its epoch cannot give an
// answer to makes it roll (roll.go): it goes on with a new epoch, and nothing that
// was submitted is lost or written twice.
type Star struct {
	Name  string
	Class core.Class

	step  starStep
	next  starStep // after a rest
	call  core.Call
	reg   core.Mark // star/{star} as we registered it
	mint  Mint
	chain protocol.Chain

	// Requests and answers.
	take    core.Call
	held    bool // req has no place yet; nothing more is taken until it has
	req     Request
	waiting []Request // opens that wait for a lane; immutable
	give    core.Call
	outbox  []string // answers that wait to be given, in order; immutable
	closing bool
	closeID uint64

	// The running epoch.
	right    right
	table    table
	opens    [openLanes]opening
	lanes    core.Results[lane] // slot k is in lane k mod its length
	first    uint64             // lowest slot that is not decided
	fresh    uint64             // the next slot
	absorber absorber
	failed   [maxFailed]core.Ms // when a store of the class last gave a replica no answer; 0: never
	rolling  bool
	roll     roll

	leases core.Group[leaseDrop]
}

type starStep uint8

const (
	starRegister starStep = iota
	starWhose
	starGone
	starRefuse
	starMint
	starRun
	starRollMint
	starRollSettle
	starRollAck
	starRollReopen
	starRollSubmit
	starLeases
	starRetire
	starRetired
	starAnswer
	starDone
	starRest
)

// Slots of the star's branches.
const (
	slotGive = iota
	slotTake
	slotTick
	slotPhase
	slotRight
	slotAbsorb
	slotOpens = 8
	slotLanes = 16
)

const (
	openLanes  = 4   // opens that run abreast; each may have a chain to settle
	maxWaiting = 256 // opens that wait
	maxOutbox  = 256 // answers that wait before the intake stops
)

// Step advances the star; it reports whether the star is closed.
func (s *Star) Step(t core.Turn, e *core.Env) bool {
	for {
		moved := s.stepGive(t.In(slotGive))
		moved = s.intake(t.In(slotTake), e) || moved
		moved = s.absorber.stepTick(t.In(slotTick), e) || moved
		moved = s.advance(t, e) || moved
		if s.step == starDone && len(s.outbox) == 0 && !s.absorber.ticking {
			return true
		}
		if !moved {
			return false
		}
	}
}

// advance takes the phase as far as it goes, and reports progress.
func (s *Star) advance(t core.Turn, e *core.Env) bool {
	if s.step == starRun {
		return s.run(t, e)
	}
	at := s.step
	s.phase(t.In(slotPhase), t, e)
	return s.step != at
}

// phase is one step of what a star does on its own.
func (s *Star) phase(t, root core.Turn, e *core.Env) {
	switch s.step {
	case starRegister: // 1. Register. A key of an earlier session is waited for, never overwritten.
		re, ok := s.call.AwaitFunc(t, func() core.Op {
			return core.Txn(core.Missing(keys.Star(s.Name)), core.Missing(keys.Gone(s.Name)), core.PutLeased(keys.Star(s.Name), e.Process))
		})
		if !ok {
			return
		}
		s.step = starWhose
		if re.Outcome == core.OK {
			s.registered(core.Mark{Key: keys.Star(s.Name), Rev: re.Rev})
		}
	case starWhose:
		re, ok := s.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Star(s.Name)) })
		switch {
		case !ok:
		case re.Outcome == core.OK && re.Val == e.Process: // our reply was lost, or our table was
			s.registered(re.Row(keys.Star(s.Name)).Mark)
		case s.closing:
			s.step = starAnswer
		case re.Outcome == core.Absent:
			s.step = starGone
		default:
			s.rest(starRegister)
		}
	case starGone: // A name that was decommissioned never serves again.
		re, ok := s.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Gone(s.Name)) })
		switch {
		case !ok:
		case re.Outcome == core.OK:
			t.NoteOf(core.NoteStarRefused, 1, s.Name)
			s.refuse()
		default:
			s.rest(starRegister)
		}
	case starRefuse: // It refuses whatever it is asked, until it is closed.
		if s.closing {
			s.step = starAnswer
		}
	case starMint: // 2. Mint.
		s.stepMint(t, e, starRun)
	case starRollMint, starRollSettle, starRollAck, starRollReopen, starRollSubmit:
		s.stepRoll(t, root, e)
	case starLeases, starRetire, starRetired, starAnswer:
		s.stepClose(t, e)
	case starRest:
		if _, ok := s.call.Await(t, core.Wait(t.Now+e.Dials.BackoffFirst)); ok {
			s.step = s.next
		}
	}
}

func (s *Star) registered(m core.Mark) { s.reg, s.step = m, starMint }

// refuse answers what waits, and from now on all that comes.
func (s *Star) refuse() {
	for _, r := range s.waiting {
		s.answer(Answer{Outcome: Failed, ID: r.ID, Reason: Gone})
	}
	s.waiting, s.step = nil, starRefuse
}

// rest waits a little before a step is taken again.
func (s *Star) rest(next starStep) { s.step, s.next = starRest, next }

// stepMint mints the next epoch, and goes on to a step with it.
func (s *Star) stepMint(t core.Turn, e *core.Env, then starStep) {
	v := s.mint.Step(t, e, s.Name, s.Class, s.reg, storesFor(e, s.Class, &s.failed, t.Now))
	if v == core.Working {
		return
	}
	m := s.mint
	s.mint = Mint{}
	switch {
	case v == core.Done:
		s.chain = m.Chain
		s.right = right{confirmed: m.Confirmed}
		s.step = then
		if then == starRun {
			s.newRing()
		}
	case m.Lost: // Somebody else may lead our streams by now: begin anew.
		s.abandon(Undecided)
		s.step = starRegister
	default:
		s.rest(s.step)
	}
}

func (s *Star) newRing() {
	s.lanes.Make(int(s.chain.Const.Pipeline))
	s.first, s.fresh = 0, 0
	s.absorber.forget()
}

// lane is the lane of a slot.
func (s *Star) lane(slot uint64) *lane { return s.lanes.At(int(slot % uint64(s.lanes.Len()))) }

func laneTurn(t core.Turn, s *Star, slot uint64) core.Turn {
	return t.In(slotLanes + core.Slot(slot%uint64(s.lanes.Len())))
}

// run steps what runs side by side on one epoch, and reports progress.
func (s *Star) run(t core.Turn, e *core.Env) (moved bool) {
	before := true
	for k := s.first; k < s.fresh; k++ {
		before = s.lane(k).step(laneTurn(t, s, k), e, &s.chain, &s.right, s.rolling, before)
	}
	moved = s.decide(t)
	moved = s.stepOpens(t, e) || moved
	absorbed, lost := s.absorber.step(t.In(slotAbsorb), e, &s.chain, s.closing, s.rolling)
	s.right.want = s.right.want || lost
	moved = s.right.confirm(t.In(slotRight), e, keys.ChainHead(s.chain.Star, s.chain.Epoch), s.rolling) || absorbed || moved
	switch {
	case !s.rolling && s.mustRoll(t, e):
		s.rolling = true
		return true
	case s.rolling && s.drained():
		s.step = starRollMint
		return true
	case s.closing && !s.rolling && s.quiet():
		s.step = starLeases
		return true
	}
	return moved
}

// decide acknowledges what is committed with every slot before it too.
func (s *Star) decide(t core.Turn) (moved bool) {
	for ; s.first < s.fresh; s.first++ {
		l := s.lane(s.first)
		if !l.looked || !l.committed(len(s.chain.Const.Stores)) {
			break
		}
		t.Note(core.NoteSlotCommitted, 1)
		s.absorber.add(l.footer())
		s.acknowledge(t, l)
		moved = true
	}
	return moved
}

// acknowledge answers a lane's append and frees the lane.
func (s *Star) acknowledge(t core.Turn, l *lane) {
	a := l.answer()
	for i := range a.Acks {
		switch a.Acks[i].Reason {
		case None:
			t.Note(core.NoteAcked, int64(l.req.Chunks[i].Count))
		case Deleted:
			s.table.drop(l.req.Chunks[i].Stream)
		}
	}
	s.answer(a)
	*l = lane{}
}

// drained reports whether nothing of the epoch is in flight.
func (s *Star) drained() bool {
	for k := s.first; k < s.fresh; k++ {
		if !s.lane(k).idle() {
			return false
		}
	}
	return s.right.idle() && s.absorber.idle() && s.opensIdle()
}

// quiet reports whether everything that was asked for is done and absorbed.
func (s *Star) quiet() bool {
	return s.first == s.fresh && !s.held && len(s.waiting) == 0 && len(s.absorber.backlog) == 0 && s.drained()
}

// answer puts an answer into the outbox.
func (s *Star) answer(a Answer) {
	n := len(s.outbox)
	s.outbox = append(s.outbox[:n:n], a.Encode())
}

func (s *Star) stepGive(t core.Turn) (moved bool) {
	for len(s.outbox) > 0 {
		if _, ok := s.give.AwaitFunc(t, func() core.Op { return core.Give(Queue, s.outbox[0]) }); !ok {
			return moved
		}
		s.outbox, moved = s.outbox[1:], true
	}
	return moved
}

// blame remembers that a store gave a replica no answer: the next epoch goes
// without it.
func (s *Star) blame(t core.Turn, e *core.Env, store core.Store) {
	for i, of := range e.Stores.Of[s.Class] {
		if of == store && i < maxFailed {
			s.failed[i] = t.Now
		}
	}
}
