package sim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"nova/core"
	"nova/faults"
	"nova/plain"
	"nova/sim"
	"nova/sim/world"
)

// toy is a machine for the run loop's own tests: it takes requests, makes an
// object for each in one of two ways, records it in a row, and gives an answer.
type toy struct {
	step   uint8
	call   core.Call
	item   string
	upload string
	tag    string
	store  core.Store
	ends   core.Ms
	group  core.Group[toyRead]
	bug    bool // it answers before the row is there
}

type toyRead struct{ call core.Call }

func (m *toy) obj() core.Obj { return core.Obj{Store: m.store, Key: "item/" + m.item} }

func (m *toy) Step(t core.Turn) bool {
	for {
		switch m.step {
		case 0: // Register, under the session.
			r, ok := m.call.Await(t, core.Txn(core.PutLeased("toy", "")))
			if !ok {
				return false
			}
			if r.Outcome != core.OK {
				m.step = 9
				continue
			}
			m.step = 1
		case 1:
			r, ok := m.call.Await(t, core.Take("work"))
			if !ok {
				return false
			}
			m.item = r.Val
			m.step = 2
			if r.Val == "end" {
				m.step = 8
			} else if m.item[len(m.item)-1]%2 == 0 {
				m.step = 4
			}
		case 2: // One PUT.
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Create(m.obj(), core.Bytes(m.item), t.Now+500) })
			if !ok {
				return false
			}
			if r.Outcome == core.OK || r.Outcome == core.Exists {
				m.step = 6
			}
		case 4: // Multipart.
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.CreateUpload(m.obj(), t.Now+500) })
			if !ok {
				return false
			}
			if r.Outcome == core.OK {
				m.upload, m.step = r.Val, 5
			}
		case 5:
			if m.tag == "" {
				r, ok := m.call.AwaitFunc(t, func() core.Op {
					return core.UploadPart(m.obj(), m.upload, 1, core.Bytes(m.item), t.Now+500)
				})
				if !ok {
					return false
				}
				if m.tag = r.Val; r.Outcome != core.OK {
					m.tag, m.step = "", 2
				}
				continue
			}
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Complete(m.obj(), m.upload, []string{m.tag}, t.Now+500) })
			if !ok {
				return false
			}
			m.tag, m.step = "", 2
			if r.Outcome == core.OK || r.Outcome == core.Exists {
				m.step = 6
			}
		case 6: // The row.
			if m.bug {
				m.step = 7
				continue
			}
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Txn(core.Put("item/"+m.item, "")) })
			if !ok {
				return false
			}
			if r.Outcome == core.OK {
				m.step = 7
			}
		case 7: // Look at it three times, two abreast, then answer.
			if !m.group.Run(t, 3, 2, func(_ int, r *toyRead, t core.Turn) bool {
				_, ok := r.call.Await(t, core.Stat(m.obj()))
				return ok
			}) {
				return false
			}
			if _, ok := m.call.AwaitFunc(t, func() core.Op { return core.Give("done", m.item) }); !ok {
				return false
			}
			m.group, m.step = core.Group[toyRead]{}, 1
			t.Note(core.NoteAcked, 1)
		case 8:
			return true
		case 9: // Wait and register again.
			if m.ends == 0 {
				m.ends = t.Now + 100
			}
			if _, ok := m.call.Await(t, core.Wait(m.ends)); !ok {
				return false
			}
			m.ends, m.step = 0, 0
		}
	}
}

// toyActor is the role; toyScene the client, which hands out items and believes
// what it was answered.
type toyActor struct {
	scene *toyScene
	name  string
	bug   bool
}

func (a *toyActor) Name() string { return a.name }
func (a *toyActor) Boot(*sim.Proc) core.Machine {
	return &toy{store: "std-a", bug: a.bug}
}

func (a *toyActor) Gave(p *sim.Proc, queue, val string) {
	sc := a.scene
	if _, ok := p.Sim.W.Meta.Lookup("item/" + val); !ok || p.Sim.W.Bucket("std-a").Lookup("item/"+val) == nil {
		p.Sim.Breach(sim.LawAcked, "%s was answered, and is not there", val)
	}
	sc.acked++
}

func (a *toyActor) Revive() bool { return !a.scene.stopped }

type toyScene struct {
	stopped bool
	actors  []*toyActor
	asked   int
	acked   int
}

func (sc *toyScene) Act(s *sim.Sim) {
	if p := s.Running(sc.actors[s.Tape().Choose(len(sc.actors))]); p != nil {
		sc.asked++
		p.Push("work", fmt.Sprintf("i%d", sc.asked))
	}
}

func (sc *toyScene) Stop(s *sim.Sim) {
	sc.stopped = true
	for _, a := range sc.actors {
		if p := s.Running(a); p != nil {
			p.Push("work", "end")
		}
	}
}

func (sc *toyScene) Drained(s *sim.Sim) string {
	if n := len(s.Procs()); n > 0 {
		return fmt.Sprintf("%d processes still run", n)
	}
	return ""
}

func (sc *toyScene) Finish(s *sim.Sim) {}

func toyRun(seed uint64, log *bytes.Buffer, bug bool, plan *faults.Plan) (*sim.Report, *toyScene) {
	sc := &toyScene{}
	c := sim.Config{Seed: seed, Plan: plan, Effects: 600, Scene: func(s *sim.Sim) {
		for i := range 3 {
			a := &toyActor{sc, fmt.Sprintf("toy-%d", i), bug && i == 1}
			sc.actors = append(sc.actors, a)
			s.Start(a)
		}
		s.SetClients(sc)
	}}
	if log != nil {
		c.Log = log
	}
	return sim.Run(c), sc
}

