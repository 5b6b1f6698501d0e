package sim

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/faults"
	"nova/faults/boundaries"
)

func (c *Count) addCuts(o *Count) {
	for i := range c.Duties {
		c.Duties[i] += o.Duties[i]
	}
	for i := range c.Rows {
		c.Rows[i] += o.Rows[i]
	}
	if c.Points == nil {
		c.Points = make([]Cuts, len(o.Points))
	}
	for i := range o.Points {
		p, q := &c.Points[i], &o.Points[i]
		p.Passed += q.Passed
		for s := range p.By {
			p.By[s] += q.By[s]
		}
	}
}

// Uncut is a crash point that no run was cut at, on one side.
type Uncut struct {
	Point int // index of boundaries.Points
	Side  faults.Side
}

// String is the point and the side as a plan's At has them.
func (u Uncut) String() string { return faults.AimAt(u.Point, u.Side).String() }

// unreached is the reason why no run can be cut at a crash point, if there is one:
// of all processes, or of this kind.
func unreached(p boundaries.Point) (why string, yes bool) {
	if why, yes = Unreached[boundaries.All()[p.Boundary].Name]; !yes {
		why, yes = Unreached[p.String()]
	}
	return why, yes
}

// excuses reports whether so many runs need not have been cut at a crash point.
func (c *Count) excuses(p boundaries.Point) bool {
	why, ok := unreached(p)
	return ok && (c.Runs < Many || !strings.HasPrefix(why, "rare"))
}

// Uncut lists the crash points that no run was cut at, less those of Unreached, and
// the rows of the crash table that none stood at.
func (c *Count) Uncut() (points []Uncut, rows []int) {
	for i, p := range boundaries.Points() {
		if c.excuses(p) {
			continue
		}
		for s := range faults.Side(faults.Sides) {
			if c.Points == nil || c.Points[i].By[s] == 0 {
				points = append(points, Uncut{i, s})
			}
		}
	}
	for i, n := range c.Rows {
		if n == 0 {
			rows = append(rows, i)
		}
	}
	return points, rows
}

// Cutting is the coverage of the crash table and of the crash points in words, two
// lines: how often each row was stood at, and how many points were cut on each
// side.
func (c *Count) Cutting() string {
	var b strings.Builder
	b.WriteString("crash table:")
	stood := 0
	for i, n := range c.Rows {
		fmt.Fprintf(&b, " %s=%d", faults.Table[i].Name, n)
		if n > 0 {
			stood++
		}
	}
	fmt.Fprintf(&b, "\nrows stood at %d/%d", stood, faults.Rows)
	points, _ := c.Uncut()
	all := len(boundaries.Points())
	of := all - len(c.Excluded())
	b.WriteString("; points cut")
	for s := range faults.Side(faults.Sides) {
		left := 0
		for _, u := range points {
			if u.Side == s {
				left++
			}
		}
		fmt.Fprintf(&b, " %s %d/%d,", s, of-left, of)
	}
	fmt.Fprintf(&b, " %d of the source's %d excused (sim.Unreached)\n", all-of, all)
	return b.String()
}

// Excluded is the crash points that these runs need not have been cut at, by index
// of boundaries.Points.
func (c *Count) Excluded() (points []int) {
	for i, p := range boundaries.Points() {
		if c.excuses(p) {
			points = append(points, i)
		}
	}
	return points
}

// NotCut is the crash points that were not cut, in words: a line each.
func (c *Count) NotCut() string {
	var b strings.Builder
	for i, p := range boundaries.Points() {
		if c.excuses(p) || c.Points == nil {
			continue
		}
		var left []string
		for s, n := range c.Points[i].By {
			if n == 0 {
				left = append(left, faults.Side(s).String())
			}
		}
		if left != nil {
			fmt.Fprintf(&b, "not cut: %s %s (passed %d times)\n", p, strings.Join(left, ", "), c.Points[i].Passed)
		}
	}
	return b.String()
}

// Scout remembers which runs came by which crash point, and which mark, so that a run
// can be cut where none was: the same run goes the same way until it is.
type Scout struct {
	point [][]Config
	row   [faults.Rows][]Config
}

// sightings are how many runs are remembered for one place.
const sightings = 3

// Saw takes note of a run, if there is room in its plan for another place.
func (sc *Scout) Saw(r *Report) {
	if sc.point == nil {
		sc.point = make([][]Config, len(boundaries.Points()))
	}
	if free := r.Plan; !free.CutAt(faults.Aim{Row: 1}) {
		return
	}
	came := map[int]bool{}
	keep := func(list *[]Config) {
		if len(*list) < sightings {
			plan := r.Plan
			*list = append(*list, Config{Seed: r.Seed, Plan: &plan})
		}
	}
	for i := range r.Count.Points {
		if r.Count.Points[i].Passed == 0 {
			continue
		}
		keep(&sc.point[i])
		for _, st := range bound().points[i] {
			came[st.row] = true
		}
	}
	for k, n := range r.Count.Notes {
		for _, st := range bound().marks[core.NoteKind(k)] {
			came[st.row] = came[st.row] || n > 0
		}
	}
	for i := range sc.row {
		if came[i] {
			keep(&sc.row[i])
		}
	}
}

// Runs are the runs that would be cut where none was yet, each told where: of
// each place the n-th run that came by, from 0. Nobody has come by the others.
func (sc *Scout) Runs(c *Count, n int) (runs []Config) {
	add := func(l []Config, at faults.Aim) {
		if n < len(l) {
			run := l[n]
			run.At = at
			runs = append(runs, run)
		}
	}
	points, rows := c.Uncut()
	for _, u := range points {
		if sc.point != nil {
			add(sc.point[u.Point], faults.AimAt(u.Point, u.Side))
		}
	}
	for _, i := range rows {
		add(sc.row[i], faults.Aim{Row: i + 1})
	}
	return runs
}

// Steer cuts where no run was cut yet: it repeats runs that came by, each told to
// cut there, and adds what they came to, until every place is cut or there is no
// such run left. Run runs one, and adds its count to sum.
func (sc *Scout) Steer(sum *Count, base Config, run func(Config)) {
	for n := range sightings {
		for _, c := range sc.Runs(sum, n) {
			if sum.cutAt(c.At) { // by another of these runs, meanwhile
				continue
			}
			base.Seed, base.Plan, base.At = c.Seed, c.Plan, c.At
			run(base)
		}
	}
}

// cutAt reports whether a run was cut where one was told to.
func (c *Count) cutAt(at faults.Aim) bool {
	if at.Row > 0 {
		return c.Rows[at.Row-1] > 0
	}
	return c.Points[boundaries.PointOf(at.Point-1, at.Root)].By[at.Side] > 0
}
