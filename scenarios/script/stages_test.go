package script

import (
	"fmt"
	"strings"
	"testing"

	"nova/core"
	"nova/core/admin"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/core/serve"
	"nova/sim"
)

// stage is a world, and a process that has much to do in it.
type stage struct {
	name         string
	queue        keys.Queue                                  // the process is one pass of its drain,
	begin        func(s *Script, name string) (*proc, error) // unless this starts another
	feed         []feed                                      // what it is given, one after the other, whenever it only waits
	last         func(s *Script) error                       // how everything comes to rest (nil: converge)
	scene, setup string
}

// feed gives a process something to do, and reports whether it could.
type feed func(s *Script, p *proc) error

// stages are worlds in which a process has much to do: the next pass of a queue, an
// operator, a star.
var stages = []stage{
	{name: "teardown", queue: keys.Teardown, scene: "entries=1 page=2", setup: `
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
	{name: "teardown-gated-and-final", queue: keys.Teardown, scene: "", setup: `
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
	{name: "settle", queue: keys.Settle, scene: "batch=2 pipeline=3", setup: `
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
	{name: "settle-again", queue: keys.Settle, scene: "pipeline=3", setup: `
		star a express
		create b/n express
		open a b/n
		append a b/n 5x50
		cut a
		tick 6m
		run settle
		tick 4m`},
	{name: "retention", queue: keys.Retention, scene: "entries=2 output-cap=600", setup: `
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
	{name: "reap", queue: keys.Reap, scene: "", setup: `
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
	{name: "trimcheck", queue: keys.TrimCheck, scene: "", setup: `
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
	{name: "denorm", queue: keys.Denorm, scene: "part-min=100 part-max=250 part-parallel=2 member-parallel=2", setup: `
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
	{name: "gc", queue: keys.GC, scene: "part-min=100 part-max=250 part-parallel=2", setup: `
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
	{name: "orphan-first-look", queue: keys.Orphan, scene: "part-min=100 part-max=250", setup: orphans},
	{name: "orphan-second-look", queue: keys.Orphan, scene: "part-min=100 part-max=250", setup: orphans + `
		run orphan
		tick 10m`},
	{name: "denorm-residue", queue: keys.Denorm, scene: "", setup: `
		star a express
		create b/n express
		create b/m express
		create b/gone express
		open a b/n
		open a b/m
		open a b/gone
		append a b/n 5x1500 b/m 2x20 b/gone 1x10
		tick 1s
		append a b/n 2x30 b/m 2x20
		tick 1s
		delete b/gone
		tick 6m`},
	// A source is gone before it begins: that this breaks laws 2 to 4 and 6 is allowed.
	{name: "denorm-lost", queue: keys.Denorm, scene: "part-min=100 part-max=250", setup: `
		star a
		create b/n
		create b/m
		open a b/n
		open a b/m
		append a b/n 5x50 b/m 2x20
		append a b/n 5x50 b/m 2x20
		append a b/n 5x50
		tick 1s
		tick 24h
		allow 2 3 4 6
		take std/chain/a/1/1
		run denorm
		tick 1s
		run denorm
		tick 2s`},
	{name: "create", scene: "", setup: `
		create b/m`, begin: client(func(uint64) verb {
		m := &serve.Create{}
		return func(t core.Turn, e *core.Env) core.Verdict {
			return m.Step(t, e, serve.Spec{Bucket: "b", Name: "n", MaxAge: 3_600_000})
		}
	})},
	{name: "delete", scene: "", setup: written, begin: client(func(id uint64) verb {
		m := &serve.Delete{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id) }
	})},
	{name: "policy", scene: "", setup: written, begin: client(func(id uint64) verb {
		m := &serve.SetPolicy{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id, 7_200_000) }
	})},
	{name: "trim", scene: "", setup: written, begin: client(func(id uint64) verb {
		m := &serve.Trim{}
		return func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id, 3) }
	})},
	{name: "absorb", scene: "batch=2 streams-per-txn=1", setup: `
		create b/n
		create b/m age=48h`,
		begin: starts(core.Standard), feed: []feed{opens("b/n"), opens("b/m"), appends("b/n 3x30 b/m 2x20"), appends("b/m 2x1200"), appends("b/n 1x10"),
			lapse(1000), lapse(1000), lapse(1000), lapse(4000), lapse(4000), closes}, last: leads("b/n", "b/m")},
	{name: "append", scene: "express=xp-a,xp-b pipeline=2", setup: `
		create b/n express`,
		begin: starts(core.Express), feed: []feed{opens("b/n"), together(appends("b/n 3x30"), appends("b/n 2x20"), appends("b/n 1x10")), lapse(4000), lapse(4000), lapse(4000)}, last: leads("b/n")},
	{name: "open", scene: "batch=2 pipeline=2", setup: `
		star x express
		create b/n express
		create b/m express
		open x b/n
		open x b/m
		append x b/n 3x30 b/m 2x20
		append x b/n 3x30
		append x b/m 2x20
		cut x
		tick 20s
		star x express
		append x b/n 1x10
		open x b/m
		append x b/m 3x30
		cut x
		tick 20s`,
		begin: starts(core.Express), feed: []feed{opens("b/m"), opens("b/n"), appends("b/n 1x10 b/m 1x10"), lapse(1000), lapse(4000), lapse(4000)}, last: leads("b/n", "b/m")},
	{name: "decommission-settles", scene: "batch=2 pipeline=2", setup: leaving, begin: orders, last: leaves},
	{name: "decommission-ripens", scene: "batch=2 pipeline=2", setup: leaving + `
		decommission x
		tick 5m`, begin: orders, last: leaves},
	{name: "decommission-reaps", scene: "batch=2 pipeline=2", setup: leaving + `
		decommission x
		tick 5m
		decommission x
		round
		tick 11m
		round
		tick 11m
		round
		plant std/chain/x/1/7 bytes=0`, begin: orders, last: leaves},
	{name: "decommission-ends", scene: "batch=2 pipeline=2", setup: leaving + `
		decommission x
		tick 5m
		decommission x
		round
		tick 11m
		round
		tick 11m
		round
		decommission x
		tick 4m`, begin: orders, last: leaves},
}

