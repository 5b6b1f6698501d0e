package script

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nova/core"
	"nova/core/keys"
)

// TestThreeAuditorsOnOneShard (C30): three auditors believe that they own one shard,
// and drain its reap-checks for ever. Their clocks are a few seconds apart, and every
// request takes its time: at most 1.1 deletes a key, and no harm. (In lockstep it can
// be three: scenarios/golden/c30-three-auditors-on-one-shard.txt.)
func TestThreeAuditorsOnOneShard(t *testing.T) {
	const objects, auditors, runs = 40, 3, 20
	base := confirmed(t, objects)
	deletes := 0
	for seed := range uint64(runs) {
		s := base.Fork()
		c := &slowly{s: s, rng: rand.New(rand.NewPCG(seed, 30)), sent: map[*pending]bool{}}
		for i := range auditors {
			skew := core.Ms(c.rng.IntN(10_000) - 5_000)
			p, err := s.start(fmt.Sprint("auditor-", i), skew, drains(keys.Reap, true))
			if err != nil {
				t.Fatal(err)
			}
			c.taken(p)
		}
		for to := s.now + 60_000; c.next(to); {
		}
		if s.err != nil {
			t.Fatalf("seed %d: %v", seed, s.err)
		}
		if n := s.W.Bucket("std").Len() - 1; n != 0 { // the slot goes by its cursor
			t.Errorf("seed %d: %d objects of %d are left", seed, n, objects)
		}
		if c.deletes < objects || c.deletes > auditors*objects {
			t.Errorf("seed %d: %d deletes of %d keys", seed, c.deletes, objects)
		}
		deletes += c.deletes
		if err := s.converge(); err != nil || s.err != nil {
			t.Fatalf("seed %d: %v %v", seed, err, s.err)
		}
	}
	if a := float64(deletes) / objects / runs; a > 1.1 {
		t.Errorf("%.3f deletes a key", a)
	} else {
		t.Logf("%.3f deletes a key", a)
	}
}

// confirmed is a world of dead objects, each under a confirmed reap-check that is due
// in a few seconds.
func confirmed(t *testing.T, objects int) *Script {
	var lines, deletes []string
	appends := "append a"
	lines = append(lines, "star a")
	for i := range objects {
		at := fmt.Sprintf("b/n%d", i)
		lines = append(lines, "create "+at, "open a "+at)
		appends += " " + at + " 1x50"
		deletes = append(deletes, "delete "+at)
	}
	lines = append(lines, appends, "tick 1s", "tick 24h", "run denorm")
	lines = append(append(lines, deletes...), "run teardown", "tick 10m29s", "run reap", "tick 9m40s", "cut a")
	d := &stage{scene: "", setup: strings.Join(lines, "\n")}
	return d.base(t)
}

// slowly lands effects after as long as a request takes, and delivers what came of
// them as much later.
type slowly struct {
	s       *Script
	rng     *rand.Rand
	sent    map[*pending]bool
	flying  []flight
	deletes int
}

type flight struct {
	at    core.Ms
	e     *pending
	reply *core.Reply
}

// half is half of the time that a request takes.
func (c *slowly) half(op *core.Op) core.Ms {
	if op.IsStore() {
		return core.Ms(5 + c.rng.IntN(45))
	}
	return core.Ms(1 + c.rng.IntN(7))
}

// taken takes up what a process has sent.
func (c *slowly) taken(p *proc) {
	for _, e := range p.pend {
		if c.sent[e] {
			continue
		}
		c.sent[e] = true
		at := c.s.now + c.half(&e.op)
		if e.op.Kind == core.KWait {
			at = max(c.s.now, e.op.Until-p.skew)
		}
		c.flying = append(c.flying, flight{at: at, e: e})
	}
}

// next lets the next thing happen, up to a time.
func (c *slowly) next(to core.Ms) bool {
	first := -1
	for i := range c.flying {
		if first < 0 || c.flying[i].at < c.flying[first].at {
			first = i
		}
	}
	if first < 0 || c.flying[first].at > to || c.s.err != nil {
		return false
	}
	f := &c.flying[first]
	c.s.pass(f.at)
	switch {
	case f.e.op.Kind == core.KWait:
		f.reply = &core.Reply{}
	case f.reply == nil:
		if f.e.op.Kind == core.KDelete {
			c.deletes++
		}
		r := c.s.land(f.e, "")
		f.reply, f.at = &r, f.at+c.half(&f.e.op)
		return true
	}
	e, r := f.e, *f.reply
	c.flying = append(c.flying[:first:first], c.flying[first+1:]...)
	c.s.deliver(e, r)
	c.taken(e.p)
	return true
}
