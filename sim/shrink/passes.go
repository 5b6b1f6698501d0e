package shrink

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nova/faults"
	"nova/sim"
)

// order leaves out every move at once.
func (s *search) order() {
	if slices.ContainsFunc(s.best.Lines, moves) {
		s.try(slices.DeleteFunc(slices.Clone(s.best.Lines), moves), s.best.Actors)
	}
}

// halves takes pieces out of what of picks, large ones first.
func (s *search) halves(of func(*sim.Line) bool, without func(lines []*sim.Line, gone map[*sim.Line]bool) []*sim.Line) {
	var items []*sim.Line
	for _, l := range s.best.Lines {
		if of(l) {
			items = append(items, l)
		}
	}
	for size := len(items); size > 0; size /= 2 {
		for at := 0; at < len(items) && !s.over(); {
			end := min(len(items), at+size)
			gone := map[*sim.Line]bool{}
			for _, l := range items[at:end] {
				gone[l] = true
			}
			if s.try(without(s.best.Lines, gone), s.best.Actors) {
				items = slices.Delete(items, at, end)
			} else {
				at = end
			}
		}
	}
}

// dropped is the lines that are not gone.
func dropped(lines []*sim.Line, gone map[*sim.Line]bool) []*sim.Line {
	return slices.DeleteFunc(slices.Clone(lines), func(l *sim.Line) bool { return gone[l] })
}

func (s *search) moves() { s.halves(moves, dropped) }

// restarts leaves out restarts, and then whole lives that a cut has ended: the lives
// after it are counted anew.
func (s *search) restarts() {
	for _, l := range slices.Clone(s.best.Lines) {
		if l.Do == sim.DoBack {
			s.try(lived(s.best.Lines, l.Proc), s.best.Actors)
		}
	}
	s.halves(func(l *sim.Line) bool { return l.Do == sim.DoBack || l.Do == sim.DoStop || l.Do == sim.DoMourn }, dropped)
}

// lived is the lines without one life of an actor.
func lived(lines []*sim.Line, proc string) (out []*sim.Line) {
	name, life, _ := strings.Cut(proc, "/")
	k, err := strconv.Atoi(life)
	if err != nil {
		return lines
	}
	for _, l := range lines {
		of, n, ok := strings.Cut(l.Of(), "/")
		i, err := strconv.Atoi(n)
		if !ok || of != name || err != nil || i < k {
			out = append(out, l)
			continue
		}
		if i == k {
			continue
		}
		x := *l
		at := name + "/" + strconv.Itoa(i-1)
		if x.Proc != "" {
			x.Proc = at
		}
		if x.ID.Proc != "" {
			x.ID.Proc = at
		}
		out = append(out, &x)
	}
	return out
}

// faults lets effects land well that were struck.
func (s *search) faults() { s.halves(strikes, without) }

// requests leaves out what clients ask for, and with it the client's own process.
func (s *search) requests() {
	s.halves(func(l *sim.Line) bool { return l.Do == sim.DoAsk }, without)
}

// without is the lines without faults, requests and restarts: an effect that was
// struck lands well, and with a request goes the client's own process.
func without(lines []*sim.Line, gone map[*sim.Line]bool) (out []*sim.Line) {
	procs := map[string]bool{}
	for l := range gone {
		if l.Do == sim.DoAsk {
			procs[fmt.Sprintf("client-%d", l.Ask.N)] = l.Ask.Star == ""
			procs[fmt.Sprintf("operator-%d", l.Ask.N)] = l.Ask.Star != ""
		}
	}
	for _, l := range lines {
		switch {
		case gone[l] && strikes(l) && l.ID.Path != sim.Anywhere:
			out = append(out, &sim.Line{At: l.At, Do: l.Do, ID: l.ID, Key: l.Key, Reply: true})
		case gone[l] || l.Ask == nil && procs[l.Actor()]:
		default:
			out = append(out, l)
		}
	}
	return out
}

// names has faults strike whatever effect does the same, instead of one that is known
// by its place among others: that place moves with all that is left out before it.
func (s *search) names() {
	s.halves(func(l *sim.Line) bool { return strikes(l) && l.ID.Path != sim.Anywhere }, func(lines []*sim.Line, gone map[*sim.Line]bool) []*sim.Line {
		out := slices.Clone(lines)
		for i, l := range out {
			if gone[l] {
				out[i] = l.Loosen()
			}
		}
		return out
	})
}

// few is how many things may be left for two of them to be left out at once.
const few = 36

// pairs leaves out two things at a time, of which neither can go without the other: an
// open and its close, a cut and what made up for the time that it took.
func (s *search) pairs() {
	things := func() (out []*sim.Line) {
		for _, l := range s.best.Lines {
			if l.Do == sim.DoAsk || l.Do == sim.DoBack || l.Do == sim.DoMourn || strikes(l) {
				out = append(out, l)
			}
		}
		return out
	}
	of := things()
	if len(of) > few {
		return
	}
	for i := 0; i < len(of) && !s.over(); i++ {
		for k := i + 1; k < len(of); k++ {
			if s.try(without(s.best.Lines, map[*sim.Line]bool{of[i]: true, of[k]: true}), s.best.Actors) {
				of = things()
				k = i
			}
		}
	}
}

// actors leaves out whole actors.
func (s *search) actors() {
	for _, c := range slices.Clone(s.best.Actors) {
		lines := slices.DeleteFunc(slices.Clone(s.best.Lines), func(l *sim.Line) bool { return l.Actor() == c.Name })
		s.try(lines, slices.DeleteFunc(slices.Clone(s.best.Actors), func(x sim.Cast) bool { return x == c }))
	}
}

// details makes what is left plainer: appends of one chunk, clocks that are right,
// names without numbers that nothing needs, and no line that fits nothing.
func (s *search) details() {
	for i := 0; i < len(s.best.Lines) && !s.over(); i++ {
		l := s.best.Lines[i]
		for k := 0; l.Ask != nil && len(l.Ask.Chunks) > 1 && k < len(l.Ask.Chunks); {
			a, n := *l.Ask, *l
			a.Chunks = slices.Delete(slices.Clone(a.Chunks), k, k+1)
			n.Ask = &a
			lines := slices.Clone(s.best.Lines)
			if lines[i] = &n; s.try(lines, s.best.Actors) {
				l = &n
			} else {
				k++
			}
		}
		if l.Skews {
			n := *l
			n.Skews, n.Skew = false, 0
			lines := slices.Clone(s.best.Lines)
			lines[i] = &n
			s.try(lines, s.best.Actors)
		}
	}
	s.halves(func(l *sim.Line) bool { return l.Do == sim.DoStart && !l.Skews }, dropped)
	// The plan says nothing any more but what damage a reader may meet.
	if x := *s.best; !x.Plan.Quiet() && !s.over() {
		x.Plan = faults.Plan{}
		if r := s.run(&x); same(r, s.best) {
			x.Breach = r.Breach
			s.best, s.report = &x, r
		}
	}
}
