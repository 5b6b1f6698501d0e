package world

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"nova/core"
)

// floor is the highest revision that a key has had which stands no more.
type floor struct {
	key string
	rev int64
}

// Local makes the metastore count revisions by key, and the stores number uploads
// by key, instead of counting the whole cluster's. A compare only asks whether a
// key is still as it was read, so no machine can tell the difference; but two
// orders of independent writes lead to the same world, which is what a search
// over all orders lives on. It must be called on an empty world.
func (w *World) Local() *World {
	w.Meta.local = true
	return w
}

// next is the revision of a transaction: above everything that its keys have had.
func (m *Meta) next(ws []core.Write) int64 {
	if !m.local {
		return m.rev + 1
	}
	rev := int64(0)
	for i := range ws {
		if x := &ws[i]; x.Verb == core.VPut || x.Verb == core.VPutLeased {
			rev = max(rev, m.had(x.At.Key))
		}
	}
	return rev + 1
}

// had is the highest revision that a key has had.
func (m *Meta) had(key string) int64 {
	if i, ok := m.find(key); ok {
		return m.rows[i].Rev
	}
	if i, ok := m.floor(key); ok {
		return m.floors[i].rev
	}
	return 0
}

func (m *Meta) floor(key string) (int, bool) {
	return slices.BinarySearchFunc(m.floors, key, func(f floor, k string) int { return strings.Compare(f.key, k) })
}

// raise notes the cluster's revision.
func (m *Meta) raise(rev int64) {
	if !m.local {
		m.rev = rev
	}
}

// bury remembers what a key had that is deleted: under the same revision it must
// never stand again.
func (m *Meta) bury(key string, rev int64) {
	if !m.local {
		return
	}
	i, ok := m.floor(key)
	if !ok {
		m.floors = slices.Insert(m.floors, i, floor{key, rev})
	}
	m.floors[i].rev = rev
}

// uploadID names a new upload.
func (w *World) uploadID(b *Bucket, key string) string {
	if !w.Meta.local {
		w.serial++
		return fmt.Sprintf("u%04d", w.serial)
	}
	name := "upload " + string(b.Name) + "/" + key
	n := w.Meta.had(name) + 1
	w.Meta.bury(name, n)
	return fmt.Sprintf("u%d", n)
}

// Append appends the canonical encoding of the world: two worlds have the same
// one exactly if no operation can ever tell them apart. When an object landed is
// no part of it.
func (w *World) Append(b []byte) []byte {
	m := &w.Meta
	b = binary.AppendUvarint(b, uint64(len(m.rows)))
	for _, r := range m.rows {
		b = text(text(text(b, r.Key), r.Val), r.lease)
		b = binary.AppendVarint(b, r.Rev)
	}
	b = binary.AppendUvarint(b, uint64(len(m.floors)))
	for _, f := range m.floors {
		if _, stands := m.find(f.key); !stands {
			b = binary.AppendVarint(text(b, f.key), f.rev)
		}
	}
	b = binary.AppendVarint(b, m.rev)
	b = flag(b, m.noSpace)
	for _, s := range m.sessions {
		b = binary.AppendVarint(text(b, s.id), int64(s.until))
	}
	b = binary.AppendUvarint(b, uint64(w.serial))
	for _, k := range w.buckets {
		b = k.append(b)
	}
	return b
}

func (k *Bucket) append(b []byte) []byte {
	b = flag(text(b, string(k.Name)), k.Down)
	b = binary.AppendUvarint(b, uint64(len(k.objects)))
	for _, o := range k.objects {
		b = o.Body.append(text(text(b, o.Key), o.upload))
	}
	for _, us := range [...][]*Upload{k.uploads, k.ended} {
		b = binary.AppendUvarint(b, uint64(len(us)))
		for _, u := range us {
			b = flag(text(text(b, u.ID), u.Key), u.ended)
			b = binary.AppendVarint(b, int64(u.when))
			b = binary.AppendUvarint(b, uint64(len(u.Parts)))
			for i := range u.Parts {
				p := &u.Parts[i]
				b = p.Body.append(text(binary.AppendVarint(b, int64(p.Num)), p.Tag))
			}
		}
	}
	return b
}

func (o *Body) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(o.segs)))
	for i := range o.segs {
		s := &o.segs[i]
		b = text(b, s.Bytes)
		b = binary.AppendUvarint(b, s.Blob)
		b = binary.AppendVarint(b, s.Off)
		b = binary.AppendVarint(b, s.Len)
	}
	return b
}

func text(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func flag(b []byte, on bool) []byte {
	if on {
		return append(b, 1)
	}
	return append(b, 0)
}
