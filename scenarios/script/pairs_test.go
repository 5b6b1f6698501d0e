package script

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"nova/core"
	"nova/core/keys"
)

var allPairs = flag.Bool("pairs", false, "cut at every pair of effects, not only at a sample")

// duel is a duty that is cut at one effect, and once more, at any effect, when it is
// run again.
type duel struct {
	name  string
	queue keys.Queue
	scene string
	setup string
}

// duels are worlds in which the next pass of a queue has much to do.
var duels = []duel{
	{"teardown", keys.Teardown, "entries=1 page=2", `
		star a
		create b/n
		open a b/n
		append a b/n 5x3000
		append a b/n 5x3000
		append a b/n 5x3000
		tick 1s
		tick 24h
		run denorm
		append a b/n 3x30
		tick 1s
		delete b/n
		run teardown
		run denorm
		tick 5m`},
	{"teardown-gated-and-final", keys.Teardown, "", `
		star a
		create b/n
		create b/m
		open a b/n
		open a b/m
		append a b/n 5x50
		tick 1s
		tick 24h
		run denorm
		delete b/n
		run teardown
		append a b/m 3x30
		tick 1s
		append a b/m 3x30
		tick 1s
		tick 3m
		delete b/m`},
	{"settle", keys.Settle, "batch=2 pipeline=3", `
		star a express
		create b/n express
		create b/m express
		open a b/n
		open a b/m
		append a b/n 5x50 b/m 4x40
		tick 1s
		append a b/n 3x30 b/m 2x20
		append a b/n 3x30
		append a b/m 3x30
		cut a
		tick 6m`},
	{"settle-again", keys.Settle, "pipeline=3", `
		star a express
		create b/n express
		open a b/n
		append a b/n 5x50
		cut a
		tick 6m
		run settle
		tick 4m`},
	{"retention", keys.Retention, "entries=2 output-cap=600", `
		star a
		create b/n age=48h
		open a b/n
		append a b/n 5x400
		tick 20h
		append a b/n 5x200
		tick 1h
		append a b/n 5x100
		tick 1s
		tick 4h
		run denorm
		append a b/n 5x300
		tick 1s
		tick 43h30m`},
	{"reap", keys.Reap, "", `
		star a
		create b/gc age=48h
		create b/dead
		create b/sure
		create b/live
		open a b/gc
		open a b/dead
		open a b/sure
		open a b/live
		append a b/gc 5x100 b/dead 5x50 b/sure 5x50 b/live 5x50
		tick 20h
		append a b/gc 5x60
		tick 1s
		tick 4h
		run denorm
		tick 23h30m
		delete b/sure
		run teardown
		tick 11m
		run reap
		tick 10m
		delete b/dead
		run teardown
		tick 9m
		run retention
		tick 11m
		arm std/data/b/4/1/0@1`},
	{"trimcheck", keys.TrimCheck, "", `
		star a express
		create b/n express
		create b/m express
		open a b/n
		open a b/m
		append a b/n 5x50
		append a b/n 5x50
		tick 30m
		append a b/m 5x50
		tick 31m
		run denorm
		tick 11m
		run trimcheck
		tick 20m
		run denorm
		tick 11m`},
	{"denorm", keys.Denorm, "part-min=100 part-max=250 part-parallel=2 member-parallel=2", `
		star a
		create b/n
		create b/m
		open a b/n
		open a b/m
		append a b/n 5x90 b/m 2x20
		tick 1s
		tick 24h
		run denorm
		append a b/n 5x90 b/m 2x20
		append a b/n 5x90
		append a b/n 5x90
		tick 1s
		tick 24h`},
	{"gc", keys.GC, "part-min=100 part-max=250 part-parallel=2", `
		star a
		create b/n age=48h
		create b/m age=48h
		open a b/n
		open a b/m
		append a b/n 5x300 b/m 5x100
		tick 20h
		append a b/n 5x130 b/m 5x60
		append a b/n 5x130
		tick 1s
		tick 4h
		run denorm
		tick 24h
		run retention
		tick 11m
		run reap
		delete b/m`},
	{"orphan-first-look", keys.Orphan, "part-min=100 part-max=250", orphans},
	{"orphan-second-look", keys.Orphan, "part-min=100 part-max=250", orphans + `
		run orphan
		tick 10m`},
}

