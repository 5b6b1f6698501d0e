package serve

import (
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/protocol"
)

// right is a writer's right to its chain: the head in state Open, as a definite
// answer showed it to a read that was emitted at confirmed.
type right struct {
	step      rightStep
	call      core.Call
	asked     core.Ms
	confirmed core.Ms
	want      bool // something waits for a fresh confirmation
	lost      bool // the head is not open any more: for good
}

type rightStep uint8

const (
	rightIdle rightStep = iota
	rightAsk
	rightRest
)

// fresh reports whether a mutation may be sent now; if not, it asks for the
// confirmation.
func (r *right) fresh(t core.Turn, e *core.Env) bool {
	if !r.lost && !e.Dials.Stale(r.confirmed, t.Now) {
		return true
	}
	r.want = true
	return false
}

// confirmation runs, if one is wanted; it reports progress. With halt no new one
// begins.
func (r *right) confirm(t core.Turn, e *core.Env, headKey string, halt bool) (moved bool) {
	for {
		switch r.step {
		case rightIdle:
			if !r.want || r.lost || halt {
				return moved
			}
			r.asked, r.step = t.Now, rightAsk
		case rightAsk:
			re, ok := r.call.Await(t, core.Get(headKey))
			if !ok {
				return moved
			}
			moved, r.want, r.step = true, false, rightIdle
			h, err := format.DecodeChainHead(re.Val)
			switch {
			case re.Outcome == core.OK && err == nil && h.State == format.ChainOpen:
				r.confirmed = r.asked
			case re.Outcome == core.OK || re.Outcome == core.Absent:
				r.lost = true
			default:
				r.want, r.step = true, rightRest
			}
		case rightRest:
			if _, ok := r.call.Await(t, core.Wait(t.Now+e.Dials.BackoffFirst)); !ok {
				return moved
			}
			r.step = rightIdle
		}
	}
}

func (r *right) idle() bool { return !r.call.Sent() }

// lane is one slot in flight: its replicas, and then, when it is committed, a look
// at its streams' descriptors, so that nothing is acknowledged that was committed
// after a tombstone (C19). A look beside the replicas would not do: the stream could
// be deleted after the look, and the replica land after the deletion.
type lane struct {
	busy   bool
	slot   uint64
	req    Request        // as it came: submitted again if the epoch is given up
	acks   []Ack          // one a chunk of the request: first sequence number, or why it was refused
	chunks []format.Chunk // those that were accepted; immutable
	blobs  []uint64       // theirs
	tail   string         // footer and trailer
	window format.Window
	puts   [format.MaxStores]put

	streams []uint64 // that it names, ascending
	looks   core.Group[look]
	looked  bool
	gone    core.Results[bool] // by stream: it is deleted
	blind   bool               // a look was given up
}

// footer is where the slot's footer lies, and the footer.
func (l *lane) footer() protocol.SlotFooter {
	return protocol.SlotFooter{Slot: l.slot, Window: l.window, Footer: format.Footer(l.tail[:l.window.Len])}
}

// put is one replica of a slot.
type put struct {
	step  putStep
	call  core.Call
	tries uint8
}

type putStep uint8

const (
	putSend putStep = iota
	putLook
	putRest
	putDone
	putFailed // the store gave no answer that it can be held to: this replica is given up
	putLost   // somebody else's object stands there: the slot is not ours to commit
)

// putTries bounds how often one replica is sent before its store is given up.
const putTries = 4

// stepPut advances one replica. With halt nothing new is sent.
func (l *lane) stepPut(t core.Turn, e *core.Env, c *protocol.Chain, i int, r *right, halt bool) {
	p := &l.puts[i]
	obj := c.Slot(i, l.slot)
	for {
		switch p.step {
		case putSend: // the slot PUT, create-once, under the right
			if !p.call.Sent() && (halt || !r.fresh(t, e)) {
				return
			}
			re, ok := p.call.AwaitFunc(t, func() core.Op { return core.Create(obj, l.body(), e.Dials.Horizon(r.confirmed)) })
			if !ok {
				return
			}
			switch re.Outcome {
			case core.OK:
				p.step = putDone
			case core.Exists: // ours, if an earlier attempt landed (C11); or a fence
				p.step = putLook
			case core.Unknown:
				p.retry(putRest)
			default: // refused: its time had passed, or the store will not have it
				p.step = putFailed
			}
		case putLook:
			if !p.call.Sent() && halt {
				return
			}
			re, ok := p.call.AwaitFunc(t, func() core.Op { return core.ReadTail(obj, int64(len(l.tail))) })
			if !ok {
				return
			}
			switch re.Outcome {
			case core.OK:
				p.step = putLost
				if re.Val == l.tail && re.Size == l.window.Off+int64(len(l.tail)) {
					p.step = putDone
				}
			case core.Unknown:
				p.retry(putLook)
			case core.Absent, core.OutOfRange, core.Damaged: // taken away again, or never ours
				p.step = putLost
			default:
				p.step = putFailed
			}
		case putRest:
			if !p.call.Sent() && halt {
				return
			}
			if _, ok := p.call.AwaitFunc(t, func() core.Op { return core.Wait(t.Now + e.Dials.BackoffFirst<<(p.tries-1)) }); !ok {
				return
			}
			p.step = putSend
		default:
			return
		}
	}
}

