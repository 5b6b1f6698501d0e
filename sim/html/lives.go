package html

import (
	"slices"

	"nova/sim"
	"nova/sim/story"
	"nova/sim/world"
)

// lives follows the objects that are shown, from the beginning of the run.
func (d *Data) lives(all []*sim.Event, from, to int, st *story.Story) {
	named := map[string]bool{}
	if st != nil {
		for i := range st.Things {
			named[st.Things[i].Key] = true
		}
	}
	keys := chosen(all, from, to, named)
	type life struct {
		Object
		thing    story.Thing
		replicas int
		open     map[string]int // watchers that stand: index in Watched
	}
	lives := make([]*life, len(keys))
	for i, k := range keys {
		lives[i] = &life{Object: Object{Key: k, Named: named[k]}, thing: story.NewThing(k), open: map[string]int{}}
	}
	for i, e := range all[:to] {
		k := max(0, i-from)
		for c := range e.Changes {
			ch := &e.Changes[c]
			for _, l := range lives {
				switch ch.Kind {
				case world.ObjectPut, world.ObjectDel:
					if ch.Key != l.Key {
						continue
					}
					if ch.Kind == world.ObjectPut {
						if l.replicas++; l.replicas == 1 {
							l.Lives = append(l.Lives, Stood{k, -1})
						}
					} else if l.replicas--; l.replicas == 0 {
						l.Lives[len(l.Lives)-1].To = k
					}
				case world.RowPut, world.RowDel:
					rel, kind := l.thing.Row(ch.Key, ch.Val)
					on := ch.Kind == world.RowPut && (rel == story.Names || rel == story.Watches)
					w, stands := l.open[ch.Key]
					if on && !stands {
						l.open[ch.Key] = len(l.Watched)
						l.Watched = append(l.Watched, Watch{kind, ch.Key, k, -1})
					} else if !on && stands {
						l.Watched[w].To = k
						delete(l.open, ch.Key)
					}
				}
			}
		}
	}
	for _, l := range lives {
		if l.Lives == nil {
			continue
		}
		// What was over before the window is not in it; of an object, something is.
		over := slices.IndexFunc(l.Lives, func(s Stood) bool { return from == 0 || s.To != 0 })
		if over < 0 {
			over = len(l.Lives) - 1
		}
		l.Lives = l.Lives[over:]
		l.Watched = slices.DeleteFunc(l.Watched, func(w Watch) bool { return w.To >= 0 && w.To <= 0 && from > 0 })
		d.Objects = append(d.Objects, l.Object)
	}
}

// chosen is the objects whose lives are shown: those that the breach names, and the
// last that came or went in the window.
func chosen(all []*sim.Event, from, to int, named map[string]bool) (keys []string) {
	seen := map[string]bool{}
	for _, first := range []bool{true, false} {
		for i := to - 1; i >= 0 && len(keys) < MostObjects; i-- {
			if i < from && !first {
				break
			}
			for c := range all[i].Changes {
				ch := &all[i].Changes[c]
				if ch.Kind != world.ObjectPut && ch.Kind != world.ObjectDel || seen[ch.Key] || named[ch.Key] != first || len(keys) == MostObjects {
					continue
				}
				seen[ch.Key] = true
				keys = append(keys, ch.Key)
			}
		}
	}
	// In the order in which they came.
	born := map[string]int{}
	for i, e := range all {
		for c := range e.Changes {
			if k := e.Changes[c].Key; e.Changes[c].Kind == world.ObjectPut {
				if _, ok := born[k]; !ok {
					born[k] = i
				}
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		if named[a] != named[b] {
			if named[a] {
				return -1
			}
			return 1
		}
		return born[a] - born[b]
	})
	return keys
}
