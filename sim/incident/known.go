package incident

import (
	"sort"

	"nova/core"
	"nova/core/format"
	"nova/core/transcript"
)

// known is what a recording tells of the metastore and the stores: from every reply,
// what was read, and what was written. Two replies may arrive in another order than
// they were made in: a row goes by its revision, and that something is absent is
// believed only if nothing was learnt of it since that was asked.
type known struct {
	rows    map[string]*rowFact
	objects map[core.Obj]*objectFact
	uploads map[uploadID]*uploadFact
	rev     int64           // the highest that was seen
	dead    map[string]bool // processes whose session has ended, or will soon
	unsure  int             // transactions and writes to stores of which nobody knows whether they landed
	stores  map[core.Store]bool
	refuted map[string]int64 // highest revision of rows that are gone; for rows that are read late
}

// rowFact is the last that was learnt of a row.
type rowFact struct {
	row    core.Row // Rev 0: it does not stand
	lease  string   // the process under whose session it was put, if that is known
	serial uint64   // of the turn that told
}

// objectFact is the last that was learnt of an object.
type objectFact struct {
	stands bool
	size   int64  // -1: not known
	tail   string // its last bytes, as far as they are known
	serial uint64
}

type uploadID struct {
	obj core.Obj
	id  string
}

// uploadFact is an unfinished upload, with the parts that were sent here.
type uploadFact struct {
	parts  map[int32]partFact
	serial uint64
}

type partFact struct {
	tag  string
	body []core.Piece
}

func newKnown() *known {
	return &known{rows: map[string]*rowFact{}, objects: map[core.Obj]*objectFact{}, uploads: map[uploadID]*uploadFact{},
		dead: map[string]bool{}, stores: map[core.Store]bool{}, refuted: map[string]int64{}}
}

// learn takes one reply in.
func (k *known) learn(b *transcript.Begin, e *sent, r *core.Reply, serial uint64) {
	op := &e.op
	for _, of := range b.Env.Stores.Of {
		for _, s := range of {
			k.stores[s] = true
		}
	}
	switch {
	case op.IsMeta():
		k.meta(b, e, r, serial)
	case op.IsStore():
		k.store(e, r, serial)
	}
	if op.Mutates() && r.Outcome == core.Unknown {
		k.unsure++
	}
}

func (k *known) meta(b *transcript.Begin, e *sent, r *core.Reply, serial uint64) {
	op := &e.op
	switch {
	case op.Kind == core.KGet && r.Outcome == core.OK:
		k.stands(r.Row(op.Key), "", serial)
	case op.Kind == core.KGet && r.Outcome == core.Absent:
		k.absent(op.Key, e.serial, serial)
	case op.Kind == core.KScan && r.Outcome == core.OK:
		end := op.End
		if n := len(r.Rows); r.More && n > 0 {
			end = r.Rows[n-1].Key + "\x00"
		}
		here := map[string]bool{}
		for _, row := range r.Rows {
			here[row.Key] = true
			k.stands(row, "", serial)
		}
		for key := range k.rows {
			if key >= op.Key && key < end && !here[key] {
				k.absent(key, e.serial, serial)
			}
		}
	case op.Kind == core.KTxn && r.Outcome == core.OK:
		k.txn(b, op, r.Rev, serial)
	}
}

func (k *known) txn(b *transcript.Begin, op *core.Op, rev int64, serial uint64) {
	for i := range op.Txn {
		w := &op.Txn[i]
		row := core.Row{Mark: core.Mark{Key: w.At.Key, Rev: rev}, Val: w.Val}
		switch w.Verb {
		case core.VPut:
			k.stands(row, "", serial)
		case core.VPutLeased:
			k.stands(row, b.Env.Process, serial)
		case core.VDel:
			k.gone(w.At.Key, rev, serial)
		case core.VDelRange:
			for key := range k.rows {
				if key >= w.At.Key && key < w.Val {
					k.gone(key, rev, serial)
				}
			}
		}
	}
	k.rev = max(k.rev, rev)
}

// stands: a row was read, or written.
func (k *known) stands(row core.Row, lease string, serial uint64) {
	k.rev = max(k.rev, row.Rev)
	f := k.rows[row.Key]
	if f != nil && (f.row.Rev > row.Rev || row.Rev <= k.refuted[row.Key]) {
		return
	}
	if f != nil && f.row.Rev == row.Rev && lease == "" {
		lease = f.lease
	}
	k.rows[row.Key] = &rowFact{row, lease, serial}
}

// gone: a row was deleted by the transaction of a revision.
func (k *known) gone(key string, rev int64, serial uint64) {
	if f := k.rows[key]; f != nil && f.row.Rev > rev {
		return
	}
	k.refuted[key] = max(k.refuted[key], rev)
	k.rows[key] = &rowFact{core.Row{Mark: core.Mark{Key: key}}, "", serial}
}

// absent: a row was not there when it was asked for, at some time since a turn.
func (k *known) absent(key string, asked, serial uint64) {
	f := k.rows[key]
	if f != nil && f.serial > asked {
		return
	}
	if f != nil {
		k.refuted[key] = max(k.refuted[key], f.row.Rev)
	}
	k.rows[key] = &rowFact{core.Row{Mark: core.Mark{Key: key}}, "", serial}
}

