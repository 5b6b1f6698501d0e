package law

import (
	"cmp"
	"slices"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// object is an object that stands.
type object struct {
	o     core.Obj
	size  int64
	raw   string
	tail  format.Tail
	sound bool // the tail decodes, and the footer is in it

	c    *chain // of a slot
	slot uint64
	g    *group // of a settled object
	at   keys.Settled

	order    []int32 // chunks by stream and first sequence number; made when first wanted
	verified []verdict
}

// verdict is what the bytes of a chunk were found to be.
type verdict uint8

const (
	unread verdict = iota
	match
	mismatch
	unreadable
)

func (j *Judge) putObject(v Object) {
	at := core.Obj{Store: v.Store, Key: v.Key}
	if old := j.objects[at]; old != nil {
		j.evaluated(6)
		if old.size == v.Size && old.raw == v.Tail {
			return
		}
		j.passing = append(j.passing, Breach{6, name(at), "it stood, and its bytes have changed"})
		j.forget(old)
	}
	o := &object{o: at, size: v.Size, raw: v.Tail}
	if t, err := format.ParseTail(v.Tail, v.Size); err == nil && t.Whole {
		o.tail, o.sound = t, true
		o.verified = make([]verdict, t.Footer.Len())
	}
	j.objects[at] = o
	j.place(o)
}

// place enters an object with its chain or its group.
func (j *Judge) place(o *object) {
	if strings.HasPrefix(o.o.Key, "chain/") {
		star, epoch, slot, err := keys.ParseSlot(o.o.Key)
		if err != nil {
			j.standing[o] = []Breach{{0, name(o.o), "foreign: " + err.Error()}}
			return
		}
		o.c, o.slot = j.chain(star, epoch), slot
		s := o.c.slot(slot)
		s.objects = append(s.objects, o)
		j.placeChunks(o, true)
		return
	}
	at, err := keys.ParseSettled(o.o.Key)
	if err != nil || !at.HasInc {
		what := "it names no incarnation"
		if err != nil {
			what = err.Error()
		}
		j.standing[o] = []Breach{{0, name(o.o), "foreign: " + what}}
		return
	}
	o.g, o.at = j.group(groupOf(at)), at
	o.g.objects = append(o.g.objects, o)
	j.touchGroup(o.g)
	j.touchStream(j.stream(at.Stream))
}

// placeChunks enters a slot's chunks where acknowledged ones are looked for, or
// takes them back, and touches whoever names the slot or has a chunk in it.
func (j *Judge) placeChunks(o *object, on bool) {
	j.touchChain(o.c)
	s := o.c.slot(o.slot)
	for _, id := range s.namers {
		j.touchStream(j.stream(id))
	}
	if !o.sound {
		return
	}
	for i := range o.tail.Footer.Len() {
		c := o.tail.Footer.At(i)
		id := chunkID{c.Stream, c.First}
		if on {
			count(o.c.holds, c.Stream, 1)
			j.deposits[id] = append(j.deposits[id], o)
		} else {
			count(o.c.holds, c.Stream, -1)
			if rest := without(j.deposits[id], o); len(rest) > 0 {
				j.deposits[id] = rest
			} else {
				delete(j.deposits, id)
			}
		}
		j.touchStream(j.stream(c.Stream))
	}
}

func without(os []*object, o *object) []*object {
	return slices.DeleteFunc(os, func(p *object) bool { return p == o })
}

func (j *Judge) dropObject(at core.Obj) {
	o := j.objects[at]
	if o == nil {
		return
	}
	if j.now != 0 {
		j.flushStreams() // deaths before this one deletion are dated before it
		j.judgeDeletion(o)
	}
	j.forget(o)
	if id := o.life(); j.lives[id] != nil && j.lives[id].refs == 0 && !j.stands(id) {
		delete(j.lives, id)
	}
}

// forget takes an object back.
func (j *Judge) forget(o *object) {
	delete(j.objects, o.o)
	delete(j.standing, o)
	switch {
	case o.c != nil:
		s := o.c.slot(o.slot)
		s.objects = without(s.objects, o)
		j.placeChunks(o, false)
	case o.g != nil:
		o.g.objects = without(o.g.objects, o)
		j.touchGroup(o.g)
		j.touchStream(j.stream(o.at.Stream))
	}
}

func (j *Judge) upload(u Upload, on bool) {
	at, err := keys.ParseSettled(u.Key)
	if err != nil || !at.HasInc {
		if !on {
			delete(j.standing, u)
			return
		}
		what := "an unfinished upload of what is no settled object"
		j.standing[u] = []Breach{{1, uploadName(u), what}}
		return
	}
	g := j.group(groupOf(at))
	j.touchGroup(g)
	g.uploads = slices.DeleteFunc(g.uploads, func(x unfinished) bool { return x.u == u })
	if on {
		g.uploads = append(g.uploads, unfinished{u, at})
	}
}

// find is the chunk of a stream that begins at first, or -1.
func (o *object) find(stream, first uint64) int {
	i, ok := o.from(stream, first)
	if !ok {
		return -1
	}
	return int(o.order[i])
}

// from is where in order the stream's first chunk stands that begins at first
// or later, and whether it begins there.
func (o *object) from(stream, first uint64) (int, bool) {
	f := o.tail.Footer
	if len(o.order) != f.Len() {
		o.order = make([]int32, f.Len())
		for i := range o.order {
			o.order[i] = int32(i)
		}
		slices.SortStableFunc(o.order, func(a, b int32) int {
			x, y := f.At(int(a)), f.At(int(b))
			return cmp.Or(cmp.Compare(x.Stream, y.Stream), cmp.Compare(x.First, y.First))
		})
	}
	return slices.BinarySearchFunc(o.order, chunkID{stream, first}, func(i int32, want chunkID) int {
		c := f.At(int(i))
		return cmp.Or(cmp.Compare(c.Stream, want.stream), cmp.Compare(c.First, want.first))
	})
}

// covering is where in order the stream's chunk stands that holds seq, or the
// first after it.
func (o *object) covering(stream, seq uint64) int {
	i, ok := o.from(stream, seq)
	if !ok && i > 0 {
		if c := o.tail.Footer.At(int(o.order[i-1])); c.Stream == stream && c.End() > seq {
			return i - 1
		}
	}
	return i
}

// verify says whether the bytes of chunk i are what the footer says.
func (j *Judge) verify(o *object, i int) verdict {
	if o.verified[i] == unread {
		c := o.tail.Footer.At(i)
		switch crc, ok := j.ck(o.o, c.Off, c.Len); {
		case !ok:
			o.verified[i] = unreadable
		case crc == c.CRC:
			o.verified[i] = match
		default:
			o.verified[i] = mismatch
		}
	}
	return o.verified[i]
}

func name(o core.Obj) string { return string(o.Store) + ":" + o.Key }

func uploadName(u Upload) string { return string(u.Store) + ":" + u.Key + "?upload=" + u.ID }
