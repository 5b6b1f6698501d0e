package duty

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// recordSize is how long a record is: fixed, so that content follows from the
// sequence number.
const recordSize = 16

func record(stream, seq uint64) string { return fmt.Sprintf("s%05d#%09d", stream, seq)[:recordSize] }

// mint makes a chain in the stores of a class.
func (l *lab) mint(star string, epoch uint64, class core.Class) {
	l.put(keys.ChainConst(star, epoch), format.ChainConst{Class: class, Stores: l.stores.Of[class], Pipeline: 4, Born: l.now}.Encode())
	l.put(keys.ChainHead(star, epoch), format.ChainHead{State: format.ChainOpen}.Encode())
	l.put(keys.ChainTrim(star, epoch), format.ChainTrim{}.Encode())
}

// create makes a stream.
func (l *lab) create(id uint64, maxAge core.Ms) {
	if last, err := format.DecodeNumber(l.rows[keys.CounterStream].Val); err != nil || last < id {
		l.put(keys.CounterStream, format.EncodeNumber(id))
	}
	l.put(keys.Stream(id), format.Stream{Bucket: "b", Name: fmt.Sprint("n", id), MaxAge: maxAge, Born: l.now}.Encode())
}

// append1 names what a slot holds of one stream: so many records.
type append1 struct {
	stream uint64
	count  int
}

// batch writes slots onto a chain and absorbs them as one batch: the objects, a
// batch marker, one span row a stream, the checkpoint.
func (l *lab) batch(star string, epoch uint64, crossing bool, slots ...[]append1) (marker string) {
	c, _ := format.DecodeChainConst(l.rows[keys.ChainConst(star, epoch)].Val)
	head, _ := format.DecodeChainHead(l.rows[keys.ChainHead(star, epoch)].Val)
	mark := format.BatchMark{Class: c.Class, Birth: l.now, Crossing: crossing, Ready: l.now + l.dials.AgeCap[c.Class]}
	if crossing {
		mark.Ready = l.now + l.dials.Linger[c.Class]
	}
	var order []uint64
	spans := map[uint64][]format.Span{}
	firstSlot := head.Checkpoint
	for i, ps := range slots {
		slot := firstSlot + uint64(i)
		var body strings.Builder
		var chunks []format.Chunk
		for _, p := range ps {
			at := uint64(len(l.want[p.stream]) / recordSize)
			data := ""
			for k := range uint64(p.count) {
				data += record(p.stream, at+k)
			}
			l.want[p.stream] += data
			chunks = append(chunks, format.Chunk{Stream: p.stream, First: at, Count: uint32(p.count), CRC: format.CRC([]byte(data)),
				Off: int64(body.Len()), Len: int64(len(data)), Oldest: l.now, Newest: l.now})
			body.WriteString(data)
		}
		tail, w := format.Finish(format.SlotObject, int64(body.Len()), chunks)
		for _, st := range c.Stores {
			l.objs[core.Obj{Store: st, Key: keys.Slot(star, epoch, slot)}] = body.String() + tail
		}
		mark.Slots = append(mark.Slots, format.Inventory{Slot: slot, Footer: w})
		for _, ch := range chunks {
			if spans[ch.Stream] == nil {
				order = append(order, ch.Stream)
			}
			spans[ch.Stream] = append(spans[ch.Stream], format.Span{Slot: slot, Footer: w, Chunk: ch})
		}
	}
	shard := keys.ShardOfChain(star, epoch, l.dials.Shards)
	marker = keys.DueDenorm(shard, star, epoch, firstSlot)
	l.put(marker, mark.Encode())
	l.put(keys.SchedDenorm(shard, mark.Ready, star, epoch, firstSlot), "")
	for _, id := range order {
		ss := spans[id]
		end := ss[len(ss)-1].Chunk.End()
		l.put(keys.Ref(id, end-1), format.Row{Kind: format.SpanRow, First: ss[0].Chunk.First, End: end, Star: star, Epoch: epoch,
			Class: c.Class, Stores: c.Stores, Spans: ss}.Encode())
		l.put(keys.Writer(id), format.Writer{Star: star, Epoch: epoch, End: end}.Encode())
	}
	head.Checkpoint += uint64(len(slots))
	l.put(keys.ChainHead(star, epoch), head.Encode())
	return marker
}

// settled puts a settled object and returns the entry that names it; the caller
// puts the row.
func (l *lab) settled(id uint64, chunks []int, times ...core.Ms) format.Entry {
	at := uint64(len(l.want[id]) / recordSize)
	l.rev++
	e := format.Entry{Epoch: 1, First: at, LiveFrom: at, Generation: 1, Created: l.rev}
	var body string
	var cs []format.Chunk
	for i, n := range chunks {
		data := ""
		for k := range uint64(n) {
			data += record(id, at+k)
		}
		c := format.Chunk{Stream: id, First: at, Count: uint32(n), CRC: format.CRC([]byte(data)), Off: int64(len(body)), Len: int64(len(data)), Oldest: l.now, Newest: l.now}
		if len(times) > i {
			c.Oldest, c.Newest = times[i], times[i]
		}
		cs = append(cs, c)
		body += data
		at += uint64(n)
	}
	l.want[id] += body
	tail, w := format.Finish(format.SettledObject, int64(len(body)), cs)
	e.Count, e.Footer, e.Bytes = at-e.First, w, int64(len(body)+len(tail))
	e.Oldest, e.Newest = cs[0].Oldest, cs[len(cs)-1].Newest
	l.objs[core.Obj{Store: "std", Key: objectKey(id, &e)}] = body + tail
	return e
}

func objectKey(id uint64, e *format.Entry) string {
	return keys.Settled{Bucket: "b", Stream: id, Epoch: e.Epoch, First: e.First, Revision: e.Revision,
		Inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}, HasInc: true}.Key()
}

// catalog puts a row of entries.
func (l *lab) catalog(id uint64, es ...format.Entry) {
	end := es[len(es)-1].End()
	l.put(keys.Ref(id, end-1), format.Row{Kind: format.CatalogRow, First: es[0].First, End: end, Entries: es}.Encode())
}

// read is what a reader gets of a stream from its watermark on.
func (l *lab) read(id uint64) string {
	_, at, live := l.stream(id)
	if !live {
		return ""
	}
	var b strings.Builder
	for _, k := range l.keys(fmt.Sprintf("ref/%016x/", id)) {
		row, err := format.DecodeRow(l.rows[k].Val)
		if err != nil {
			return "damaged row " + k
		}
		for i := range row.Spans {
			c := &row.Spans[i].Chunk
			if o := l.objs[core.Obj{Store: row.Stores[0], Key: keys.Slot(row.Star, row.Epoch, row.Spans[i].Slot)}]; c.End() > at && o != "" {
				skip := max(at, c.First) - c.First
				b.WriteString(o[c.Off+int64(skip*recordSize) : c.Off+c.Len])
			}
		}
		for i := range row.Entries {
			e := &row.Entries[i]
			if e.Lost {
				fmt.Fprintf(&b, "[lost %d-%d]", e.First, e.End())
				continue
			}
			o := l.objs[core.Obj{Store: "std", Key: objectKey(id, e)}]
			tail, err := format.ParseTail(o, int64(len(o)))
			if err != nil {
				continue
			}
			for n := range tail.Footer.Len() {
				if c := tail.Footer.At(n); c.End() > max(at, e.LiveFrom) {
					skip := max(at, c.First) - c.First
					b.WriteString(o[c.Off+int64(skip*recordSize) : c.Off+c.Len])
				}
			}
		}
	}
	return b.String()
}