func (p *put) retry(to putStep) {
	p.step = to
	if p.tries++; p.tries == putTries {
		p.step = putFailed
	}
}

// body is the whole slot: the chunks' bytes, footer, trailer.
func (l *lane) body() []core.Piece {
	ps := make([]core.Piece, 0, len(l.chunks)+1)
	for i := range l.chunks {
		c := &l.chunks[i]
		ps = append(ps, core.Piece{Kind: core.Blob, CRC: c.CRC, Blob: l.blobs[i], Len: c.Len})
	}
	return append(ps, core.Piece{Kind: core.Literal, Bytes: l.tail})
}

// look is one read of a descriptor.
type look struct {
	rest bool
	call core.Call
}

// stepLooks reads the descriptors of the slot's streams. With halt a read that
// brought nothing is given up, for the time being.
func (l *lane) stepLooks(t core.Turn, e *core.Env, halt bool) {
	if l.looked || halt && l.blind && l.looks.Idle() {
		return
	}
	n := len(l.streams)
	if l.gone.Len() != n {
		l.gone.Make(n)
	}
	if !l.looks.Run(t, n, max(n, 1), func(i int, m *look, t core.Turn) bool {
		for {
			if !m.call.Sent() && halt {
				l.blind = true
				return true
			}
			if m.rest {
				if _, ok := m.call.Await(t, core.Wait(t.Now+e.Dials.BackoffFirst)); !ok {
					return false
				}
				m.rest = false
				continue
			}
			re, ok := m.call.Await(t, core.Get(keys.Stream(l.streams[i])))
			if !ok {
				return false
			}
			switch re.Outcome {
			case core.OK:
				s, err := format.DecodeStream(re.Val)
				l.gone.Set(i, err == nil && s.Deleted)
				return true
			case core.Absent:
				l.gone.Set(i, true)
				return true
			}
			m.rest = true
		}
	}) {
		return
	}
	l.looks = core.Group[look]{}
	l.looked = !l.blind
}

// Slots of a lane's branches.
const (
	laneLooks = 0
	lanePuts  = 1 // and one for each store
)

// step advances a lane's branches; before says that every slot before it is
// committed. It reports whether this one is, too.
func (l *lane) step(t core.Turn, e *core.Env, c *protocol.Chain, r *right, halt, before bool) bool {
	if !l.busy {
		return before
	}
	for i := range c.Const.Stores {
		l.stepPut(t.In(lanePuts+core.Slot(i)), e, c, i, r, halt)
	}
	if !before || !l.committed(len(c.Const.Stores)) {
		return false
	}
	l.stepLooks(t.In(laneLooks), e, halt)
	return true
}

// committed reports whether every store holds the slot.
func (l *lane) committed(stores int) bool {
	for i := range stores {
		if l.puts[i].step != putDone {
			return false
		}
	}
	return true
}

// idle reports whether nothing of the lane is in flight.
func (l *lane) idle() bool {
	for i := range l.puts {
		if l.puts[i].call.Sent() {
			return false
		}
	}
	return l.looks.Idle()
}

// answer is the lane's acknowledgement: committed, and every slot before it too.
func (l *lane) answer() Answer {
	acks := slices.Clone(l.acks)
	for i := range l.req.Chunks {
		if k, ok := slices.BinarySearch(l.streams, l.req.Chunks[i].Stream); ok && acks[i].Reason == None && *l.gone.At(k) {
			acks[i] = Ack{Reason: Deleted}
		}
	}
	return Answer{Outcome: Acked, ID: l.req.ID, Acks: acks}
}
