package script

import "testing"

// least is how many effects, and how many changes among them, an undisturbed run of
// a stage has at least: a sweep that covers less has lost something.
var least = map[string][2]int{
	"teardown":                 {12, 3},
	"teardown-gated-and-final": {12, 4},
	"settle":                   {40, 15},
	"settle-again":             {24, 16},
	"retention":                {9, 3},
	"reap":                     {18, 5},
	"trimcheck":                {16, 7},
	"denorm":                   {43, 18},
	"gc":                       {16, 9},
	"orphan-first-look":        {30, 11},
	"orphan-second-look":       {23, 5},
	"denorm-residue":           {29, 9},
	"denorm-lost":              {55, 23},
	"create":                   {3, 1},
	"delete":                   {3, 1},
	"policy":                   {3, 1},
	"trim":                     {4, 1},
	"absorb":                   {40, 19},
	"append":                   {25, 13},
	"open":                     {61, 23},
	"decommission-settles":     {20, 8},
	"decommission-ripens":      {23, 10},
	"decommission-reaps":       {16, 3},
	"decommission-ends":        {9, 1},
}

// TestEveryCut cuts each stage's process at every effect, in each way, until a run
// ends uncut.
func TestEveryCut(t *testing.T) { sweep(t, cuts) }

// TestEveryError answers each effect of each stage's process badly, in each way,
// until a run has no such effect.
func TestEveryError(t *testing.T) { sweep(t, answers) }

// sweep strikes at every effect. What was struck is run again, and everything comes
// to rest.
func sweep(t *testing.T, ways []way) {
	for i := range stages {
		d := &stages[i]
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			base := d.base(t)
			effects, changes := d.size(t, base.Fork())
			if min, ok := least[d.name]; !ok || effects < min[0] || changes < min[1] {
				t.Errorf("an undisturbed run has %d effects and %d changes: there were %d and %d", effects, changes, min[0], min[1])
			}
			ran := 0
			for i := range ways {
				w := &ways[i]
				struck := 0
				for k := 0; ; k++ {
					f := base.Fork()
					y := d.play(t, f, "y")
					e := y.to(k, every)
					if e == nil {
						break
					}
					if !w.fits(&e.op) {
						continue
					}
					struck++
					at := f.opText(&e.op)
					y.strike(e, w)
					y.through()
					f.tick(f.now + again)
					d.play(t, f, "z").through()
					if err := d.rest(f); err != nil {
						t.Fatalf("%s at effect %d, %s: %v", w.name, k, at, err)
					}
				}
				ran += struck
				if want := d.fitting(t, base.Fork(), w); struck != want {
					t.Errorf("%s: %d points of %d", w.name, struck, want)
				}
			}
			t.Logf("%s: %d effects, %d of them changes: %d points", d.name, effects, changes, ran)
		})
	}
}

// size is how many effects, and how many changes, an undisturbed run has.
func (d *stage) size(t *testing.T, s *Script) (effects, changes int) {
	y := d.play(t, s, "y")
	for e := y.next(); e != nil; e = y.next() {
		if effects++; e.op.Mutates() {
			changes++
		}
		s.deliver(e, s.land(e, ""))
	}
	if err := d.rest(s); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	return effects, changes
}

// fitting is how many effects of an undisturbed run can be struck in a way.
func (d *stage) fitting(t *testing.T, s *Script, w *way) (n int) {
	y := d.play(t, s, "y")
	for e := y.next(); e != nil; e = y.next() {
		if w.fits(&e.op) {
			n++
		}
		s.deliver(e, s.land(e, ""))
	}
	return n
}

// leastPairs is how many pairs there are at least, with a twentieth of play: of cuts,
// of an error and a cut, of errors.
var leastPairs = map[string][3]int{
	"teardown":                 {108, 200, 1170},
	"teardown-gated-and-final": {188, 200, 1060},
	"settle":                   {3290, 2510, 10030},
	"settle-again":             {4970, 6070, 10310},
	"retention":                {108, 190, 870},
	"reap":                     {280, 380, 2020},
	"trimcheck":                {780, 990, 2710},
	"denorm":                   {4900, 4370, 14190},
	"gc":                       {1560, 1680, 3740},
	"orphan-first-look":        {1080, 1460, 5250},
	"orphan-second-look":       {280, 360, 2580},
	"denorm-residue":           {1280, 1200, 5830},
	"denorm-lost":              {7170, 6560, 21910},
	"create":                   {12, 20, 102},
	"delete":                   {12, 20, 100},
	"policy":                   {12, 20, 100},
	"trim":                     {12, 20, 162},
	"absorb":                   {11860, 15400, 42770},
	"append":                   {6310, 3000, 7820},
	"open":                     {10350, 8290, 30460},
	"decommission-settles":     {1000, 800, 3380},
	"decommission-ripens":      {1450, 1500, 4470},
	"decommission-reaps":       {108, 112, 1460},
	"decommission-ends":        {12, 20, 420},
}
