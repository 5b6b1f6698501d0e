package plan

import (
	"nova/core"
	"nova/core/format"
)

// Ready is when a batch marker ripens: one linger from its birth if a stream
// crossed the size trigger in it, its class's age cap otherwise.
func Ready(d *core.Dials, class core.Class, birth core.Ms, crossing bool) core.Ms {
	if crossing {
		return birth + d.Linger[class]
	}
	return birth + d.AgeCap[class]
}

// Residue is a batch marker that could not settle everything: it waits for its
// age cap, and has crossed nothing.
func Residue(d *core.Dials, b format.BatchMark) format.BatchMark {
	b.Crossing = false
	b.Ready = Ready(d, b.Class, b.Birth, false)
	return b
}

// Lingered reports whether a batch marker ripened by its linger alone: only
// windows that meet the size trigger are settled under it.
func Lingered(d *core.Dials, b *format.BatchMark, now core.Ms) bool {
	return b.Crossing && now < Ready(d, b.Class, b.Birth, false)
}

// Backoff is how long a marker that failed waits before its next attempt:
// doubled with each, up to the most.
func Backoff(d *core.Dials, attempts format.Attempts) core.Ms {
	w := d.BackoffFirst
	for range attempts {
		if w >= d.BackoffMax/2 {
			return d.BackoffMax
		}
		w *= 2
	}
	return min(w, d.BackoffMax)
}

// OrphanAt is where an intent stands in its schedule, which the drain reads up to
// now less the orphan grace: at its birth, and once condemned one read grace
// after it was last looked at.
func OrphanAt(d *core.Dials, x *format.Intent) core.Ms {
	if !x.Condemned {
		return x.Birth
	}
	return max(0, x.Since+d.ReadGrace-d.OrphanGrace)
}

// OrphanRipe reports whether an intent may be judged now. Its schedule has led to
// it: one that was born after now by more than two clocks can be apart was dated
// by a clock that is wrong, and its schedule was dated anew.
func OrphanRipe(d *core.Dials, x *format.Intent, now core.Ms) bool {
	if !x.Condemned {
		return now >= x.Birth+d.OrphanGrace || x.Birth > now+2*d.Skew
	}
	return x.Look == format.LookNone || now >= x.Since+d.ReadGrace || LookedAhead(d, x, now)
}

// LookedAhead reports whether the first look at a condemned intent is dated by a
// clock that is wrong: it is taken again, and the grace with it.
func LookedAhead(d *core.Dials, x *format.Intent, now core.Ms) bool {
	return x.Condemned && x.Look != format.LookNone && x.Since > now+2*d.Skew
}
