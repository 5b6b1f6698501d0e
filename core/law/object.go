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
	o    core.Obj
	size int64
	raw  string
	*contents

	c    *chain // of a slot
	slot uint64
	g    *group // of a settled object
	at   keys.Settled

	verified []verdict
}

// contents is what an object's last bytes say. Replicas have one in common.
type contents struct {
	tail   format.Tail
	sound  bool           // the tail decodes, and the footer is in it
	chunks []format.Chunk // of the footer, in its order
	order  []int32        // by stream and first sequence number
}

func read(size int64, raw string) *contents {
	t, err := format.ParseTail(raw, size)
	if err != nil || !t.Whole {
		return &contents{}
	}
	c := &contents{tail: t, sound: true, chunks: t.Footer.Chunks()}
	c.order = make([]int32, len(c.chunks))
	for i := range c.order {
		c.order[i] = int32(i)
	}
	by := func(a, b int32) int {
		x, y := &c.chunks[a], &c.chunks[b]
		return cmp.Or(cmp.Compare(x.Stream, y.Stream), cmp.Compare(x.First, y.First))
	}
	if !slices.IsSortedFunc(c.order, by) {
		slices.SortStableFunc(c.order, by)
	}
	return c
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
	j.objects[at] = o
	j.place(o)
}

// read makes an object's contents, or takes a replica's that has the same bytes.
func (o *object) read(s *slot) {
	if s != nil {
		for _, r := range s.objects {
			if r.size == o.size && r.raw == o.raw {
				o.contents = r.contents
			}
		}
	}
	if o.contents == nil {
		o.contents = read(o.size, o.raw)
	}
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
		o.read(s)
		s.objects = append(s.objects, o)
		o.c.count(o, 1)
		j.placeChunks(o, s, true)
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
	o.read(nil)
	o.g.objects = append(o.g.objects, o)
	j.touchGroup(o.g)
	j.staleEntries(o.g)
}

// placeChunks enters a slot's chunks where acknowledged ones are looked for, or
// takes them back. Whoever names the slot is judged anew, and every acknowledged
// chunk that was nowhere, or that this slot kept.
func (j *Judge) placeChunks(o *object, s *slot, on bool) {
	j.touchChain(o.c)
	j.staleNamers(s)
	if !o.sound {
		return
	}
	for i := range o.chunks {
		id := chunkID{o.chunks[i].Stream, o.chunks[i].First}
		if on {
			j.deposits[id] = append(j.deposits[id], o)
		} else if rest := without(j.deposits[id], o); len(rest) > 0 {
			j.deposits[id] = rest
		} else {
			delete(j.deposits, id)
		}
		if st := j.streams[id.stream]; st != nil {
			for k := st.ackFrom(id.first); k < len(st.acks) && st.acks[k].First == id.first; k++ {
				if p := st.acks[k]; on && p.why != "" || !on && p.home == o {
					j.stalePromise(p)
				}
			}
		}
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
	if len(j.standing) > 0 {
		delete(j.standing, o)
	}
	switch {
	case o.c != nil:
		s := o.c.slot(o.slot)
		s.objects = without(s.objects, o)
		o.c.count(o, -1)
		o.c.untidy = true
		j.placeChunks(o, s, false)
	case o.g != nil:
		o.g.objects = without(o.g.objects, o)
		j.touchGroup(o.g)
		j.staleEntries(o.g)
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
	lo, hi := 0, len(o.order)
	for lo < hi {
		h := int(uint(lo+hi) >> 1)
		if c := &o.chunks[o.order[h]]; c.Stream < stream || c.Stream == stream && c.First < first {
			lo = h + 1
		} else {
			hi = h
		}
	}
	if lo == len(o.order) {
		return lo, false
	}
	c := &o.chunks[o.order[lo]]
	return lo, c.Stream == stream && c.First == first
}

// covering is where in order the stream's chunk stands that holds seq, or the
// first after it.
func (o *object) covering(stream, seq uint64) int {
	i, ok := o.from(stream, seq)
	if !ok && i > 0 {
		if c := &o.chunks[o.order[i-1]]; c.Stream == stream && c.End() > seq {
			return i - 1
		}
	}
	return i
}

// verify says whether the bytes of chunk i are what the footer says.
func (j *Judge) verify(o *object, i int) verdict {
	if o.verified == nil {
		o.verified = make([]verdict, len(o.chunks))
	}
	if o.verified[i] == unread {
		c := &o.chunks[i]
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
