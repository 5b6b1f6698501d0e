package world

import (
	"fmt"
	"slices"

	"nova/core"
)

// Limits are what a store enforces on uploads.
type Limits struct {
	PartMin   int64   // every part but the last
	PartMax   int64   // every part
	PartCount int     // parts of one upload
	Remember  core.Ms // how long an ended upload can still meet a part in flight: the request lifetime
}

// LimitsOf is what the dials assume of a store.
func LimitsOf(d *core.Dials) Limits {
	return Limits{PartMin: d.PartMin, PartMax: d.PartMax, PartCount: d.PartCount, Remember: d.RequestLife}
}

// Dialect is how a server behaves where servers differ.
type Dialect struct {
	// RepeatComplete answers a conditional complete whose upload has already been
	// completed: OK (200), Exists (412) or Absent (404).
	RepeatComplete core.Outcome
	// LateParts: a part that was in flight when its upload was aborted is stored,
	// and the upload is listed again.
	LateParts bool
}

// When says when, and for whom, an operation lands.
type When struct {
	Now      core.Ms // true time
	Admitted core.Ms // when a store admitted the request: at most Now
	Session  string  // of the process that sent it
}

// World is a metastore and the store buckets. Copy it with Clone.
type World struct {
	Meta    Meta
	Limits  Limits
	Dialect Dialect
	// Changes is what Apply, Revoke and Expire have written since the caller last
	// emptied it.
	Changes []Change
	// Contract is the first operation that no host may send, if there was one.
	Contract error
	// Landed, if not nil, is told every operation that Apply lands, in order: a
	// recording of them, applied to an empty world, makes this one again.
	Landed func(op *core.Op, at When, o core.Outcome)
	// Of a world that is known in part (package incident). Dark, if not nil, says that
	// it is not known whether an object stands that does not stand here: no store
	// gives a definite answer about it. Blob, if not nil, is the bytes of a Blob piece.
	Dark func(o core.Obj) bool
	Blob func(p *core.Piece) Body

	buckets []*Bucket // sorted by name
	serial  int       // of uploads
}

// New makes an empty world with the given buckets.
func New(l Limits, d Dialect, stores ...core.Store) *World {
	w := &World{Limits: l, Dialect: d}
	slices.Sort(stores)
	for _, s := range slices.Compact(stores) {
		w.buckets = append(w.buckets, &Bucket{Name: s})
	}
	return w
}

// Bucket is the store of a name, or nil.
func (w *World) Bucket(s core.Store) *Bucket {
	for _, b := range w.buckets {
		if b.Name == s {
			return b
		}
	}
	return nil
}

// Buckets is every store, by name.
func (w *World) Buckets() []*Bucket { return w.buckets }

// Apply lands one operation of the metastore or of a store and returns the reply
// that its sender would get.
func (w *World) Apply(op *core.Op, at When) core.Reply {
	r := w.apply(op, at)
	if w.Landed != nil {
		w.Landed(op, at, r.Outcome)
	}
	return r
}

func (w *World) apply(op *core.Op, at When) core.Reply {
	switch op.Kind {
	case core.KGet:
		if op.Key == "" {
			w.breach("get names no key")
		}
		return w.Meta.get(op.Key)
	case core.KScan:
		if op.End == "" || op.Num < 1 {
			w.breach("scan [%s, %s) limit %d: every range has an end and a limit", op.Key, op.End, op.Num)
		}
		return w.Meta.scan(op.Key, op.End, int(op.Num))
	case core.KTxn:
		return w.txn(op.Txn, at.Session)
	}
	b := w.Bucket(op.Store)
	if b == nil {
		w.breach("%s: no such store", op)
		return refused("no such store %q", op.Store)
	}
	if op.Key == "" && op.Kind != core.KList {
		w.breach("%s names no key", op)
	}
	if b.Down {
		return core.Reply{Outcome: core.Unknown}
	}
	return w.store(b, op, at)
}

func (w *World) store(b *Bucket, op *core.Op, at When) core.Reply {
	if op.Until == 0 && op.Mutates() && op.Kind != core.KDelete && op.Kind != core.KAbort {
		w.breach("%s: a mutation of a store needs a NotAfter", op)
	}
	if w.dark(b, op) {
		return core.Reply{Outcome: core.Unknown}
	}
	switch op.Kind {
	case core.KStat:
		return b.stat(op)
	case core.KReadRange:
		return b.readRange(op)
	case core.KReadTail:
		return b.readTail(op)
	case core.KCreate:
		return w.create(b, op, at)
	case core.KCreateUpload:
		return w.createUpload(b, op, at)
	case core.KUploadPart, core.KCopyPart:
		return w.uploadPart(b, op, at)
	case core.KComplete:
		return w.complete(b, op, at)
	case core.KAbort:
		return w.abort(b, op, at)
	case core.KListUploads:
		return b.listUploads(op)
	case core.KList:
		return b.list(op)
	case core.KDelete:
		return w.delete(b, op)
	case core.KFetch:
		return b.fetch(op)
	}
	panic(fmt.Sprintf("world: %s is no operation of a world", op.Kind))
}

// dark reports whether nothing definite can be said to a read.
func (w *World) dark(b *Bucket, op *core.Op) bool {
	switch op.Kind {
	case core.KStat, core.KReadRange, core.KReadTail, core.KFetch:
		return w.unlit(b, op.Key)
	}
	return false
}

func (w *World) unlit(b *Bucket, key string) bool {
	return w.Dark != nil && b.Lookup(key) == nil && w.Dark(core.Obj{Store: b.Name, Key: key})
}

// Clone copies the world; what is immutable is shared, and Changes is empty.
func (w *World) Clone() *World {
	c := *w
	c.Changes, c.Landed = nil, nil
	c.Meta.rows = slices.Clone(w.Meta.rows)
	c.Meta.sessions = slices.Clone(w.Meta.sessions)
	c.Meta.floors = slices.Clone(w.Meta.floors)
	c.buckets = make([]*Bucket, len(w.buckets))
	for i, b := range w.buckets {
		nb := *b
		nb.objects, nb.uploads, nb.ended = slices.Clone(b.objects), slices.Clone(b.uploads), slices.Clone(b.ended)
		c.buckets[i] = &nb
	}
	return &c
}
