package sim_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nova/faults"
	"nova/faults/boundaries"
	"nova/sim"
)

// Each row of the crash table can be asked for: runs that are told to cut there
// come by, are cut, and hold every law to their end.
func TestCrashTable(t *testing.T) {
	for i := range faults.Table {
		name := faults.Table[i].Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := faults.ParseAim(name)
			if err != nil {
				t.Fatal(err)
			}
			const most = 50
			for seed := range uint64(most) {
				plan := faults.Draw(seed).Without(faults.CutMark)
				plan.At = [2]faults.Aim{at}
				r := sim.Run(sim.Config{Seed: seed, Plan: &plan, Effects: 6000, Scene: sim.Nova})
				if r.Breach != nil {
					t.Fatalf("seed %d: %v", seed, r.Breach)
				}
				if r.Count.Rows[i] > 0 {
					t.Logf("seed %d stands there %d times", seed, r.Count.Rows[i])
					return
				}
			}
			t.Errorf("none of %d seeds stands at it", most)
		})
	}
}

// A run that came by a boundary is cut there when it is told to, on the side that
// it is told, and not before.
func TestScoutsLeadBack(t *testing.T) {
	const seed = 11
	base := sim.Config{Seed: seed, Effects: 1500, Scene: sim.Nova, Cover: true}
	first := sim.Run(base)
	if first.Breach != nil {
		t.Fatal(first.Breach)
	}
	var sum sim.Count
	sum.Add(&first.Count)
	var scout sim.Scout
	scout.Saw(first)
	runs := scout.Runs(&sum, 0)
	if len(runs) < 100 {
		t.Fatalf("%d places to go back to", len(runs))
	}
	for k := 0; k < len(runs); k += 31 { // some of them
		c := base
		c.Plan, c.At = runs[k].Plan, runs[k].At
		at := c.At
		if at.Row > 0 {
			continue
		}
		r := sim.Run(c)
		if r.Breach != nil {
			t.Errorf("%s: %v", at, r.Breach)
		}
		if p := r.Count.Points[boundaries.PointOf(at.Point-1, at.Root)]; p.By[at.Side] == 0 {
			t.Errorf("%s: passed %d times, and not cut", at, p.Passed)
		}
	}
	if more := scout.Runs(&sum, 1); len(more) != 0 {
		t.Errorf("one run came by, and %d more are to be had", len(more))
	}
}

// What is told of the boundaries is no choice: a run is the same with it.
func TestCoverChangesNothing(t *testing.T) {
	for seed := range uint64(3) {
		c := sim.Config{Seed: seed, Effects: 800, Scene: sim.Nova}
		a := sim.Run(c)
		c.Cover = true
		if b := sim.Run(c); a.Sum != b.Sum || a.Lines != b.Lines {
			t.Errorf("seed %d is another run when it is watched", seed)
		}
	}
}

// heldToUnreached holds the list of excused boundaries to what runs reached.
func heldToUnreached(t *testing.T, c *sim.Count) {
	for name, why := range sim.Unreached {
		boundary, root, one := strings.Cut(name, "@")
		if i := boundaries.Index(boundary); i < 0 || one && boundaries.PointOf(i, root) < 0 {
			t.Errorf("%s is excused (%s), and there is no such point", name, why)
		}
	}
	many := *c
	many.Runs = sim.Many // what is rare may be reached
	for _, i := range many.Excluded() {
		if n := c.Points[i].Passed; n > 0 {
			t.Errorf("%s is excused, and was reached %d times", boundaries.Points()[i], n)
		}
	}
}

// What no run reaches, a test of the machine does: the reason names it.
func TestUnreachedHasTests(t *testing.T) {
	for name, why := range sim.Unreached {
		if strings.HasPrefix(why, sim.Never) {
			continue
		}
		pkg, test, _ := strings.Cut(why[strings.LastIndexByte(why, ' ')+1:], ".")
		files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
		found := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || test != "" && bytes.Contains(text, []byte("func "+test+"(t *testing.T)"))
		}
		if err != nil || !found {
			t.Errorf("%s: %s has no test %s", name, pkg, test)
		}
	}
}

// The end of a run of seeds fails where something was not reached, and says what.
func TestCoverageFails(t *testing.T) {
	plan := faults.Plan{}
	var few sim.Coverage
	few.Add(sim.Run(sim.Config{Seed: 2, Plan: &plan, Effects: 300, Scene: sim.Nova, Cover: true}))
	end := func(c *sim.Coverage, whole bool) (string, bool) {
		var b bytes.Buffer
		ok, err := c.End(&b, whole)
		if err != nil {
			t.Fatal(err)
		}
		return b.String(), ok
	}
	if text, ok := end(&few, false); !ok || !strings.Contains(text, "rows stood at 0/12; points cut before 0/") {
		t.Errorf("one run without faults, %v:\n%s", ok, text)
	}
	text, ok := end(&few, true)
	for _, want := range []string{"fault late", "row lost-race", "sides of crash points", "not cut: protocol.Resolve.Step:txn@denorm before, after, silent (passed "} {
		if ok || !strings.Contains(text, want) {
			t.Errorf("%v, and no word of %q:\n%s", ok, want, text)
		}
	}
	many := few.Sum
	many.Runs = sim.Many
	if n, m := len(few.Sum.Excluded()), len(many.Excluded()); m == 0 || n <= m {
		t.Errorf("%d points are excused of few runs, and %d of many", n, m)
	}
	for _, c := range []*sim.Count{&few.Sum, &many} {
		lines := strings.Join(c.Excuses(), "\n")
		if n := strings.Count(lines, "excused: crash point "); n != len(c.Excluded()) || !strings.Contains(lines, "excused: op stat: no machine emits it") ||
			strings.Contains(lines, ": rare") != (c.Runs < sim.Rare) {
			t.Errorf("%d of %d points with a reason, of %d runs:\n%s", n, len(c.Excluded()), c.Runs, lines)
		}
	}
	few.Sum.Runs = sim.Enough // as if all of them had been like it
	if text, ok := end(&few, false); ok || !strings.Contains(text, "uncovered: fault cut-before") || strings.Contains(text, "uncovered: law") {
		t.Errorf("many runs without faults, %v:\n%s", ok, text)
	}
	whole := few
	whole.Sum.Laws[sim.LawStrikes] = 1
	for i := range whole.Sum.Faults {
		whole.Sum.Faults[i] = 1
	}
	for i := range whole.Sum.Duties {
		whole.Sum.Duties[i] = 1
	}
	if text, ok := end(&whole, false); !ok {
		t.Errorf("every fault struck, and every duty worked:\n%s", text)
	}
	whole.Sum.Duties[3] = 0
	if text, ok := end(&whole, false); ok || !strings.Contains(text, "uncovered: duty reap\n") {
		t.Errorf("a duty never worked, %v:\n%s", ok, text)
	}
	whole.Sum.Duties[3], whole.Sum.Laws[sim.LawReader] = 1, 0
	if text, ok := end(&whole, false); ok || !strings.Contains(text, "uncovered: law 4 reader\n") {
		t.Errorf("a law was never evaluated, %v:\n%s", ok, text)
	}
}
