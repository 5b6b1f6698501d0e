package duty

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"nova/core"
)

// lab is a metastore and object stores in maps, for the tests of this package:
// it answers effects, and holds the laws after every one of them.
type lab struct {
	t       *testing.T
	dials   core.Dials
	stores  core.Stores
	now     core.Ms
	rev     int64
	rows    map[string]core.Row
	leased  map[string]string // key → process
	objs    map[core.Obj]string
	uploads map[string]*labUpload
	named   map[core.Obj]core.Ms // when a live ref last named the object
	taken   map[core.Obj]bool    // what a test took away itself
	want    map[uint64]string    // stream → its records' bytes, from 0
	trims   map[string]labCursors
	alive   []core.Obj // what live refs named when the laws were last held
	wrote   int        // mutations that took effect
	reads   int        // rows that reads returned

	deny func(op *core.Op) (core.Outcome, bool) // answers in the store's stead
}

type labUpload struct {
	at    core.Obj
	parts map[int32]string
}

func newLab(t *testing.T) *lab {
	d := core.Spec()
	d.Shards = 2
	return &lab{
		t: t, dials: d, now: 1_000_000_000,
		stores:  core.Stores{Of: [core.Classes][]core.Store{{"std"}, {"xp1", "xp2"}}},
		rows:    map[string]core.Row{},
		leased:  map[string]string{},
		objs:    map[core.Obj]string{},
		uploads: map[string]*labUpload{},
		named:   map[core.Obj]core.Ms{},
		taken:   map[core.Obj]bool{},
		want:    map[uint64]string{},
		trims:   map[string]labCursors{},
		rev:     100,
	}
}

// clone copies the world, for a sweep that runs it many times.
func (l *lab) clone() *lab {
	c := *l
	c.rows, c.leased, c.objs = maps.Clone(l.rows), maps.Clone(l.leased), maps.Clone(l.objs)
	c.named, c.want, c.trims = maps.Clone(l.named), maps.Clone(l.want), maps.Clone(l.trims)
	c.uploads = map[string]*labUpload{}
	for id, u := range l.uploads {
		c.uploads[id] = &labUpload{u.at, maps.Clone(u.parts)}
	}
	return &c
}

func (l *lab) put(key, val string) core.Mark {
	l.rev++
	l.rows[key] = core.Row{Mark: core.Mark{Key: key, Rev: l.rev}, Val: val}
	return l.rows[key].Mark
}

func (l *lab) keys(prefix string) []string {
	var ks []string
	for k := range l.rows {
		if strings.HasPrefix(k, prefix) {
			ks = append(ks, k)
		}
	}
	slices.Sort(ks)
	return ks
}

// expire drops the leased rows of a process that is gone.
func (l *lab) expire(process string) {
	for k, p := range l.leased {
		if p == process {
			delete(l.rows, k)
			delete(l.leased, k)
		}
	}
}

func (l *lab) apply(op *core.Op, process string) core.Reply {
	if l.deny != nil {
		if o, ok := l.deny(op); ok {
			return core.Reply{Outcome: o}
		}
	}
	if op.Mutates() { // what was named when the laws were last held has been named until now
		for _, o := range l.alive {
			l.named[o] = l.now
		}
	}
	before := l.rev
	r := l.do(op, process)
	if op.Mutates() && r.Outcome == core.OK && (op.Kind != core.KTxn || l.rev != before) {
		l.wrote++
	}
	if op.Mutates() {
		l.laws(op)
	}
	return r
}

func (l *lab) do(op *core.Op, process string) (r core.Reply) {
	switch op.Kind {
	case core.KGet:
		row, ok := l.rows[op.Key]
		if !ok {
			return core.Reply{Outcome: core.Absent}
		}
		l.reads++
		return core.Reply{Rev: row.Rev, Val: row.Val}
	case core.KScan:
		return l.scan(op)
	case core.KTxn:
		return l.txn(op, process)
	case core.KWait, core.KStage:
		return core.Reply{}
	case core.KStat:
		b, ok := l.objs[op.Obj()]
		if !ok {
			return core.Reply{Outcome: core.Absent}
		}
		return core.Reply{Size: int64(len(b))}
	case core.KReadRange, core.KReadTail:
		b, ok := l.objs[op.Obj()]
		switch {
		case !ok:
			return core.Reply{Outcome: core.Absent}
		case op.Kind == core.KReadTail:
			return core.Reply{Size: int64(len(b)), Val: b[max(0, int64(len(b))-op.Len):]}
		case op.Off >= int64(len(b)):
			return core.Reply{Outcome: core.OutOfRange}
		}
		return core.Reply{Val: b[op.Off:min(op.Off+op.Len, int64(len(b)))]}
	}
	if op.Until != 0 && l.now > op.Until {
		return core.Reply{Outcome: core.Refused}
	}
	return l.mutate(op)
}

