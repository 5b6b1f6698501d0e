package world

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
)

// row is one metastore row; immutable, shared by clones.
type row struct {
	core.Row
	lease string // the session under which it was put
}

// session is one lease: a process keeps it alive, and its rows go when it ends.
type session struct {
	id    string
	until core.Ms
}

// Meta is the metastore: sorted rows, one revision for each transaction that
// changes something, sessions, and an alarm for want of space.
type Meta struct {
	rows     []*row
	sessions []session // sorted by id
	rev      int64
	noSpace  bool
	local    bool    // revisions are counted by key: see Local
	floors   []floor // local: what the keys that stand no more have had; sorted by key
}

// SetNoSpace raises or lifts the alarm. While it is up, every transaction that
// holds a put is refused, whatever its compares say, and so is every new session.
func (m *Meta) SetNoSpace(up bool) { m.noSpace = up }

// NoSpace reports whether the alarm is up.
func (m *Meta) NoSpace() bool { return m.noSpace }

// Rev is the current revision.
func (m *Meta) Rev() int64 { return m.rev }

// Len is the number of rows.
func (m *Meta) Len() int { return len(m.rows) }

// Row is row i, in key order.
func (m *Meta) Row(i int) core.Row { return m.rows[i].Row }

// Lookup is the row of key.
func (m *Meta) Lookup(key string) (core.Row, bool) {
	if i, ok := m.find(key); ok {
		return m.rows[i].Row, true
	}
	return core.Row{Mark: core.Mark{Key: key}}, false
}

// Range calls f on the rows of [from, end) in order until it returns false. It
// is for laws and tests; f must not write.
func (m *Meta) Range(from, end string, f func(core.Row) bool) {
	for i, _ := m.find(from); i < len(m.rows) && m.rows[i].Key < end; i++ {
		if !f(m.rows[i].Row) {
			return
		}
	}
}

// find is where key stands, or would.
func (m *Meta) find(key string) (int, bool) {
	lo, hi := 0, len(m.rows)
	for lo < hi {
		h := int(uint(lo+hi) >> 1)
		switch strings.Compare(m.rows[h].Key, key) {
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

func (m *Meta) get(key string) core.Reply {
	i, ok := m.find(key)
	if !ok {
		return core.Reply{Outcome: core.Absent}
	}
	return core.Reply{Rev: m.rows[i].Rev, Val: m.rows[i].Val}
}

func (m *Meta) scan(from, end string, limit int) (r core.Reply) {
	i, _ := m.find(from)
	j := i
	for j < len(m.rows) && m.rows[j].Key < end && j-i < limit {
		j++
	}
	r.More = j < len(m.rows) && m.rows[j].Key < end
	if i < j {
		r.Rows = make([]core.Row, 0, j-i)
		for _, x := range m.rows[i:j] {
			r.Rows = append(r.Rows, x.Row)
		}
	}
	return r
}

// txn applies one transaction on behalf of a session.
func (w *World) txn(ws []core.Write, sess string) core.Reply {
	m := &w.Meta
	if err := core.CheckTxn(ws); err != nil {
		w.breach("%v", err)
		return core.Reply{Outcome: core.Refused, Val: err.Error()}
	}
	leased := false
	for i := range ws {
		put := ws[i].Verb == core.VPut || ws[i].Verb == core.VPutLeased
		if put && m.noSpace {
			return core.Reply{Outcome: core.NoSpace}
		}
		leased = leased || ws[i].Verb == core.VPutLeased
	}
	for i := range ws {
		if x := &ws[i]; x.Verb == core.VIf {
			var have int64
			if k, ok := m.find(x.At.Key); ok {
				have = m.rows[k].Rev
			}
			if have != x.At.Rev {
				return core.Reply{Outcome: core.Conflict}
			}
		}
	}
	if leased && !m.Alive(sess) {
		return core.Reply{Outcome: core.Refused, Val: "session has ended"}
	}
	rev := m.next(ws)
	for i := range ws {
		switch x := &ws[i]; x.Verb {
		case core.VPut:
			w.put(x.At.Key, x.Val, rev, "")
		case core.VPutLeased:
			w.put(x.At.Key, x.Val, rev, sess)
		case core.VDel:
			if k, ok := m.find(x.At.Key); ok {
				w.del(k, k+1, rev)
			}
		case core.VDelRange:
			from, _ := m.find(x.At.Key)
			to, _ := m.find(x.Val)
			if from < to {
				w.del(from, to, rev)
			}
		}
	}
	if m.local {
		return core.Reply{Rev: rev}
	}
	return core.Reply{Rev: m.rev}
}

func (w *World) put(key, val string, rev int64, lease string) {
	m := &w.Meta
	m.raise(rev)
	x := &row{core.Row{Mark: core.Mark{Key: key, Rev: rev}, Val: val}, lease}
	i, ok := m.find(key)
	was := ""
	if ok {
		was = m.rows[i].Val
		m.rows[i] = x
	} else {
		m.rows = slices.Insert(m.rows, i, x)
	}
	w.Changes = append(w.Changes, Change{Kind: RowPut, Key: key, Was: was, Val: val, Rev: rev, New: !ok})
}

func (w *World) del(from, to int, rev int64) {
	m := &w.Meta
	m.raise(rev)
	for _, x := range m.rows[from:to] {
		m.bury(x.Key, x.Rev)
		w.Changes = append(w.Changes, Change{Kind: RowDel, Key: x.Key, Was: x.Val, Rev: rev})
	}
	m.rows = slices.Delete(m.rows, from, to)
}

func (m *Meta) session(id string) (int, bool) {
	return slices.BinarySearchFunc(m.sessions, id, func(s session, id string) int { return strings.Compare(s.id, id) })
}

// Alive reports whether a session has not ended.
func (m *Meta) Alive(id string) bool {
	_, ok := m.session(id)
	return ok
}

// Grant begins a session that ends at until unless it is renewed. It is refused
// while the alarm is up.
func (m *Meta) Grant(id string, until core.Ms) bool {
	i, ok := m.session(id)
	if ok || m.noSpace {
		return ok
	}
	m.sessions = slices.Insert(m.sessions, i, session{id, until})
	return true
}

// Renew moves the end of a session; it reports false if the session has ended.
func (m *Meta) Renew(id string, until core.Ms) bool {
	i, ok := m.session(id)
	if ok {
		m.sessions[i].until = max(m.sessions[i].until, until)
	}
	return ok
}

// NextExpiry is the end of the session that ends first.
func (m *Meta) NextExpiry() (at core.Ms, ok bool) {
	for i := range m.sessions {
		if u := m.sessions[i].until; !ok || u < at {
			at, ok = u, true
		}
	}
	return at, ok
}

// Revoke ends a session: its rows go, in one revision. The changes are appended
// to Changes.
func (w *World) Revoke(id string) {
	m := &w.Meta
	i, ok := m.session(id)
	if !ok {
		return
	}
	m.sessions = slices.Delete(m.sessions, i, i+1)
	rev := m.rev + 1
	for k := 0; k < len(m.rows); {
		if m.rows[k].lease == id {
			w.del(k, k+1, rev)
		} else {
			k++
		}
	}
}

// Expire ends every session whose end has come, and names them.
func (w *World) Expire(now core.Ms) (ended []string) {
	for _, s := range w.Meta.sessions {
		if s.until <= now {
			ended = append(ended, s.id)
		}
	}
	for _, id := range ended {
		w.Revoke(id)
	}
	return ended
}

func (w *World) breach(format string, args ...any) {
	if w.Contract == nil {
		w.Contract = fmt.Errorf(format, args...)
	}
}
