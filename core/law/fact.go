package law

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// fact is one metastore row, read: what it said is undone by reading it again.
type fact struct {
	row core.Row
	bad []Breach // of the row on its own: law 0, and markers in a wrong shard
}

func (f *fact) refuse(law int, what string) {
	f.bad = append(f.bad, Breach{law, f.row.Key, what})
}

// check notes a decoder's or a parser's verdict.
func (f *fact) check(err error) bool {
	if err != nil {
		f.refuse(0, err.Error())
	}
	return err == nil
}

func (j *Judge) putRow(row core.Row) {
	j.evaluated(0)
	old := j.rows[row.Key]
	if old == nil {
		j.moved(core.Row{Mark: core.Mark{Key: row.Key}}, row)
		f := &fact{row: row}
		j.rows[row.Key] = f
		j.read(f, true)
		return
	}
	j.moved(old.row, row)
	if old.row.Val == row.Val && !strings.HasPrefix(row.Key, "due/orphan/") {
		old.row.Rev = row.Rev // an intent stands for its revision; nothing else does
		return
	}
	f := &fact{row: row}
	j.rows[row.Key] = f
	if strings.HasPrefix(row.Key, "due/denorm/") {
		// A slot that both owe is owed all the time.
		j.read(f, true)
		j.read(old, false)
		return
	}
	j.read(old, false)
	j.read(f, true)
}

func (j *Judge) dropRow(key string) {
	if f := j.rows[key]; f != nil {
		j.moved(f.row, core.Row{Mark: core.Mark{Key: key}})
		j.read(f, false)
		delete(j.rows, key)
	}
}

func (j *Judge) moved(was, is core.Row) {
	if bs, ok := monotone(was, is); ok {
		j.evaluated(5)
		j.passing = append(j.passing, bs...)
	}
	switch head, _, _ := strings.Cut(is.Key, "/"); head {
	case "trim":
		j.judgeGone(head, was, is)
	case "stream":
		j.judgeGone(head, was, is)
		j.dying(was, is)
	case "star", "mint": // who is alive, and since when, says which epochs have a writer
		for _, c := range j.chains {
			if c.settles > 1 {
				j.touchChain(c)
			}
		}
	}
}

// read enters what a row says (on), or takes it back.
func (j *Judge) read(f *fact, on bool) {
	f.bad = nil
	j.readKind(f, on)
	if !on {
		f.bad = nil
		if len(j.standing) > 0 {
			delete(j.standing, f)
		}
		return
	}
	if len(f.bad) > 0 {
		j.standing[f] = f.bad
	}
}

func (j *Judge) readKind(f *fact, on bool) {
	key := f.row.Key
	head, _, _ := strings.Cut(key, "/")
	var err error
	switch head {
	case "chain":
		j.readChain(f, on)
	case "stream", "trim", "writer":
		j.readStream(f, head, on)
	case "name":
		j.readName(f, on)
	case "producer":
		j.readProducer(f, on)
	case "ref":
		j.readRef(f, on)
	case "due", "sched":
		j.readDue(f, on)
	case "park":
		j.readPark(f, on)
	case "mint":
		_, _, err = keys.ParseMint(key)
		if f.check(err) {
			_, err = format.DecodeNumber(f.row.Val)
			f.check(err)
		}
	case "gone":
		j.readGone(f, on)
	case "counter", "generation":
		j.readNumber(f, on)
	default:
		f.check(parseOther(head, key))
	}
}

// readNumber reads the rows that are one number of the whole cluster.
func (j *Judge) readNumber(f *fact, on bool) {
	switch f.row.Key {
	case keys.CounterEpoch, keys.CounterStream, keys.GenerationKey:
	default:
		f.refuse(0, "no row of nova has this key")
		return
	}
	n, err := format.DecodeNumber(f.row.Val)
	f.check(err)
	if f.row.Key != keys.GenerationKey {
		return
	}
	if j.generation = 0; on && err == nil {
		j.generation = n
	}
	for _, g := range j.groups {
		j.touchGroup(g)
	}
}

// parseOther parses the keys whose values no law reads.
func parseOther(head, key string) (err error) {
	switch head {
	case "star":
		_, err = keys.ParseStar(key)
	case "auditor":
		_, err = keys.ParseAuditor(key)
	case "lease":
		switch {
		case strings.HasPrefix(key, "lease/stream/"):
			_, err = keys.ParseStreamLease(key)
		case strings.HasPrefix(key, "lease/chain/"):
			_, _, err = keys.ParseChainLease(key)
		default:
			_, _, err = keys.ParseSettleClaim(key)
		}
	default:
		err = fmt.Errorf("%w: leave it and report it", keys.ErrKey)
	}
	return err
}

func (j *Judge) readChain(f *fact, on bool) {
	star, epoch, part, err := keys.ParseChain(f.row.Key)
	if !f.check(err) {
		return
	}
	c := j.chain(star, epoch)
	j.touchChain(c)
	switch part {
	case keys.PartConst:
		v, err := format.DecodeChainConst(f.row.Val)
		f.check(err)
		c.consts.set(v, err)
		if !on {
			c.consts.clear()
		}
		c.recount()
	case keys.PartHead:
		v, err := format.DecodeChainHead(f.row.Val)
		f.check(err)
		c.head.set(v, err)
		if !on {
			c.head.clear()
		}
	case keys.PartTrim:
		v, err := format.DecodeChainTrim(f.row.Val)
		f.check(err)
		c.trim.set(v, err)
		if !on {
			c.trim.clear()
		}
		return
	}
	// Whether a slot keeps an acknowledged chunk depends on constants and head.
	j.staleWaiting(c)
}

