package core

// MaxGroup is the most machines that one group can run.
const MaxGroup = 1 << 16

// Group runs n machines, at most width abreast, started in index order. It owns
// its lanes: they are what a clone must copy.
type Group[M any] struct {
	next int
	done bool
	live []Lane[M] // sorted by index
}

// Lane is one running machine of a group.
type Lane[M any] struct {
	I int
	M M
}

// Run steps the group: the lane that the event is addressed to, then as many new
// ones as fit. It reports whether all n are finished, and goes on reporting it
// until the group is set to its zero value: groups can be stepped side by side.
func (g *Group[M]) Run(t Turn, n, width int, step func(i int, m *M, t Turn) bool) bool {
	if g.done {
		return true
	}
	if n > MaxGroup || width < 1 {
		panic("core: group out of bounds")
	}
	if s, ok := t.addressed(); ok {
		if k := g.lane(int(s)); k >= 0 && step(int(s), &g.live[k].M, t.In(s)) {
			g.drop(k)
		}
	}
	for g.next < n && len(g.live) < width {
		i := g.next
		g.next++
		g.live = append(g.live, Lane[M]{I: i})
		if k := len(g.live) - 1; step(i, &g.live[k].M, t.In(Slot(i))) {
			g.drop(k)
		}
	}
	if g.next >= n && len(g.live) == 0 {
		*g = Group[M]{done: true}
		return true
	}
	return false
}

// Idle reports whether nothing of the group is in flight.
func (g *Group[M]) Idle() bool { return len(g.live) == 0 }

func (g *Group[M]) lane(i int) int {
	lo, hi := 0, len(g.live)
	for lo < hi {
		if h := int(uint(lo+hi) >> 1); g.live[h].I < i {
			lo = h + 1
		} else {
			hi = h
		}
	}
	if lo < len(g.live) && g.live[lo].I == i {
		return lo
	}
	return -1
}

func (g *Group[M]) drop(k int) {
	copy(g.live[k:], g.live[k+1:])
	var zero Lane[M]
	g.live[len(g.live)-1] = zero
	g.live = g.live[:len(g.live)-1]
}

// Results holds one value for each index of a group, in index order whatever the
// order of arrival. It owns its slice: a clone copies it.
type Results[T any] struct{ own []T }

// Make forgets what there was and makes room for n values.
func (r *Results[T]) Make(n int) { r.own = make([]T, n) }

// Set stores value i.
func (r *Results[T]) Set(i int, v T) { r.own[i] = v }

// At is value i, to read or change in place.
func (r *Results[T]) At(i int) *T { return &r.own[i] }

// Len is the number of values.
func (r *Results[T]) Len() int { return len(r.own) }

// All is the values; the caller must not keep or change it.
func (r *Results[T]) All() []T { return r.own }
