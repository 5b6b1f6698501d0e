package serve

import (
	"fmt"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/protocol"
)

// client remembers what it has sent to stars, and what became of it.
type client struct {
	w     *world
	ids   uint64
	sent  map[uint64]*appended
	acked []ackedChunk
}

type appended struct {
	p      *proc
	chunks []AppendChunk
	answer bool
}

type ackedChunk struct {
	stream, first uint64
	count         uint32
	bytes         string
}

func newClient(w *world) *client { return &client{w: w, sent: map[uint64]*appended{}} }

func (c *client) next() uint64 { c.ids++; return c.ids }

func (c *client) open(p *proc, stream uint64) uint64 {
	id := c.next()
	p.queue = append(p.queue, Request{Verb: VerbOpen, ID: id, Stream: stream}.Encode())
	return id
}

func (c *client) close(p *proc) uint64 {
	id := c.next()
	p.queue = append(p.queue, Request{Verb: VerbClose, ID: id}.Encode())
	return id
}

// append sends one chunk of a few records for each stream.
func (c *client) append(p *proc, streams ...uint64) uint64 {
	id := c.next()
	r := Request{Verb: VerbAppend, ID: id}
	for k, s := range streams {
		count := uint32(1 + (id+uint64(k))%3)
		b := fmt.Sprintf("[stream %d append %d chunk %d: %d records]", s, id, k, count)
		blob := id<<16 | uint64(k)
		c.w.blobs[blob] = b
		r.Chunks = append(r.Chunks, AppendChunk{
			Stream: s, Count: count, CRC: format.CRC([]byte(b)), Len: int64(len(b)), Blob: blob,
			Oldest: c.w.now, Newest: c.w.now,
		})
	}
	c.sent[id] = &appended{p: p, chunks: r.Chunks}
	p.queue = append(p.queue, r.Encode())
	return id
}

// hear notes the answers that have come.
func (c *client) hear() {
	for _, p := range c.w.procs {
		for _, a := range p.answers {
			s, ok := c.sent[a.ID]
			if !ok || s.answer {
				continue
			}
			s.answer = true
			if a.Outcome != Acked {
				continue
			}
			for i, k := range a.Acks {
				if k.Reason == None {
					ch := s.chunks[i]
					c.acked = append(c.acked, ackedChunk{ch.Stream, k.First, ch.Count, c.w.blobs[ch.Blob]})
				}
			}
		}
	}
}

func answerTo(p *proc, id uint64) (Answer, bool) {
	for _, a := range p.answers {
		if a.ID == id {
			return a, true
		}
	}
	return Answer{}, false
}

// await runs the world until a request is answered.
func (c *client) await(p *proc, id uint64) Answer {
	c.w.t.Helper()
	c.w.until(fmt.Sprintf("request %d answered", id), func() bool { _, ok := answerTo(p, id); return ok })
	a, _ := answerTo(p, id)
	return a
}

func (c *client) mustOpen(p *proc, stream uint64) Answer {
	c.w.t.Helper()
	a := c.await(p, c.open(p, stream))
	if a.Outcome != Opened {
		c.w.fail("open of stream %d on %s: %+v", stream, p.env.Process, a)
	}
	return a
}

// star starts a star in a process of its own.
func (w *world) star(process, name string) *proc {
	return w.start(process, func(p *proc) func(core.Turn) bool {
		s := &Star{Name: name}
		return func(t core.Turn) bool { return s.Step(t, &p.env) }
	})
}

// auditor starts a process that settles, for ever, every chain that no live star
// can be appending to: what the settle duty decides from its markers, it reads
// off the world.
func (w *world) auditor(process string) *proc {
	return w.start(process, func(p *proc) func(core.Turn) bool {
		var wait core.Call
		var settle protocol.Settlement
		star, epoch, busy := "", uint64(0), false
		return func(t core.Turn) bool {
			for {
				if !busy {
					if _, ok := wait.Await(t, core.Wait(t.Now+p.env.Dials.PollEvery)); !ok {
						return false
					}
					star, epoch, busy = w.dead()
					continue
				}
				v := settle.Step(t, &p.env, star, epoch, true)
				if v == core.Working {
					return false
				}
				if v == core.Broken {
					w.fail("settle %s/%d: %s", star, epoch, settle.Why)
				}
				if v == core.Done && settle.State == format.ChainSettled {
					for _, k := range w.keys("due/settle/") {
						if d, _ := keys.ParseDue(k); d.Star == star && d.Epoch == epoch {
							w.rev++
							delete(w.rows, k)
						}
					}
				}
				settle, busy = protocol.Settlement{}, false
			}
		}
	})
}

