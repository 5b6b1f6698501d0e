package explore

import (
	"fmt"
	"strings"

	"nova/core"
)

// describe is a move in words.
func (x *tables) describe(s *state, m move) string {
	at := fmt.Sprintf("%6d", x.times[s.clock]-x.of.epoch)
	switch m.kind {
	case tick:
		t, _ := x.next(s)
		return fmt.Sprintf("%s time moves on to %d", at, x.times[t]-x.of.epoch)
	case exorcise:
		return at + " what is still on its way is lost"
	case haunt:
		g := x.sets.all[s.ghosts][m.i]
		return fmt.Sprintf("%s late landing: %s", at, x.words(g.op))
	}
	p := x.procs.all[s.p[m.k]]
	who := session(&x.of.Actors[m.k], p.start)
	switch m.kind {
	case boot:
		return fmt.Sprintf("%s %s starts", at, who)
	case cut:
		var lands []string
		for i := range p.pend {
			switch {
			case m.mask&(1<<i) != 0:
				lands = append(lands, "lands: "+x.words(p.pend[i].op))
			case int(m.also) == i+1:
				lands = append(lands, "lands later: "+x.words(p.pend[i].op))
			}
		}
		return fmt.Sprintf("%s %s is CUT; %s", at, who, strings.Join(lands, "; "))
	}
	e := &p.pend[m.i]
	text := fmt.Sprintf("%s %s: %s (%s at %s)", at, who, x.words(e.op), kindNames[m.kind], e.at)
	switch {
	case m.kind == arrive:
		_, r := x.land(s.w, e.op, s.clock)
		text += " → " + x.replies.all[r].Outcome.String()
	case m.kind == answer && e.reply != 0:
		text += " → " + x.replies.all[e.reply-1].Outcome.String()
	}
	return text
}

func (x *tables) words(op uint32) string {
	o := &x.ops.all[op]
	if o.op.Kind == core.KNone {
		return o.op.Key + " session " + o.session
	}
	return o.op.String()
}
