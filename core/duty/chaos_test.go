package duty

import (
	"flag"
	"math/rand/v2"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

var (
	chaosSeed = flag.Uint64("chaos.seed", 0, "run this seed of the chaos test alone, with a trace")
	chaosRuns = flag.Uint64("chaos.runs", 8, "seeds of the chaos test")
)

// chaos runs auditors over a world that a client changes meanwhile: effects in any
// order, processes cut, replies lost, requests that land late.
type chaos struct {
	*lab
	r     *rand.Rand
	ps    []*labProc
	late  []lateOp // requests of processes that are gone, or whose reply was lost
	turns int
}

type lateOp struct {
	op      core.Op
	process string
	until   core.Ms
}

func (c *chaos) step() {
	c.turns++
	if len(c.late) > 0 && c.r.IntN(20) == 0 {
		c.land(c.r.IntN(len(c.late)))
	}
	k := c.r.IntN(len(c.ps))
	p := c.ps[k]
	i := p.next(c.r.IntN)
	switch fate := c.r.IntN(400); {
	case i < 0:
		c.tick(p)
	case fate == 0: // the process is cut; what it has in flight may land, now or later
		for _, e := range p.pending {
			if e.Op.Mutates() && c.r.IntN(2) == 0 {
				c.late = append(c.late, lateOp{e.Op, p.env.Process, c.now + c.dials.RequestLife/2})
			}
		}
		if c.r.IntN(2) == 0 {
			c.expire(p.env.Process)
		}
		c.ps[k] = c.auditor(0)
	case fate < 4 && p.pending[i].Op.Mutates(): // the reply is lost, and the effect lands later, or never
		if c.r.IntN(2) == 0 {
			c.late = append(c.late, lateOp{p.pending[i].Op, p.env.Process, c.now + c.dials.RequestLife/2})
		}
		p.deliver(i, core.Reply{Outcome: core.Unknown})
	case fate < 8: // it lands, and the reply is lost
		op := p.pending[i].Op
		c.apply(&op, p.env.Process)
		p.deliver(i, core.Reply{Outcome: core.Unknown})
	case fate == 8: // sessions are lost under live processes
		c.expire(p.env.Process)
	default:
		p.answer(i)
	}
}

// land lets a late request through: a mutation of a store within its time only.
func (c *chaos) land(i int) {
	x := c.late[i]
	c.late = append(c.late[:i:i], c.late[i+1:]...)
	if x.op.IsStore() && x.op.Until != 0 && c.now > x.op.Until || c.now > x.until && x.op.IsStore() {
		return
	}
	for k := range x.op.Txn {
		if x.op.Txn[k].Verb == core.VPutLeased { // its session is gone
			return
		}
	}
	c.apply(&x.op, x.process)
}

// tick moves the clock: to the process's next wait, or by a little.
func (c *chaos) tick(p *labProc) {
	c.now += core.Ms(c.r.IntN(int(c.dials.PollEvery)))
	for _, q := range c.ps {
		for i := 0; i < len(q.pending); i++ {
			if q.pending[i].Op.Kind == core.KWait && q.pending[i].Op.Until <= c.now {
				q.deliver(i, core.Reply{})
				i = -1
			}
		}
	}
}

// client changes the world as the serving side does.
func (c *chaos) client() {
	id := uint64(c.r.IntN(5) + 1)
	s, mark, live := c.stream(id)
	written := uint64(len(c.want[id]) / recordSize)
	switch c.r.IntN(8) {
	case 0, 1, 2:
		var slots [][]append1
		for range c.r.IntN(3) + 1 {
			var slot []append1
			for id := range uint64(5) {
				if _, _, live := c.stream(id + 1); live && c.r.IntN(2) == 0 {
					slot = append(slot, append1{id + 1, c.r.IntN(3) + 1})
				}
			}
			slots = append(slots, slot)
		}
		c.batch("s", uint64(c.r.IntN(2)+1), c.r.IntN(2) == 0, slots...)
	case 3:
		if live && c.r.IntN(3) == 0 {
			c.remove(id)
		}
	case 4:
		if live && written > mark {
			c.put(keys.Trim(id), format.EncodeNumber(mark+uint64(c.r.IntN(int(written-mark))+1)))
		}
	case 5:
		if live && s.MaxAge == 0 && c.r.IntN(3) == 0 {
			s.MaxAge, s.Policy = 3*3_600_000, s.Policy+1
			c.put(keys.Stream(id), s.Encode())
			c.put(keys.DueRetention(keys.ShardOfStream(id, c.dials.Shards), c.now+s.MaxAge, id), format.RetentionMark{}.Encode())
		}
	}
}

func runChaos(t *testing.T, seed uint64, trace bool) {
	c := &chaos{lab: newLab(t), r: rand.New(rand.NewPCG(seed, 7))}
	c.dials.SizeTrigger, c.dials.OutputCap = 6*recordSize, int64(8+c.r.IntN(40))*recordSize
	c.dials.PartMin, c.dials.PartMax = 8*recordSize, 12*recordSize
	c.dials.GCMinDead, c.dials.PollEvery, c.dials.MarkersPerEra = 3*recordSize, 60_000, 1+c.r.IntN(3)
	c.dials.MemberPlan, c.dials.EntriesPerRow = 1+c.r.IntN(6), 1+c.r.IntN(4)
	c.mint("s", 1, core.Standard)
	c.mint("s", 2, core.Express)
	for id := range uint64(5) {
		c.create(id+1, 0)
	}
	for range 2 {
		c.ps = append(c.ps, c.auditor(0))
	}
	if trace {
		for _, p := range c.ps {
			p.trace = true
		}
	}
	for range 30 {
		c.client()
		for range c.r.IntN(400) {
			c.step()
		}
		c.now += core.Ms(c.r.IntN(2 * 3_600_000))
	}
	for len(c.late) > 0 {
		c.land(0)
	}
	for _, dead := range c.leased { // all sessions end, those of processes that were cut too
		c.expire(dead)
	}
	c.dials.PollEvery = 3_600_000
	for k := range c.ps {
		c.ps[k] = c.auditor(0)
	}
	c.rest(c.now+80*3_600_000, c.ps...)
	for _, p := range c.ps {
		c.expire(p.env.Process)
	}
	c.settledCheck("end")
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
}

func TestAuditorChaos(t *testing.T) {
	if *chaosSeed != 0 {
		runChaos(t, *chaosSeed, true)
		return
	}
	for seed := range *chaosRuns {
		runChaos(t, seed+1, false)
	}
}