func (k *known) store(e *sent, r *core.Reply, serial uint64) {
	op := &e.op
	o, id := op.Obj(), uploadID{op.Obj(), op.Upload()}
	k.stores[op.Store] = true
	switch op.Kind {
	case core.KListUploads:
		if r.Outcome == core.OK {
			k.listed(o, r.Items, e.serial, serial)
		}
		return
	case core.KList:
		for _, it := range r.Items {
			k.object(core.Obj{Store: op.Store, Key: it.Key}, it.Size, "", serial)
		}
		return
	}
	switch {
	case r.Outcome == core.OK:
		k.done(op, o, id, r, serial)
	case r.Outcome == core.Exists:
		k.object(o, -1, "", serial)
	case r.Outcome == core.Absent && (op.Kind == core.KUploadPart || op.Kind == core.KCopyPart || op.Kind == core.KComplete):
		delete(k.uploads, id)
	case r.Outcome == core.Absent:
		if f := k.objects[o]; f == nil || f.serial <= e.serial {
			k.objects[o] = &objectFact{serial: serial}
		}
	}
}

// done: an operation of a store took effect.
func (k *known) done(op *core.Op, o core.Obj, id uploadID, r *core.Reply, serial uint64) {
	switch op.Kind {
	case core.KStat:
		k.object(o, r.Size, "", serial)
	case core.KReadTail:
		k.object(o, r.Size, r.Val, serial)
	case core.KReadRange:
		k.window(o, op.Off, r.Val, serial)
	case core.KFetch:
		k.object(o, -1, "", serial)
	case core.KCreate:
		k.object(o, core.Size(op.Body), ending(op.Body), serial)
	case core.KCreateUpload:
		k.uploads[uploadID{o, r.Val}] = &uploadFact{map[int32]partFact{}, serial}
	case core.KUploadPart, core.KCopyPart:
		u := k.uploads[id]
		if u == nil {
			u = &uploadFact{map[int32]partFact{}, serial}
			k.uploads[id] = u
		}
		u.parts[op.Num] = partFact{r.Val, op.Body}
	case core.KComplete:
		var body []core.Piece
		if u := k.uploads[id]; u != nil && len(u.parts) >= len(op.Parts) {
			for n := range op.Parts {
				body = append(body, u.parts[int32(n+1)].body...)
			}
		}
		delete(k.uploads, id)
		if len(body) > 0 {
			k.object(o, core.Size(body), ending(body), serial)
		} else {
			k.object(o, -1, "", serial)
		}
	case core.KAbort:
		delete(k.uploads, id)
	case core.KDelete:
		k.objects[o] = &objectFact{serial: serial}
	}
}

// object: an object stands. What was known of it stays known: it never changes.
func (k *known) object(o core.Obj, size int64, tail string, serial uint64) {
	f := k.objects[o]
	if f == nil || !f.stands {
		f = &objectFact{stands: true, size: -1}
		k.objects[o] = f
	}
	f.serial = serial
	if size >= 0 {
		f.size = size
	}
	if len(tail) > len(f.tail) {
		f.tail = tail
	}
}

// window: bytes of an object from off on were read. If they are its footer, they are
// all that must be known of it: a trailer follows from them.
func (k *known) window(o core.Obj, off int64, val string, serial uint64) {
	k.object(o, -1, "", serial)
	footer, err := format.DecodeFooter(val)
	if err != nil {
		return
	}
	kind := format.SettledObject
	if slotKey(o.Key) {
		kind = format.SlotObject
	}
	w := format.Window{Off: off, Len: int64(len(val))}
	k.object(o, off+w.Len+format.TrailerSize, val+format.EncodeTrailer(kind, w, footer), serial)
}

func slotKey(key string) bool { return len(key) > 6 && key[:6] == "chain/" }

// listed: these are the unfinished uploads of a key.
func (k *known) listed(o core.Obj, items []core.Item, asked, serial uint64) {
	here := map[string]bool{}
	for _, it := range items {
		here[it.Upload] = true
		if id := (uploadID{o, it.Upload}); k.uploads[id] == nil {
			k.uploads[id] = &uploadFact{map[int32]partFact{}, serial}
		}
	}
	for id, u := range k.uploads {
		if id.obj == o && !here[id.id] && u.serial <= asked {
			delete(k.uploads, id)
		}
	}
}

// ending is the literal bytes that a body ends with.
func ending(body []core.Piece) (s string) {
	for i := len(body) - 1; i >= 0 && body[i].Kind == core.Literal; i-- {
		s = body[i].Bytes + s
	}
	return s
}

// ended: a machine has ended. What its process holds by lease goes soon.
func (k *known) ended(b *transcript.Begin, _ core.Ms) {
	if b.Role == transcript.Auditor || b.Role == transcript.Star || b.Role == transcript.Decommission {
		k.dead[b.Env.Process] = true // sessions of others run machines one after another
	}
}

// killed: a machine's process ended, and nobody said how the machine stood. What it
// had sent may have landed.
func (k *known) killed(c *root) {
	for _, e := range c.pending {
		if e.op.Mutates() {
			k.unsure++
		}
	}
	k.ended(&c.begin, c.now)
}

// standing is the rows that stand, by key.
func (k *known) standing() (all []*rowFact) {
	for _, f := range k.rows {
		if f.row.Rev > 0 {
			all = append(all, f)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].row.Key < all[j].row.Key })
	return all
}
