package sim

import "math/rand/v2"

// Tape is where every choice of a run comes from. It draws from a seed, or
// replays what was recorded; either way it records.
//
// Zero is always the dull choice (no fault, the oldest, no time), so that a tape
// becomes simpler as its numbers become smaller, and a tape that has run out
// means that nothing special happens any more.
type Tape struct {
	src    *rand.PCG // nil: replay
	given  []uint32
	next   int
	played []uint32
	script bool      // given are the arguments of one fault; beyond them everything is 0
	note   *[]uint32 // what is drawn is noted here too, if not nil
}

// NewTape draws from a seed.
func NewTape(seed uint64) *Tape {
	return &Tape{src: rand.NewPCG(seed, seed^0xda3e39cb94b95bdb)}
}

// ReplayTape replays choices; what goes beyond them is 0.
func ReplayTape(choices []uint32) *Tape { return &Tape{given: choices} }

// Choose is one choice of n: 0 ≤ Choose(n) < n. With n below 2 there is none.
func (t *Tape) Choose(n int) int {
	if n < 2 {
		return 0
	}
	var v uint32
	switch {
	case t.src != nil:
		v = uint32(t.src.Uint64() >> 32 * uint64(n) >> 32)
	case t.next < len(t.given):
		v = t.given[t.next] % uint32(n)
		t.next++
	}
	t.played = append(t.played, v)
	if t.note != nil {
		*t.note = append(*t.note, v)
	}
	return int(v)
}

// Chance is true num times out of den.
func (t *Tape) Chance(num, den int) bool { return t.Choose(den) >= den-num }

// Between is a number of [lo, hi].
func (t *Tape) Between(lo, hi int) int { return lo + t.Choose(hi-lo+1) }

// lend draws from args, if the tape is a script's, and notes what is drawn into
// into, if not nil, until back is called.
func (t *Tape) lend(args []uint32, into *[]uint32) (back func()) {
	given, next, note := t.given, t.next, t.note
	if t.script {
		t.given, t.next = args, 0
	}
	t.note = into
	return func() {
		if t.note = note; t.script {
			t.given, t.next = given, next
		}
	}
}

// Played is every choice made so far. The caller must not change it.
func (t *Tape) Played() []uint32 { return t.played }
