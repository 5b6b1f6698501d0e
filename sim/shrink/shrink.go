// Package shrink makes the tape of a run that broke a law shorter and duller,
// while it still breaks the same law: what is left is the story.
package shrink

import "nova/sim"

// Shrink looks for a simpler run with the breach of r, which Run(c) returned. It
// tries at most so many runs, and returns the simplest that it found, with the
// configuration that repeats it.
func Shrink(c sim.Config, r *sim.Report, tries int) (sim.Config, *sim.Report) {
	plan := r.Plan
	c.Plan, c.Log = &plan, nil
	s := &search{c: c, law: r.Breach.Law, best: r, left: tries}
	s.c.Choices = r.Choices
	for s.left > 0 {
		before := cost(s.best.Choices)
		s.pass(remove)
		s.pass(zero)
		s.pass(halve)
		if cost(s.best.Choices) == before {
			break
		}
	}
	s.c.Choices, s.c.Effects = s.best.Choices, s.effects()
	return s.c, s.best
}

type search struct {
	c    sim.Config
	law  sim.Law
	best *sim.Report
	left int
}

// effects bounds the faulty part of a candidate: no longer than the best one's.
func (s *search) effects() int { return int(s.best.Count.Effects) + 50 }

// pass applies an edit to blocks of the tape, from large ones to small ones.
func (s *search) pass(edit func(tape []uint32, from, to int) []uint32) {
	for size := max(1, len(s.best.Choices)/2); size >= 1 && s.left > 0; size /= 2 {
		for from := 0; from < len(s.best.Choices) && s.left > 0; {
			to := min(from+size, len(s.best.Choices))
			if !s.try(edit(append([]uint32(nil), s.best.Choices...), from, to)) {
				from = to
			} else if len(s.best.Choices) <= from {
				break
			} else if cost(s.best.Choices[from:min(to, len(s.best.Choices))]) == 0 {
				from = to
			}
		}
	}
}

// try runs a candidate and keeps it if it is simpler and breaks the same law.
func (s *search) try(tape []uint32) bool {
	if cost(tape) >= cost(s.best.Choices) {
		return false
	}
	s.left--
	c := s.c
	c.Choices, c.Effects = tape, s.effects()
	r := sim.Run(c)
	if r.Breach == nil || r.Breach.Law != s.law || cost(r.Choices) >= cost(s.best.Choices) {
		return false
	}
	s.best = r
	return true
}

// cost orders tapes: by length, and then by how much of them is not zero.
func cost(tape []uint32) int {
	n := 2 * len(tape)
	for _, v := range tape {
		if v != 0 {
			n += 2
		}
		if v > 16 {
			n++
		}
	}
	return n
}

func remove(tape []uint32, from, to int) []uint32 { return append(tape[:from], tape[to:]...) }

func zero(tape []uint32, from, to int) []uint32 {
	clear(tape[from:to])
	return tape
}

func halve(tape []uint32, from, to int) []uint32 {
	for i := from; i < to; i++ {
		tape[i] /= 2
	}
	return tape
}
