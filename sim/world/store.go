package world

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
)

// Object is one whole object; immutable, shared by clones.
type Object struct {
	Key    string
	Body   Body
	Born   core.Ms // true time at which it landed
	upload string  // that made it
}

// Size is the object's size in bytes.
func (o *Object) Size() int64 { return o.Body.size }

// Tail is the object's last n bytes, or all of them.
func (o *Object) Tail(n int64) string {
	n = min(n, o.Body.size)
	return o.Body.Read(o.Body.size-n, n)
}

// Upload is one unfinished multipart upload; immutable, shared by clones.
type Upload struct {
	ID    string
	Key   string
	Parts []Part // sorted by number
	ended bool   // aborted, or completed; what a late part left of it is listed
	when  core.Ms
}

// Part is one part of an upload.
type Part struct {
	Num  int32
	Tag  string
	Body Body
}

// Bucket is one store: objects that are whole, and uploads that are not.
type Bucket struct {
	Name    core.Store
	Down    bool      // every request is lost: Unknown, and nothing happens
	objects []*Object // sorted by key
	uploads []*Upload // sorted by key, then id
	ended   []*Upload // aborted or completed: a part in flight may still find them
}

// Len is the number of objects.
func (b *Bucket) Len() int { return len(b.objects) }

// Object is object i, in key order.
func (b *Bucket) Object(i int) *Object { return b.objects[i] }

// Uploads is the unfinished uploads; the caller must not change it.
func (b *Bucket) Uploads() []*Upload { return b.uploads }

// Lookup is the object at key, or nil.
func (b *Bucket) Lookup(key string) *Object {
	if i, ok := b.find(key); ok {
		return b.objects[i]
	}
	return nil
}

func (b *Bucket) find(key string) (int, bool) {
	lo, hi := 0, len(b.objects)
	for lo < hi {
		h := int(uint(lo+hi) >> 1)
		switch strings.Compare(b.objects[h].Key, key) {
		case 0:
			return h, true
		case -1:
			lo = h + 1
		default:
			hi = h
		}
	}
	return lo, false
}

func absent() core.Reply { return core.Reply{Outcome: core.Absent} }

func refused(format string, args ...any) core.Reply {
	return core.Reply{Outcome: core.Refused, Val: fmt.Sprintf(format, args...)}
}

func (b *Bucket) stat(op *core.Op) core.Reply {
	o := b.Lookup(op.Key)
	if o == nil {
		return absent()
	}
	return core.Reply{Size: o.Size()}
}

func (b *Bucket) readRange(op *core.Op) core.Reply {
	o := b.Lookup(op.Key)
	switch {
	case o == nil:
		return absent()
	case op.Off >= o.Size():
		return core.Reply{Outcome: core.OutOfRange, Size: o.Size()}
	}
	return core.Reply{Val: o.Body.Read(op.Off, min(op.Len, o.Size()-op.Off)), Size: o.Size()}
}

// readTail is a suffix range: the whole of a shorter object; nothing at all of
// an empty one is a range that no server grants.
func (b *Bucket) readTail(op *core.Op) core.Reply {
	o := b.Lookup(op.Key)
	switch {
	case o == nil:
		return absent()
	case o.Size() == 0 || op.Len <= 0:
		return core.Reply{Outcome: core.OutOfRange, Size: o.Size()}
	}
	return core.Reply{Val: o.Tail(op.Len), Size: o.Size()}
}

// fetch checks what a sink would be given.
func (b *Bucket) fetch(op *core.Op) core.Reply {
	o := b.Lookup(op.Key)
	switch {
	case o == nil:
		return absent()
	case op.Off >= o.Size():
		return core.Reply{Outcome: core.OutOfRange, Size: o.Size()}
	case op.Off+op.Len > o.Size() || o.Body.CRC(op.Off, op.Len) != op.CRC:
		return core.Reply{Outcome: core.Damaged}
	}
	return core.Reply{Size: op.Len}
}