// written is a stream with an age policy, with a settled object and records in transit.
const written = `
	star a
	create b/n age=48h
	open a b/n
	append a b/n 5x50
	tick 1s
	tick 24h
	run denorm
	append a b/n 5x50
	tick 1s
	close a
	tick 20s`

// verb is a client's request.
type verb func(t core.Turn, e *core.Env) core.Verdict

// client starts a client with a request about the first stream.
func client(ask func(id uint64) verb) func(s *Script, name string) (*proc, error) {
	return func(s *Script, name string) (*proc, error) {
		step := ask(s.streams[0].id)
		return s.start(name, 0, func(e *core.Env) core.Machine {
			return root(func(t core.Turn) bool { return step(t, e) != core.Working })
		})
	}
}

// leaving is a star that is gone, with a chain that is not settled and standing
// batch markers.
const leaving = `
	star x
	create b/n
	create b/m
	open x b/n
	open x b/m
	append x b/n 3x30 b/m 2x20
	tick 1s
	append x b/n 3x30
	append x b/m 2x20
	cut x
	tick 20s`

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

// starts starts a star.
func starts(class core.Class) func(s *Script, name string) (*proc, error) {
	return func(s *Script, name string) (*proc, error) {
		p, err := s.start(name, 0, func(e *core.Env) core.Machine {
			m := &serve.Star{Name: name, Class: class}
			return root(func(t core.Turn) bool { return m.Step(t, e) })
		})
		if err == nil {
			p.gave = func(val string) { s.answered(p, val) }
		}
		return p, err
	}
}

// opens asks a star to lead a stream.
func opens(at string) feed {
	return func(s *Script, p *proc) error {
		st, err := s.stream(at)
		if err == nil {
			_, err = s.ask(p.name, serve.Request{Verb: serve.VerbOpen, Stream: st.id}, &ask{stream: st})
		}
		return err
	}
}

// appends asks it for a slot.
func appends(what string) feed {
	return func(s *Script, p *proc) error {
		r, a, err := s.slot(strings.Fields(what))
		if err == nil {
			_, err = s.ask(p.name, r, a)
		}
		return err
	}
}

