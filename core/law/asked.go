package law

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Ask is what a client has asked for about one stream: that the records below Trim
// go, or, with Delete, all of them.
type Ask struct {
	Stream uint64
	Trim   uint64
	Delete bool
}

// Hear says that the judge will be told whatever clients ask for, before any of it
// can come true. From then on law 3 judges who made records go: a watermark rises
// because a client asked for it, or because the records are older than the policy;
// a tombstone is written because a client asked for it. Only a host that plays the
// clients knows that.
func (j *Judge) Hear() { j.hears = true }

func (j *Judge) hear(a Ask) {
	s := j.stream(a.Stream)
	s.asked = max(s.asked, a.Trim)
	s.doomed = s.doomed || a.Delete
}

// judgeGone judges law 3 as a watermark rises, or a tombstone is written: nothing
// goes that nobody asked to go and that is not too old.
func (j *Judge) judgeGone(head string, was, is core.Row) {
	if !j.hears || is.Rev == 0 {
		return
	}
	switch head {
	case "trim":
		id, err := keys.ParseTrim(is.Key)
		to, err2 := format.DecodeNumber(is.Val)
		from := uint64(0)
		if was.Rev != 0 {
			from, _ = format.DecodeNumber(was.Val)
		}
		if err == nil && err2 == nil && to > from {
			j.evaluated(3)
			j.judgeRise(is.Key, j.stream(id), from, to)
		}
	case "stream":
		id, err := keys.ParseStream(is.Key)
		a, b, ok := both(format.DecodeStream, was, is)
		if err != nil || !ok || a.Deleted || !b.Deleted {
			return
		}
		j.evaluated(3)
		if !j.stream(id).doomed {
			j.passing = append(j.passing, Breach{3, is.Key, "the stream is deleted, and no client asked for it"})
		}
	}
}

// judgeRise judges each chunk of a stream that [from, to) newly puts below the
// watermark, whole or in part. Record time is the anchor, and the clock of whoever
// raises it may be ahead by the skew.
func (j *Judge) judgeRise(key string, s *stream, from, to uint64) {
	if from = max(from, s.asked); from >= to {
		return
	}
	refuse := func(first, end uint64, why string) {
		j.passing = append(j.passing, Breach{3, key, fmt.Sprintf("the watermark rises to %d over records [%d, %d): no client asked for it, and %s", to, first, end, why)})
	}
	if !s.live() || s.desc.v.MaxAge == 0 {
		refuse(from, to, "no age policy stands")
		return
	}
	age := s.desc.v.MaxAge
	judge := func(first, end uint64, newest core.Ms) {
		if first < to && end > from && newest+age > j.now+j.d.Skew {
			refuse(max(first, from), min(end, to), fmt.Sprintf("the newest is of %d, the policy is %d ms, and it is %d", newest, age, j.now))
		}
	}
	for _, r := range s.refs {
		for i := range r.row.Spans {
			c := &r.row.Spans[i].Chunk
			judge(c.First, c.End(), c.Newest)
		}
		for i := range r.row.Entries {
			j.judgeEntry(s, &r.row.Entries[i], judge)
		}
	}
}

// judgeEntry judges what an entry covers: chunk by chunk where its object says what
// they are, and as a whole where it does not.
func (j *Judge) judgeEntry(s *stream, e *format.Entry, judge func(first, end uint64, newest core.Ms)) {
	from := max(e.First, e.LiveFrom)
	o := j.settled(s, e)
	if e.Lost || o == nil || !o.sound {
		judge(from, e.End(), e.Newest)
		return
	}
	for i := o.covering(s.id, from); i < len(o.order); i++ {
		c := &o.chunks[o.order[i]]
		if c.Stream != s.id || c.First >= e.End() {
			return
		}
		judge(max(c.First, from), c.End(), c.Newest)
	}
}