func (b *Bucket) list(op *core.Op) (r core.Reply) {
	i, _ := b.find(max(op.Key, op.End))
	for ; i < len(b.objects) && strings.HasPrefix(b.objects[i].Key, op.Key); i++ {
		if b.objects[i].Key <= op.End {
			continue
		}
		if len(r.Items) == int(op.Num) {
			r.More = true
			break
		}
		r.Items = append(r.Items, core.Item{Key: b.objects[i].Key, Size: b.objects[i].Size()})
	}
	return r
}

// create is a PUT with If-None-Match.
func (w *World) create(b *Bucket, op *core.Op, at When) core.Reply {
	body, bad := w.assemble(op.Body)
	if bad.Outcome != core.OK {
		return bad
	}
	if late := expired(op, at); late.Outcome != core.OK {
		return late
	}
	return w.stand(b, &Object{Key: op.Key, Body: body, Born: at.Now})
}

// stand puts an object at its key unless one stands there.
func (w *World) stand(b *Bucket, o *Object) core.Reply {
	i, ok := b.find(o.Key)
	if ok {
		return core.Reply{Outcome: core.Exists}
	}
	b.objects = slices.Insert(b.objects, i, o)
	w.Changes = append(w.Changes, Change{Kind: ObjectPut, Store: b.Name, Key: o.Key, Object: o})
	return core.Reply{}
}

func (w *World) delete(b *Bucket, op *core.Op) core.Reply {
	if i, ok := b.find(op.Key); ok {
		o := b.objects[i]
		b.objects = slices.Delete(b.objects, i, i+1)
		w.Changes = append(w.Changes, Change{Kind: ObjectDel, Store: b.Name, Key: op.Key, Object: o})
	}
	return core.Reply{}
}

// expired refuses a request that was admitted after its NotAfter.
func expired(op *core.Op, at When) core.Reply {
	if at.Admitted > op.Until {
		return refused("request has expired")
	}
	return core.Reply{}
}

// assemble makes the bytes of a body, as a driver does before it sends: it reads
// what the pieces name, and refuses to write what their checksums do not match.
// A source that is not there means that the write is not sent: Refused, with
// "source absent" (or "source unavailable" where no store could say).
func (w *World) assemble(pieces []core.Piece) (body Body, bad core.Reply) {
	for i := range pieces {
		p := &pieces[i]
		var got Body
		switch p.Kind {
		case core.Literal:
			got = Literal(p.Bytes)
		case core.Blob:
			got = BlobRange(p.Blob, p.Off, p.Len)
			if w.Blob != nil {
				got = w.Blob(p)
			}
		case core.Range:
			if got, bad = w.source(p); bad.Outcome != core.OK {
				return Body{}, bad
			}
		}
		if p.Kind != core.Literal && !p.NoCRC && got.CRC(0, got.size) != p.CRC {
			return Body{}, core.Reply{Outcome: core.Damaged, Val: "checksum of a piece"}
		}
		body.join(got)
	}
	return body, core.Reply{}
}

// source reads a Range piece from the first of its places that has it.
func (w *World) source(p *core.Piece) (Body, core.Reply) {
	unsure := false
	for k := -1; k < len(p.Also); k++ {
		from := p.From
		if k >= 0 {
			from = p.Also[k]
		}
		b := w.Bucket(from.Store)
		if b == nil || b.Down {
			unsure = true
			continue
		}
		if o := b.Lookup(from.Key); o != nil {
			if p.Off < 0 || p.Len < 0 || p.Off+p.Len > o.Size() {
				return Body{}, core.Reply{Outcome: core.Damaged, Val: "source shorter than its range"}
			}
			return o.Body.Slice(p.Off, p.Len), core.Reply{}
		}
		unsure = unsure || w.unlit(b, from.Key)
	}
	if unsure {
		return Body{}, refused(SourceUnavailable)
	}
	return Body{}, refused(SourceAbsent)
}

// Reasons in Reply.Val of a write that was not sent because of a piece's source.
const (
	SourceAbsent      = "source absent"
	SourceUnavailable = "source unavailable"
)
