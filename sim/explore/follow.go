package explore

import (
	"cmp"
	"strings"

	"nova/core"
	"nova/core/law"
	"nova/sim"
	"nova/sim/world"
)

// follower is one judge that goes from world to world. It is told only in what the
// next differs from the last, and judges what that can affect: a search meets
// thousands of worlds, and each is much like another.
type follower struct {
	judge *law.Judge
	at    *world.World
}

func newFollower(w *World) *follower {
	f := &follower{}
	f.judge = law.NewJudge(&w.Dials, &w.Stores, func(o core.Obj, off, n int64) (uint32, bool) {
		b := f.at.Bucket(o.Store).Lookup(o.Key)
		if b == nil || off < 0 || n < 0 || off+n > b.Size() {
			return 0, false
		}
		return b.Body.CRC(off, n), true
	})
	for _, a := range w.acks {
		f.judge.Apply(law.Change{Kind: law.Acknowledged, Ack: a})
	}
	f.at = world.New(w.made.Limits, w.made.Dialect, bucketsOf(w.made)...)
	return f
}

func bucketsOf(w *world.World) (names []core.Store) {
	for _, b := range w.Buckets() {
		names = append(names, b.Name)
	}
	return names
}

// check is what is wrong with a world, which must not change any more.
func (f *follower) check(w *world.World) []law.Breach {
	was := f.at
	f.at = w
	f.rows(&was.Meta, &w.Meta)
	for i, b := range w.Buckets() {
		f.objects(was.Buckets()[i], b)
		f.uploads(was.Buckets()[i], b)
	}
	// The first look also says what was wrong with the way from the one to the
	// other, which nobody has gone; the second says what stands.
	f.judge.Check()
	return f.judge.Check()
}

func (f *follower) apply(c world.Change) { f.judge.Apply(sim.LawChange(&c)) }

// pairs walks two sorted lists of n and m side by side, by a comparison of one's i
// with the other's k: what is in one only comes with -1 for the other.
func pairs(n, m int, compare func(i, k int) int, f func(i, k int)) {
	i, k := 0, 0
	for i < n || k < m {
		c := 0
		switch {
		case i == n:
			c = 1
		case k == m:
			c = -1
		default:
			c = compare(i, k)
		}
		switch {
		case c < 0:
			f(i, -1)
			i++
		case c > 0:
			f(-1, k)
			k++
		default:
			f(i, k)
			i, k = i+1, k+1
		}
	}
}

func (f *follower) rows(was, is *world.Meta) {
	pairs(was.Len(), is.Len(), func(i, k int) int { return strings.Compare(was.Row(i).Key, is.Row(k).Key) }, func(i, k int) {
		switch {
		case k < 0:
			f.apply(world.Change{Kind: world.RowDel, Key: was.Row(i).Key})
		case i < 0 || was.Row(i) != is.Row(k):
			r := is.Row(k)
			f.apply(world.Change{Kind: world.RowPut, Key: r.Key, Rev: r.Rev, Val: r.Val})
		}
	})
}

func (f *follower) objects(was, is *world.Bucket) {
	pairs(was.Len(), is.Len(), func(i, k int) int { return strings.Compare(was.Object(i).Key, is.Object(k).Key) }, func(i, k int) {
		if i >= 0 && k >= 0 {
			if a, b := was.Object(i), is.Object(k); a == b || a.Body.Equal(&b.Body) {
				return
			}
		}
		if i >= 0 {
			f.apply(world.Change{Kind: world.ObjectDel, Store: is.Name, Key: was.Object(i).Key})
		}
		if k >= 0 {
			f.apply(world.Change{Kind: world.ObjectPut, Store: is.Name, Key: is.Object(k).Key, Object: is.Object(k)})
		}
	})
}

func (f *follower) uploads(was, is *world.Bucket) {
	a, b := was.Uploads(), is.Uploads()
	pairs(len(a), len(b), func(i, k int) int {
		return cmp.Or(strings.Compare(a[i].Key, b[k].Key), strings.Compare(a[i].ID, b[k].ID))
	}, func(i, k int) {
		switch {
		case k < 0:
			f.apply(world.Change{Kind: world.UploadGone, Store: is.Name, Key: a[i].Key, Upload: a[i]})
		case i < 0:
			f.apply(world.Change{Kind: world.UploadPut, Store: is.Name, Key: b[k].Key, Upload: b[k]})
		}
	})
}