// closes asks it to close.
func closes(s *Script, p *proc) error {
	_, err := s.ask(p.name, serve.Request{Verb: serve.VerbClose}, &ask{})
	return err
}

// together feeds several at once.
func together(fs ...feed) feed {
	return func(s *Script, p *proc) error {
		for _, f := range fs {
			if err := f(s, p); err != nil {
				return err
			}
		}
		return nil
	}
}

// lapse lets time go by until the process does something.
func lapse(d core.Ms) feed {
	return func(s *Script, p *proc) error {
		for to := s.now + d; p.next() == nil; {
			var soonest *pending
			for _, e := range p.pend {
				if e.op.Kind == core.KWait && e.op.Until-p.skew <= to && (soonest == nil || e.op.Until < soonest.op.Until) {
					soonest = e
				}
			}
			if soonest == nil {
				s.pass(to)
				return nil
			}
			s.pass(max(s.now, soonest.op.Until-p.skew))
			s.deliver(soonest, core.Reply{})
		}
		return nil
	}
}

// leads closes whatever star still lives. Then another opens the streams and
// appends to them: every sequence number that was acknowledged is behind it.
func leads(streams ...string) func(s *Script) error {
	return func(s *Script) error {
		for _, name := range s.order {
			if p := s.procs[name]; !p.ended {
				if err := s.close(name, nil); err != nil {
					return err
				}
				s.tick(s.now + again)
			}
		}
		s.tick(s.now + again)
		if err := s.star("last", core.Standard, nil); err != nil {
			return err
		}
		for _, at := range streams {
			st, err := s.stream(at)
			if err != nil {
				return err
			}
			if err := s.open("last", st, nil); err != nil {
				return err
			}
			s.tick(s.now + again)
			before := st.acked
			if err := s.append("last", []string{at, "1x10"}, 0, nil); err != nil {
				return err
			}
			if s.tick(s.now + again); st.acked <= before && s.err == nil {
				return fmt.Errorf("nobody can append to %s", st)
			}
		}
		if err := s.close("last", nil); err != nil {
			return err
		}
		s.tick(s.now + again)
		return s.converge()
	}
}

// orders starts the decommission of star x.
func orders(s *Script, _ string) (*proc, error) { return s.operator(admin.Order{Star: "x"}) }

// leaves gives the order again and again, with everything that it waits for, until
// the star is out of use, and nothing is left.
func leaves(s *Script) error {
	for range 60 {
		p, err := orders(s, "")
		if err != nil {
			return err
		}
		if s.run(nil, p); s.err != nil {
			return nil
		}
		row, _ := s.W.Meta.Lookup(keys.Gone("x"))
		if g, err := format.DecodeGone(row.Val); err == nil && g.Phase == format.GoneDone && len(law.AtRest(sim.Snapshot(s.W))) == 0 {
			return nil
		}
		s.round()
		at, ripe := s.nextDue()
		if ripe || at == 0 {
			at = s.now + 60_000
		}
		s.tick(max(at, s.now+1))
	}
	return fmt.Errorf("the star is not out of use: %s", law.AtRest(sim.Snapshot(s.W)))
}

// base plays a stage's setup.
func (d *stage) base(t *testing.T) *Script {
	t.Helper()
	s := New()
	for _, c := range []struct {
		cmd         string
		args, lines []string
	}{{"scene", strings.Fields(d.scene), nil}, {"setup", nil, strings.Split(d.setup, "\n")}} {
		if out, err := s.Do(c.cmd, c.args, c.lines); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s.silent = true
	return s
}

// rest lets everything converge: under the laws, nothing is left but clocks, every
// acknowledged record is in its place, and more passes write nothing.
func (d *stage) rest(s *Script) error {
	s.tick(s.now + again)
	last := d.last
	if last == nil {
		last = (*Script).converge
	}
	for _, f := range []func() error{func() error { return last(s) }, s.verify, func() error { return s.still(2) }} {
		if s.err != nil {
			return s.err
		}
		if err := f(); err != nil {
			return err
		}
	}
	return s.err
}

// again is what goes by before a duty is run again: sessions end, backoffs do.
const again = 20_000