// dead is a chain that is not settled, and that no live star can be appending to.
func (w *world) dead() (star string, epoch uint64, ok bool) {
	var all []string
	for _, k := range w.keys("chain/") {
		s, n, part, _ := keys.ParseChain(k)
		if part != keys.PartHead {
			continue
		}
		h, _ := format.DecodeChainHead(w.rows[k].val)
		newest, _ := format.DecodeNumber(w.rows[keys.Mint(s, core.Standard)].val)
		_, alive := w.rows[keys.Star(s)]
		if h.State != format.ChainSettled && (h.State != format.ChainOpen || n < newest || !alive) {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return "", 0, false
	}
	star, epoch, _, _ = keys.ParseChain(all[w.rng.IntN(len(all))])
	return star, epoch, true
}

func (w *world) create(name string) uint64 {
	w.t.Helper()
	var c Create
	if v := once(w, "creator", func(t core.Turn, e *core.Env) core.Verdict {
		return c.Step(t, e, Spec{Bucket: "b", Name: name})
	}); v != core.Done || c.Reason != None {
		w.fail("create %s: %s, %s", name, v, c.Reason)
	}
	return c.ID
}

// content is a stream's records as its rows have them: every chunk once, in
// order, and every replica that stands with the bytes that the row says.
func (w *world) content(id uint64) (out []ackedChunk) {
	w.t.Helper()
	at := uint64(0)
	for _, k := range w.keys(fmt.Sprintf("ref/%016x/", id)) {
		row, err := format.DecodeRow(w.rows[k].val)
		if err != nil || row.First != at {
			w.fail("row %s begins at %d, not %d: %v", k, row.First, at, err)
		}
		at = row.End
		for _, s := range row.Spans {
			found := false
			for _, store := range row.Stores {
				body, ok := w.objects[core.Obj{Store: store, Key: keys.Slot(row.Star, row.Epoch, s.Slot)}]
				if tail, err := format.ParseTail(body, int64(len(body))); !ok || err != nil || tail.Kind != format.SlotObject {
					continue
				}
				b := body[s.Chunk.Off : s.Chunk.Off+s.Chunk.Len]
				if format.CRC([]byte(b)) != s.Chunk.CRC {
					w.fail("row %s: slot %d of %s/%d has other bytes", k, s.Slot, row.Star, row.Epoch)
				}
				if !found {
					out = append(out, ackedChunk{id, s.Chunk.First, s.Chunk.Count, b})
				}
				found = true
			}
			if !found {
				w.fail("row %s: no replica of slot %d of %s/%d", k, s.Slot, row.Star, row.Epoch)
			}
		}
	}
	return out
}

// verify holds the world to what was acknowledged: every chunk stands once, under
// the number that was given out, and nothing stands twice.
func (c *client) verify(deleted ...uint64) {
	c.w.t.Helper()
	c.hear()
	gone := map[uint64]bool{}
	for _, id := range deleted {
		gone[id] = true
	}
	by := map[uint64]map[uint64]ackedChunk{}
	seen := map[string]int{}
	for _, s := range c.w.keys("stream/") {
		id, _ := keys.ParseStream(s)
		by[id] = map[uint64]ackedChunk{}
		for _, x := range c.w.content(id) {
			by[id][x.first] = x
			if seen[x.bytes]++; seen[x.bytes] > 1 {
				c.w.fail("%s stands twice", x.bytes)
			}
		}
	}
	for _, a := range c.acked {
		if !gone[a.stream] && by[a.stream][a.first] != a {
			c.w.fail("acknowledged %+v, stands %+v", a, by[a.stream][a.first])
		}
	}
}

// laws hold after every effect.
func (w *world) laws() {
	w.t.Helper()
	for _, k := range w.keys("chain/") {
		star, epoch, part, err := keys.ParseChain(k)
		if err != nil || part != keys.PartHead {
			continue
		}
		h, err := format.DecodeChainHead(w.rows[k].val)
		if err != nil {
			w.fail("%s: %v", k, err)
		}
		if h.State != format.ChainOpen && h.Checkpoint > h.Cut {
			w.fail("%s: checkpoint %d above the cut %d", k, h.Checkpoint, h.Cut)
		}
		if was := w.heads[k]; h.Checkpoint < was.Checkpoint || h.State < was.State || was.State >= format.ChainCut && h.Cut != was.Cut {
			w.fail("%s went back from %+v to %+v", k, was, h)
		}
		w.heads[k] = h
		if h.State != format.ChainSettled && !w.settleMark(star, epoch) {
			w.fail("%s: no settle marker stands", k)
		}
	}
	for o := range w.objects {
		star, epoch, slot, err := keys.ParseSlot(o.Key)
		if err != nil {
			continue
		}
		r, ok := w.rows[keys.ChainHead(star, epoch)]
		h, err := format.DecodeChainHead(r.val)
		if !ok || err != nil {
			w.fail("%v stands without a chain", o)
		}
		if h.State == format.ChainSettled && slot >= h.Cut {
			w.fail("%v stands above the cut %d of a settled chain", o, h.Cut)
		}
		if slot < h.Checkpoint && !w.denormMark(star, epoch, slot) {
			w.fail("%v is below the checkpoint and no batch marker owes its rewrite", o)
		}
	}
	for _, k := range w.keys("stream/") {
		id, _ := keys.ParseStream(k)
		w.content(id)
	}
}

func (w *world) settleMark(star string, epoch uint64) bool {
	for _, k := range w.keys("due/settle/") {
		if d, err := keys.ParseDue(k); err == nil && d.Star == star && d.Epoch == epoch {
			return true
		}
	}
	return false
}

func (w *world) denormMark(star string, epoch, slot uint64) bool {
	from, _ := keys.DenormChain(keys.ShardOfChain(star, epoch, w.dials.Shards), star, epoch)
	for _, k := range w.keys(from) {
		m, err := format.DecodeBatchMark(w.rows[k].val)
		if err != nil {
			w.fail("%s: %v", k, err)
		}
		d, _ := keys.ParseDue(k)
		if _, ok := w.rows[keys.SchedDenorm(d.Shard, m.Ready, star, epoch, d.Slot)]; !ok {
			w.fail("%s: no schedule row at %d", k, m.Ready)
		}
		for _, s := range m.Slots {
			if s.Slot == slot {
				return true
			}
		}
	}
	return false
}

// settled runs auditors until every chain is settled.
func (w *world) settled() {
	w.t.Helper()
	w.until("every chain settled", func() bool {
		for _, k := range w.keys("chain/") {
			if _, _, part, _ := keys.ParseChain(k); part == keys.PartHead {
				if h, _ := format.DecodeChainHead(w.rows[k].val); h.State != format.ChainSettled {
					return false
				}
			}
		}
		return true
	})
}
