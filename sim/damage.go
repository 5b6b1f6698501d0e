package sim

import "nova/core"

// damage answers a read of a footer or of a tail with what its bytes became on their
// way. A host that checks them says Damaged. No store sums up a part of an object,
// though: most hosts pass on whatever arrived, and the frames of package format are
// all that is left to notice it. So half of the answers are OK, and hold a byte that
// is another, or too few of them.
func (s *Sim) damage(e *pending) {
	form := s.tape.Choose(4)
	if form < 2 {
		s.answer(e, core.Reply{Outcome: core.Damaged})
		return
	}
	s.land(e)
	r := e.reply
	if n := len(r.Val); r.Outcome == core.OK && n > 0 {
		// Near the end, where the frames are: before them stand bytes of chunks, if any.
		at := n - 1 - s.tape.Choose(min(n, damageReach))
		if form == 2 {
			b := []byte(r.Val)
			b[at] ^= 1 << s.tape.Choose(8)
			r.Val = string(b)
		} else {
			r.Val = r.Val[:at]
		}
	}
	s.answer(e, r)
}

// damageReach is how far from its end an answer is damaged, in bytes.
const damageReach = 256