func TestToyIsPlain(t *testing.T) {
	plain.Append(nil, &toy{}) // panics where it is not
}

// One seed, one run: the logs are equal to the byte, with and without a writer,
// from the seed and from the tape.
func TestRunsRepeat(t *testing.T) {
	for seed := range uint64(40) {
		var a, b bytes.Buffer
		ra, _ := toyRun(seed, &a, false, nil)
		rb, _ := toyRun(seed, &b, false, nil)
		rc, _ := toyRun(seed, nil, false, nil)
		if a.String() != b.String() || ra.Sum != rb.Sum || ra.Sum != rc.Sum || ra.Lines != rc.Lines {
			t.Fatalf("seed %d: two runs differ (%d and %d and %d lines)", seed, ra.Lines, rb.Lines, rc.Lines)
		}
		if ra.Breach != nil {
			t.Errorf("seed %d: %v\n%s", seed, ra.Breach, tail(a.String(), 30))
		}
	}
}

func TestTapesReplay(t *testing.T) {
	for seed := range uint64(10) {
		var a, b bytes.Buffer
		ra, _ := toyRun(seed, &a, false, nil)
		sc := &toyScene{}
		plan := ra.Plan
		rb := sim.Run(sim.Config{Seed: 999, Plan: &plan, Choices: ra.Choices, Effects: 600, Log: &b, Scene: func(s *sim.Sim) {
			for i := range 3 {
				act := &toyActor{sc, fmt.Sprintf("toy-%d", i), false}
				sc.actors = append(sc.actors, act)
				s.Start(act)
			}
			s.SetClients(sc)
		}})
		if a.String() != b.String() || ra.Sum != rb.Sum {
			t.Fatalf("seed %d: its tape gives another run", seed)
		}
	}
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Every kind of fault strikes; a bug is found; and work is done meanwhile.
func TestToyUnderFaults(t *testing.T) {
	var sum sim.Count
	acked := 0
	for seed := range uint64(300) {
		r, sc := toyRun(seed, nil, false, nil)
		if r.Breach != nil {
			t.Fatalf("seed %d (%s): %v", seed, r.Plan, r.Breach)
		}
		sum.Add(&r.Count)
		acked += sc.acked
	}
	for _, k := range faults.All() {
		if sum.Faults[k] == 0 && k != faults.DeleteKey && k != faults.DamagedTip && k != faults.Ahead {
			t.Errorf("no %s ever struck", k)
		}
	}
	if acked < 5000 || sum.Lates == 0 {
		t.Errorf("%d acknowledged, %d landed late", acked, sum.Lates)
	}
	found := 0
	for seed := range uint64(10) {
		if r, _ := toyRun(seed, nil, true, nil); r.Breach != nil && r.Breach.Law == sim.LawAcked {
			found++
		}
	}
	if found < 8 {
		t.Errorf("the bug was found in %d of 10 runs", found)
	}
	if testing.Verbose() {
		t.Log(sum.String())
	}
}

// dropper drops a branch in flight, doubler has two effects at one path: both
// break the contract of the core, and the run says so.
type dropper struct {
	a, b core.Call
	step uint8
}

func (d *dropper) Step(t core.Turn) bool {
	if d.step == 0 {
		d.b.Await(t.In(1), core.Get("b"))
		if _, ok := d.a.Await(t.In(0), core.Get("a")); !ok {
			return false
		}
		d.step = 1
	}
	return false
}

type doubler struct{ a, b core.Call }

func (d *doubler) Step(t core.Turn) bool {
	d.a.Await(t, core.Get("a"))
	d.b.Await(t, core.Get("b"))
	return false
}

type quitter struct{ a core.Call }

func (d *quitter) Step(t core.Turn) bool {
	d.a.Await(t, core.Get("a"))
	return true
}

type anyActor struct{ m core.Machine }

func (anyActor) Name() string                  { return "any" }
func (a anyActor) Boot(*sim.Proc) core.Machine { return a.m }

func TestBrokenMachines(t *testing.T) {
	for _, c := range []struct {
		m    core.Machine
		want string
	}{
		{&dropper{}, "found no call"},
		{&doubler{}, "in flight at - already"},
		{&quitter{}, "ended with get a in flight"},
	} {
		plan := faults.Plan{}
		r := sim.Run(sim.Config{Seed: 1, Plan: &plan, Scene: func(s *sim.Sim) { s.Start(anyActor{c.m}) }})
		if r.Breach == nil || r.Breach.Law != sim.LawContract || !strings.Contains(r.Breach.What, c.want) {
			t.Errorf("%T: %v, want %q", c.m, r.Breach, c.want)
		}
	}
}

// Dials keep every contract, whatever is drawn.
func TestDials(t *testing.T) {
	for seed := range uint64(500) {
		d := sim.Dials(sim.NewTape(seed))
		if err := d.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

var _ sim.Fetcher = (*nobody)(nil)

type nobody struct{}

func (*nobody) Fetched(*sim.Proc, *core.Op, core.Outcome, world.Body) {}

func BenchmarkLoop(b *testing.B) {
	plan := faults.Plan{}
	var n int64
	for i := 0; b.Loop(); i++ {
		r, _ := toyRun(uint64(i), nil, false, &plan)
		n += r.Count.Effects
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "effects/s")
}