// readGone reads the irrevocable record of a star: it bears on all of its chains.
func (j *Judge) readGone(f *fact, on bool) {
	star, err := keys.ParseGone(f.row.Key)
	if !f.check(err) {
		return
	}
	v, err := format.DecodeGone(f.row.Val)
	f.check(err)
	if delete(j.gones, star); on {
		j.gones[star] = value[format.Gone]{here: true, blind: err != nil, v: v}
	}
	for _, c := range j.chains {
		if c.id.star == star {
			j.touchChain(c)
		}
	}
}

func (j *Judge) readStream(f *fact, head string, on bool) {
	var id uint64
	var err error
	switch head {
	case "stream":
		if id, err = keys.ParseStream(f.row.Key); f.check(err) {
			v, err := format.DecodeStream(f.row.Val)
			f.check(err)
			s := j.stream(id)
			if s.desc.set(v, err); !on {
				s.desc.clear()
			}
		}
	case "trim":
		if id, err = keys.ParseTrim(f.row.Key); f.check(err) {
			v, err := format.DecodeNumber(f.row.Val)
			f.check(err)
			s := j.stream(id)
			if s.trim.set(v, err); !on {
				s.trim.clear()
			}
		}
	case "writer":
		if id, err = keys.ParseWriter(f.row.Key); f.check(err) {
			v, err := format.DecodeWriter(f.row.Val)
			f.check(err)
			s := j.stream(id)
			if s.writer.set(v, err); !on {
				s.writer.clear()
			}
		}
	}
	if err == nil {
		j.touchStream(j.stream(id))
	}
}

// readName reads an address: it bears on the stream that it leads to.
func (j *Judge) readName(f *fact, on bool) {
	_, _, err := keys.ParseName(f.row.Key)
	if !f.check(err) {
		return
	}
	id, err := format.DecodeNumber(f.row.Val)
	if f.check(err) {
		s := j.stream(id)
		s.names = remember(s.names, f, on)
		j.touchStream(s)
	}
}

// readProducer reads a stream's producer handle, of which no law reads the value.
func (j *Judge) readProducer(f *fact, on bool) {
	id, err := keys.ParseProducer(f.row.Key)
	if f.check(err) {
		s := j.stream(id)
		s.producer = on
		j.touchStream(s)
	}
}

func (j *Judge) readRef(f *fact, on bool) {
	id, last, err := keys.ParseRef(f.row.Key)
	if !f.check(err) {
		return
	}
	s := j.stream(id)
	j.touchStream(s)
	if !on {
		j.dropRef(s, last)
		return
	}
	r := &ref{f: f, s: s, last: last}
	r.row, err = format.DecodeRow(f.row.Val)
	switch {
	case err != nil:
	case r.row.End != last+1:
		r.blind = true
		f.refuse(0, "the row ends elsewhere than its key")
	case r.row.Kind == format.SpanRow && r.row.Spans[0].Chunk.Stream != id:
		r.blind = true
		f.refuse(0, "the row is of another stream than its key")
	}
	r.blind = r.blind || !f.check(err)
	for i := range r.row.Entries {
		if r.row.Entries[i].Class != core.Standard {
			f.refuse(6, "it names an object that is not in standard storage: every output settles there")
		}
	}
	s.written = true
	i, _ := s.find(last)
	s.refs = slices.Insert(s.refs, i, r)
	j.nameRef(s, r, true)
	j.staleRef(r)
	s.staleUnder(i)
}

func (j *Judge) dropRef(s *stream, last uint64) {
	if i, ok := s.find(last); ok {
		r := s.refs[i]
		s.written = true
		j.walked(s)
		j.nameRef(s, r, false)
		s.staleUnder(i)
		s.refs = slices.Delete(s.refs, i, i+1)
		s.ended = append(s.ended, r.names...)
		r.gone = true
		if len(r.bad) > 0 {
			s.badRefs--
		}
	}
}

// nameRef enters what a row names with what it names, or takes it back.
func (j *Judge) nameRef(s *stream, r *ref, on bool) {
	step := 1
	if !on {
		step = -1
	}
	switch {
	case r.blind:
		// It may have named any object of its stream.
		if s.blind += step; s.blind == 0 || s.blind == 1 {
			for _, g := range j.groups {
				if g.id.stream == s.id {
					j.touchGroup(g)
				}
			}
		}
	case r.row.Kind == format.SpanRow:
		c := j.chain(r.row.Star, r.row.Epoch)
		if !on {
			c.untidy = true
			j.touchChain(c)
		}
		for i := range r.row.Spans {
			c.slot(r.row.Spans[i].Slot).name(r, on)
		}
	default:
		for i := range r.row.Entries {
			e := &r.row.Entries[i]
			g := j.group(groupID{s.id, e.Epoch, e.First, e.Revision})
			j.touchGroup(g)
			if on {
				g.entries = append(g.entries, naming{r, e})
			} else {
				g.entries = slices.DeleteFunc(g.entries, func(n naming) bool { return n.e == e })
			}
		}
	}
}
