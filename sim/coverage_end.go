package sim

import (
	"fmt"
	"io"
	"strings"

	"nova/faults"
)

// Coverage is what many runs reached: what the end of `nova sim run` says.
type Coverage struct {
	Sum     Count
	Scout   Scout
	Effects []int64 // of each run
}

// Add adds a run, which must have been made with Config.Cover.
func (c *Coverage) Add(r *Report) {
	c.Sum.Add(&r.Count)
	c.Scout.Saw(r)
	c.Effects = append(c.Effects, r.Count.Effects)
}

// Steer repeats runs that came by boundaries where none was cut (Scout.Steer). Run
// runs one, and adds it.
func (c *Coverage) Steer(base Config, run func(Config)) { c.Scout.Steer(&c.Sum, base, run) }

// Enough is how many runs must have evaluated every law, struck with every fault,
// and given every duty work.
const Enough = 100

// End says what was reached, and reports whether that is all that it must be:
// from Enough runs on, what Idle lists; whole, everything that is not excused, every
// row of the crash table, and every boundary on every side.
func (c *Coverage) End(out io.Writer, whole bool) (ok bool, err error) {
	var b strings.Builder
	fmt.Fprintln(&b, Spread(c.Effects))
	b.WriteString(c.Sum.String())
	b.WriteString(c.Sum.Cutting())
	var left []string
	switch {
	case whole:
		b.WriteString(c.Sum.NotCut())
		left = c.Sum.Uncovered()
		points, rows := c.Sum.Uncut()
		for _, i := range rows {
			left = append(left, "row "+faults.Table[i].Name)
		}
		if n := len(points); n > 0 {
			left = append(left, fmt.Sprintf("%d sides of crash points", n))
		}
	case c.Sum.Runs >= Enough:
		left = c.Sum.Idle()
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "uncovered: %s\n", strings.Join(left, ", "))
	} else if whole {
		lines := c.Sum.Excuses()
		for _, line := range lines {
			fmt.Fprintln(&b, line)
		}
		points := len(c.Sum.Excluded())
		fmt.Fprintf(&b, "covered: everything but %d things and %d crash points that are excused\n", len(lines)-points, points)
	}
	_, err = io.WriteString(out, b.String())
	return len(left) == 0, err
}

// Idle lists the laws that were never evaluated, the faults that never struck, and
// the duties that never worked.
func (c *Count) Idle() (out []string) {
	for _, what := range c.Missing() {
		if kind, _, _ := strings.Cut(what, " "); kind == "law" || kind == "fault" || kind == "duty" {
			out = append(out, what)
		}
	}
	return out
}