// orphans leaves an intent over nothing, over a dead object, over a visible one and
// over an unfinished upload.
const orphans = `
	star a
	create b/nothing
	create b/dead
	create b/visible
	create b/parts
	open a b/nothing
	open a b/dead
	open a b/visible
	open a b/parts
	append a b/nothing 1x10 b/dead 1x10 b/visible 1x10 b/parts 1x180
	tick 1s
	tick 24h
	always drop: create std/data/b/1
	always answer conflict: put ref/2
	always drop: del due/orphan/data/b/3
	always drop: complete std/data/b/4
	always drop: abort std/data/b/4
	run denorm
	always off
	tick 1h`

// how a pass is cut at one of its mutations.
type cutting uint8

const (
	before  cutting = iota // it never lands
	silent                 // it lands, and its reply is never taken
	landing                // it lands, and so does whatever else is in flight
	unknown                // it lands, and the process is told that nothing is known
	dropped                // it never lands, and the process is told that nothing is known
	cuttings
)

func (c cutting) String() string {
	return [...]string{"before", "silent", "landing", "unknown", "dropped"}[c]
}

// strikeAt runs a pass up to its k-th mutation, and cuts it there. It reports
// whether there was one.
func (s *Script) strikeAt(p *proc, k int, how cutting) bool {
	for !p.ended && s.err == nil {
		e := p.next()
		if e == nil {
			return false
		}
		if !e.op.Mutates() || k > 0 {
			if e.op.Mutates() {
				k--
			}
			s.deliver(e, s.land(e, ""))
			continue
		}
		switch how {
		case before:
			s.end(p, true)
		case silent:
			s.land(e, "")
			s.end(p, true)
		case landing:
			s.land(e, "")
			for _, x := range p.pend {
				if x != e && x.op.Mutates() {
					s.land(x, "")
				}
			}
			s.end(p, true)
		case unknown:
			s.land(e, "")
			s.deliver(e, core.Reply{Outcome: core.Unknown})
			s.run(nil, p)
		case dropped:
			s.deliver(e, core.Reply{Outcome: core.Unknown})
			s.run(nil, p)
		}
		return true
	}
	return false
}

// passes starts one pass.
func (s *Script) passes(t *testing.T, q keys.Queue, name string) *proc {
	p, err := s.pass1(q, name, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stride: of so many pairs one is played, without -pairs. It is prime to the number
// of ways in which a pass is cut.
const stride = 11

// again is what goes by before a duty is run again: sessions end, backoffs do.
const again = 20_000

// TestEveryPairOfCuts cuts a pass of each duty at an effect, and the next pass of it
// at an effect, in each way; then everything must converge under the laws, with
// nothing left and every acknowledged record in its place.
func TestEveryPairOfCuts(t *testing.T) {
	for _, d := range duels {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			base := New()
			do := func(cmd string, args, lines []string) {
				if out, err := base.Do(cmd, args, lines); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			do("scene", strings.Fields(d.scene), nil)
			do("setup", nil, strings.Split(d.setup, "\n"))
			base.silent = true
			n, ran := 0, 0
			for how := range cuttings {
				for k := 0; ; k++ {
					one := base.Fork()
					if !one.strikeAt(one.passes(t, d.queue, "x"), k, how) {
						break
					}
					one.tick(one.now + again)
					if one.err != nil {
						t.Fatalf("%s %d: %v", how, k, one.err)
					}
					// The second cut, at each effect; without one when there is none.
					for how2 := range cuttings {
						for j := 0; ; j++ {
							n++
							struck := true
							if *allPairs || n%stride == 0 {
								ran++
								struck = d.second(t, one.Fork(), j, how2, fmt.Sprintf("%s %d, %s %d", how, k, how2, j))
							} else if f := one.Fork(); !f.strikeAt(f.passes(t, d.queue, "y"), j, how2) {
								struck = false
							}
							if !struck {
								break
							}
						}
					}
				}
			}
			t.Logf("%d of %d pairs", ran, n)
		})
	}
}

// second cuts the second pass, and lets everything converge.
func (d *duel) second(t *testing.T, f *Script, j int, how cutting, at string) bool {
	struck := f.strikeAt(f.passes(t, d.queue, "y"), j, how)
	f.tick(f.now + again)
	if err := f.converge(); err != nil {
		f.fail("converge: %w", err)
	}
	if f.err == nil {
		if err := f.verify(); err != nil {
			f.fail("verify: %w", err)
		}
	}
	if f.err != nil {
		t.Fatalf("%s: %v", at, f.err)
	}
	return struck
}
