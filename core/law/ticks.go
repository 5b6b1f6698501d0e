package law

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Ticks follows the clocks of a world at rest: the markers that AtRest allows,
// which are written again and again for as long as the world stands. No duty feeds
// itself: a clock is written at its own date and not before, by one transaction that
// takes the old row and puts one new one, a whole period later.
type Ticks struct {
	d    *core.Dials
	rest rest
	ages map[uint64]core.Ms // policies of live streams
	due  map[string]core.Ms // by clock: when it is due
}

// NewTicks takes the clocks that stand.
func NewTicks(s *Snapshot, d *core.Dials) *Ticks {
	c := &Ticks{d: d, rest: readRest(s), ages: map[uint64]core.Ms{}, due: map[string]core.Ms{}}
	for i := range s.Rows {
		key := s.Rows[i].Key
		if id, err := keys.ParseStream(key); err == nil {
			if x, err := format.DecodeStream(s.Rows[i].Val); err == nil {
				c.ages[id] = x.MaxAge
			}
		}
		if name := c.rest.clock(key); name != "" {
			at, _ := keys.ParseDue(key)
			c.due[name] = at.At
		}
	}
	return c
}

// period is the least time between two dates of a clock.
func (c *Ticks) period(d *keys.Due) core.Ms {
	if d.Queue == keys.Retention {
		return c.ages[d.Stream]
	}
	return c.d.LiveHeadProbe
}

// Changed judges the rows that one transaction wrote at a true time: all of them
// must be clocks, ticking.
func (c *Ticks) Changed(cs []Change, now core.Ms) (bad []Breach) {
	refuse := func(key, format string, args ...any) {
		bad = append(bad, Breach{8, key, fmt.Sprintf(format, args...)})
	}
	went := map[string]bool{}
	for i := range cs {
		key := cs[i].Row.Key
		name := c.rest.clock(key)
		at, _ := keys.ParseDue(key)
		if cs[i].Kind != RowGone || name == "" {
			continue
		}
		switch due, ok := c.due[name]; {
		case !ok || at.At != due:
			refuse(key, "a clock went that did not stand")
		case due > now+c.d.Skew:
			refuse(key, "a clock was taken %d ms before its date", due-now)
		}
		went[name] = true
	}
	for i := range cs {
		key := cs[i].Row.Key
		name := c.rest.clock(key)
		at, _ := keys.ParseDue(key)
		switch {
		case name == "":
			refuse(key, "everything has drained, and yet it was written")
		case cs[i].Kind == RowGone:
		case cs[i].Kind != RowPut:
			refuse(key, "everything has drained, and yet it was written")
		case !went[name]:
			refuse(key, "a clock was put, and none went for it")
		default:
			if was, p := c.due[name], c.period(&at); at.At < was+p {
				refuse(key, "a clock was due at %d, and is due again %d ms later; its period is %d ms", was, at.At-was, p)
			}
			c.due[name] = at.At
			delete(went, name)
		}
	}
	for name := range went {
		refuse(name, "a clock went, and none was put for it")
	}
	return sorted(bad)
}
