package script

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"nova/core"
)

var allPairs = flag.Bool("pairs", false, "strike at every pair of effects, not only at a share of them")

// share is how many pairs of a stage are played without -pairs.
const share = 24

// TestEveryPairOfCuts cuts a run at a change, and the next run at a change, in each way.
func TestEveryPairOfCuts(t *testing.T) { pairs(t, 0, cuts, cuts[:4], changing) }

// TestEveryErrorAndCut answers an effect badly, and cuts what comes of it: the same run
// at any change after that one, or else the next run.
func TestEveryErrorAndCut(t *testing.T) { pairs(t, 1, answers, cuts[:4], changing) }

// TestEveryPairOfErrors answers an effect badly, and then another.
func TestEveryPairOfErrors(t *testing.T) { pairs(t, 2, answers, answers, every) }

// changing: to cut before or after a read is to cut before the next change.
func changing(op *core.Op) bool { return op.Mutates() }

// pair is two strikes: the k-th effect of a run, and the j-th of what comes then that
// fits.
type pair struct {
	first  *way
	k      int
	second *way
	j      int
}

func (p *pair) String() string {
	return fmt.Sprintf("%s at effect %d, %s at %d of those that follow", p.first.name, p.k, p.second.name, p.j)
}

// pairs strikes twice; then everything must come to rest, as after one strike.
func pairs(t *testing.T, kind int, firsts, seconds []way, at func(op *core.Op) bool) {
	for i := range stages {
		d := &stages[i]
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			base := d.base(t)
			all := d.pairs(t, base, firsts, seconds, at)
			if want := leastPairs[d.name][kind]; want == 0 || len(all) < want {
				t.Errorf("%d pairs: there were %d", len(all), want)
			}
			ran := all
			if !*allPairs {
				ran = spread(all, share)
			}
			for i := range ran {
				if err := d.strikeTwice(t, base.Fork(), &ran[i], at); err != nil {
					t.Fatalf("%s: %v", &ran[i], err)
				}
			}
			t.Logf("%s: %d of %d pairs", d.name, len(ran), len(all))
		})
	}
}

// spread takes n of the pairs, far from each other.
func spread(all []pair, n int) (some []pair) {
	if len(all) <= n {
		return all
	}
	step := len(all)*618/1000 | 1
	for gcd(step, len(all)) != 1 {
		step += 2
	}
	for i := range n {
		some = append(some, all[i*step%len(all)])
	}
	return some
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// pairs lists the pairs of a stage.
func (d *stage) pairs(t *testing.T, base *Script, firsts, seconds []way, at func(op *core.Op) bool) (all []pair) {
	for i := range firsts {
		for k := 0; ; k++ {
			f := base.Fork()
			y := d.play(t, f, "y")
			e := y.to(k, at)
			if e == nil {
				break
			}
			if !firsts[i].fits(&e.op) {
				continue
			}
			y.strike(e, &firsts[i])
			n := make([]int, len(seconds))
			c := &course{t: t, play: y}
			for e := c.next(); e != nil; e = c.next() {
				for w := range seconds {
					if at(&e.op) && seconds[w].fits(&e.op) {
						n[w]++
					}
				}
				f.deliver(e, f.land(e, ""))
			}
			if f.err != nil {
				t.Fatalf("%s at effect %d: %v", firsts[i].name, k, f.err)
			}
			for w := range seconds {
				for j := range n[w] {
					all = append(all, pair{&firsts[i], k, &seconds[w], j})
				}
			}
		}
	}
	return slices.Clip(all)
}

// course is what comes after a strike: the rest of the run, and another run.
type course struct {
	t     *testing.T
	play  *play
	again bool
}

func (c *course) next() *pending {
	e := c.play.next()
	if s := c.play.s; e == nil && !c.again && s.err == nil {
		c.again = true
		s.tick(s.now + again)
		c.play = c.play.d.play(c.t, s, "z")
		e = c.play.next()
	}
	return e
}

// strikeTwice plays a pair.
func (d *stage) strikeTwice(t *testing.T, f *Script, p *pair, at func(op *core.Op) bool) error {
	y := d.play(t, f, "y")
	y.strike(y.to(p.k, at), p.first)
	c := &course{t: t, play: y}
	j := p.j
	for e := c.next(); ; e = c.next() {
		if e == nil {
			return fmt.Errorf("it is not struck again: %w", f.err)
		}
		if !at(&e.op) || !p.second.fits(&e.op) {
			f.deliver(e, f.land(e, ""))
			continue
		}
		if j == 0 {
			c.play.strike(e, p.second)
			break
		}
		j--
		f.deliver(e, f.land(e, ""))
	}
	for e := c.next(); e != nil; e = c.next() {
		f.deliver(e, f.land(e, ""))
	}
	return d.rest(f)
}