func (l *lab) mutate(op *core.Op) (r core.Reply) {
	if op.Mutates() {
		defer func() {
			if r.Outcome == core.OK {
				l.rev++
			}
		}()
	}
	switch op.Kind {
	case core.KCreate:
		if _, ok := l.objs[op.Obj()]; ok {
			return core.Reply{Outcome: core.Exists}
		}
		return l.store(op.Obj(), op.Body)
	case core.KCreateUpload:
		id := fmt.Sprintf("up%d", l.rev)
		l.uploads[id] = &labUpload{op.Obj(), map[int32]string{}}
		return core.Reply{Val: id}
	case core.KUploadPart, core.KCopyPart:
		u := l.uploads[op.Upload()]
		if u == nil {
			return core.Reply{Outcome: core.Absent}
		}
		b, o := l.body(op.Body)
		if o == core.OK {
			u.parts[op.Num] = b
		}
		return core.Reply{Outcome: o, Val: fmt.Sprintf("tag%d", op.Num)}
	case core.KComplete:
		u := l.uploads[op.Upload()]
		if u == nil {
			return core.Reply{Outcome: core.Absent}
		}
		if _, ok := l.objs[op.Obj()]; ok {
			return core.Reply{Outcome: core.Exists}
		}
		all := ""
		for n := range len(op.Parts) {
			all += u.parts[int32(n+1)]
		}
		delete(l.uploads, op.Upload())
		l.objs[op.Obj()] = all
		return core.Reply{}
	case core.KAbort:
		delete(l.uploads, op.Upload())
		return core.Reply{}
	case core.KListUploads:
		for id, u := range l.uploads {
			if u.at == op.Obj() {
				r.Items = append(r.Items, core.Item{Key: op.Key, Upload: id})
			}
		}
		return r
	case core.KDelete:
		if at, ok := l.named[op.Obj()]; ok && l.objs[op.Obj()] != "" && l.now-at < l.dials.ReadGrace {
			l.t.Errorf("%d: delete %v, which a live ref named %d ms ago", l.now, op.Obj(), l.now-at)
		}
		delete(l.objs, op.Obj())
		return core.Reply{}
	}
	l.t.Fatalf("the lab does not know %s", op)
	return r
}

func (l *lab) store(at core.Obj, body []core.Piece) core.Reply {
	b, o := l.body(body)
	if o == core.OK {
		l.objs[at] = b
	}
	return core.Reply{Outcome: o}
}

func (l *lab) body(ps []core.Piece) (string, core.Outcome) {
	var b strings.Builder
	for i := range ps {
		p := &ps[i]
		if p.Kind == core.Literal {
			b.WriteString(p.Bytes)
			continue
		}
		src, ok := l.objs[p.From]
		for k := 0; !ok && k < len(p.Also); k++ {
			src, ok = l.objs[p.Also[k]]
		}
		if !ok {
			return "", core.Absent
		}
		b.WriteString(src[p.Off : p.Off+p.Len])
	}
	return b.String(), core.OK
}

func (l *lab) scan(op *core.Op) (r core.Reply) {
	var ks []string
	for k := range l.rows {
		if k >= op.Key && k < op.End {
			ks = append(ks, k)
		}
	}
	slices.Sort(ks)
	if r.More = len(ks) > int(op.Num); r.More {
		ks = ks[:op.Num]
	}
	for _, k := range ks {
		r.Rows = append(r.Rows, l.rows[k])
	}
	l.reads += len(ks)
	return r
}

func (l *lab) txn(op *core.Op, process string) core.Reply {
	if err := core.CheckTxn(op.Txn); err != nil {
		l.t.Fatalf("%s: %v", op, err)
	}
	for i := range op.Txn {
		if w := &op.Txn[i]; w.Verb == core.VIf && l.rows[w.At.Key].Rev != w.At.Rev {
			return core.Reply{Outcome: core.Conflict}
		}
	}
	l.rev++
	for i := range op.Txn {
		switch w := &op.Txn[i]; w.Verb {
		case core.VPut, core.VPutLeased:
			l.rows[w.At.Key] = core.Row{Mark: core.Mark{Key: w.At.Key, Rev: l.rev}, Val: w.Val}
			if delete(l.leased, w.At.Key); w.Verb == core.VPutLeased {
				l.leased[w.At.Key] = process
			}
		case core.VDel:
			delete(l.rows, w.At.Key)
			delete(l.leased, w.At.Key)
		case core.VDelRange:
			for k := range l.rows {
				if k >= w.At.Key && k < w.Val {
					delete(l.rows, k)
				}
			}
		}
	}
	return core.Reply{Rev: l.rev}
}
