package law

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// standingNow is what a judge says, less what was wrong in passing.
func (j *Judge) standingNow() []Breach {
	j.passing = nil
	return j.Check()
}

// model is a world and the judge that follows it.
type model struct {
	w     *world
	judge *Judge
}

func newModel(w *world) *model {
	m := &model{w: &world{d: w.d, st: w.st, rev: w.rev, rows: maps.Clone(w.rows), bodies: maps.Clone(w.bodies), uploads: maps.Clone(w.uploads), acks: slices.Clone(w.acks)}}
	m.judge = Of(w.snapshot(), &m.w.d, &m.w.st, m.w.checksum)
	for _, a := range w.acks {
		m.judge.Apply(Change{Kind: Acknowledged, Ack: a})
	}
	m.judge.standingNow()
	return m
}

func (m *model) setRow(r core.Row) {
	m.w.rows[r.Key] = r
	m.judge.Apply(Change{Kind: RowPut, Row: r})
}

func (m *model) dropRow(key string) {
	delete(m.w.rows, key)
	m.judge.Apply(Change{Kind: RowGone, Row: core.Row{Mark: core.Mark{Key: key}}})
}

func (m *model) setObject(o core.Obj, body string) {
	m.w.bodies[o] = body
	m.judge.Apply(Change{Kind: ObjectPut, Object: m.w.object(o)})
}

func (m *model) dropObject(o core.Obj) {
	delete(m.w.bodies, o)
	m.judge.Apply(Change{Kind: ObjectGone, Object: Object{Store: o.Store, Key: o.Key}})
}

func (m *model) setUpload(u Upload, on bool) {
	if on {
		m.w.uploads[u] = true
		m.judge.Apply(Change{Kind: UploadPut, Upload: u})
	} else {
		delete(m.w.uploads, u)
		m.judge.Apply(Change{Kind: UploadGone, Upload: u})
	}
}

// become brings the model to another world, change by change. Bytes of an object
// that differ only inside of its body are taken away and put again.
func (m *model) become(w *world) {
	for _, k := range slices.Sorted(maps.Keys(m.w.rows)) {
		if _, ok := w.rows[k]; !ok {
			m.dropRow(k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(w.rows)) {
		if m.w.rows[k] != w.rows[k] {
			m.setRow(w.rows[k])
		}
	}
	for o := range m.w.bodies {
		if b, ok := w.bodies[o]; !ok || b != m.w.bodies[o] {
			m.dropObject(o)
		}
	}
	for o, b := range w.bodies {
		if _, ok := m.w.bodies[o]; !ok {
			m.setObject(o, b)
		}
	}
	for u := range m.w.uploads {
		if !w.uploads[u] {
			m.setUpload(u, false)
		}
	}
	for u := range w.uploads {
		if !m.w.uploads[u] {
			m.setUpload(u, true)
		}
	}
	if !slices.Equal(m.w.acks, w.acks) { // nothing is unacknowledged: begin anew
		acks := slices.Clone(w.acks)
		m.judge = Of(m.w.snapshot(), &m.w.d, &m.w.st, m.w.checksum)
		m.w.acks = acks
		for _, a := range acks {
			m.judge.Apply(Change{Kind: Acknowledged, Ack: a})
		}
	}
}

// agree compares the judge that followed with one that sees the world at once.
func (m *model) agree(t interface {
	Helper()
	Fatalf(string, ...any)
}) {
	t.Helper()
	fresh := Of(m.w.snapshot(), &m.w.d, &m.w.st, m.w.checksum)
	for _, a := range m.w.acks {
		fresh.Apply(Change{Kind: Acknowledged, Ack: a})
	}
	want := fresh.standingNow()
	if d := cmp.Diff(want, m.judge.standingNow(), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("the judge that followed (+) and the one that did not (-): %s", d)
	}
}

// TestJudgeAgrees: after any changes, a judge that followed them says what one
// says that sees the world for the first time.
func TestJudgeAgrees(t *testing.T) {
	pool := drawFrom()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(sound())
		pool.recent = map[string][]int{}
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			pool.change(t, m)
			if rapid.IntRange(0, 4).Draw(t, "check") > 0 {
				m.agree(t)
			}
		}
		m.agree(t)
		m.become(sound())
		m.w.rev = sound().rev
		m.agree(t)
		if bs := m.judge.standingNow(); len(bs) > 0 {
			t.Fatalf("back in the sound world: %v", bs)
		}
		if d := leftovers(m.judge, Of(m.w.snapshot(), &m.w.d, &m.w.st, m.w.checksum)); d != "" {
			t.Fatal(d)
		}
	})
}

// TestJudgeAgreesOnEach: every single change of the pool, and its undoing, in the
// sound world and in one where nothing has a second replica.
func TestJudgeAgreesOnEach(t *testing.T) {
	pool := drawFrom()
	lone := sound()
	maps.DeleteFunc(lone.bodies, func(o core.Obj, _ string) bool { return o.Store == "b" })
	for _, w := range []*world{sound(), lone} {
		m := newModel(w)
		m.agree(t)
		for _, o := range pool.objects {
			was, there := m.w.bodies[o]
			for _, b := range pool.bodies[o] {
				if _, ok := m.w.bodies[o]; ok {
					m.dropObject(o)
					m.agree(t)
				}
				m.setObject(o, b)
				m.agree(t)
			}
			if m.dropObject(o); there {
				m.agree(t)
				m.setObject(o, was)
			}
			m.agree(t)
		}
		for _, k := range pool.keys {
			was, there := m.w.rows[k]
			for _, v := range pool.values[k] {
				m.setRow(core.Row{Mark: core.Mark{Key: k, Rev: 77}, Val: v})
				m.agree(t)
				m.dropRow(k)
				m.agree(t)
			}
			if there {
				m.setRow(was)
			}
			m.agree(t)
		}
	}
}

// leftovers says what a judge remembers that a fresh one does not.
func leftovers(a, b *Judge) string {
	b.Check()
	return cmp.Diff([]int{len(b.rows), len(b.objects), len(b.groups), len(b.deposits), len(b.standing)},
		[]int{len(a.rows), len(a.objects), len(a.groups), len(a.deposits), len(a.standing)})
}

// pool is what random changes are made of: everything that stands in the sound
// world and in each broken one, so that changes meet.
type pool struct {
	keys    []string
	values  map[string][]string
	objects []core.Obj
	bodies  map[core.Obj][]string
	uploads []Upload
	recent  map[string][]int
}

func drawFrom() *pool {
	p := &pool{values: map[string][]string{}, bodies: map[core.Obj][]string{}}
	add := func(w *world) {
		for k, r := range w.rows {
			if !slices.Contains(p.values[k], r.Val) {
				p.values[k] = append(p.values[k], r.Val)
			}
		}
		for o, b := range w.bodies {
			if !slices.Contains(p.bodies[o], b) {
				p.bodies[o] = append(p.bodies[o], b)
			}
		}
		for u := range w.uploads {
			if !slices.Contains(p.uploads, u) {
				p.uploads = append(p.uploads, u)
			}
		}
	}
	add(sound())
	for _, c := range allBreaches() {
		for _, f := range []func(*world){c.bad, c.near} {
			if f != nil {
				w := sound()
				f(w)
				add(w)
			}
		}
	}
	p.keys = slices.Sorted(maps.Keys(p.values))
	for _, vs := range p.values {
		slices.Sort(vs)
	}
	for o, bs := range p.bodies {
		p.objects = append(p.objects, o)
		slices.Sort(bs)
	}
	slices.SortFunc(p.objects, func(a, b core.Obj) int { return cmpString(name(a), name(b)) })
	slices.SortFunc(p.uploads, func(a, b Upload) int { return cmpString(uploadName(a), uploadName(b)) })
	return p
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// pick draws one of a list. Mostly it is one that was drawn a moment ago, so that
// things go and come back before anything else happens near them.
func (p *pool) pick(t *rapid.T, kind string, n int) int {
	recent := p.recent[kind]
	if len(recent) > 0 && rapid.Bool().Draw(t, "again") {
		return recent[rapid.IntRange(max(0, len(recent)-3), len(recent)-1).Draw(t, "which")]
	}
	i := rapid.IntRange(0, n-1).Draw(t, kind)
	p.recent[kind] = append(recent, i)
	return i
}

func (p *pool) change(t *rapid.T, m *model) {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1, 2, 3:
		k := p.keys[p.pick(t, "key", len(p.keys))]
		m.w.rev++
		m.setRow(core.Row{Mark: core.Mark{Key: k, Rev: rapid.SampledFrom([]int64{m.w.rev, 50, 101}).Draw(t, "rev")}, Val: rapid.SampledFrom(p.values[k]).Draw(t, "val")})
	case 4, 5:
		m.dropRow(p.keys[p.pick(t, "key", len(p.keys))])
	case 6, 7:
		o := p.objects[p.pick(t, "object", len(p.objects))]
		if _, ok := m.w.bodies[o]; ok {
			m.dropObject(o)
		} else {
			m.setObject(o, rapid.SampledFrom(p.bodies[o]).Draw(t, "body"))
		}
	case 8:
		u := rapid.SampledFrom(p.uploads).Draw(t, "upload")
		m.setUpload(u, !m.w.uploads[u])
	case 9:
		a := rapid.SampledFrom([]Ack{acked.ack(), spans1.ack(), {9, 9, 2, 7}, {10, 4, 2, 1}, chunk{10, 4, 6}.ack()}).Draw(t, "ack")
		m.w.acks = append(m.w.acks, a)
		m.judge.Apply(Change{Kind: Acknowledged, Ack: a})
	}
}

// TestMoves: what law 5 says about two versions of a row.
func TestMoves(t *testing.T) {
	head := func(s format.ChainState, checkpoint, cut uint64) string {
		return format.ChainHead{State: s, Checkpoint: checkpoint, Cut: cut}.Encode()
	}
	gone := func(p format.GonePhase) string { return format.Gone{Phase: p, Stores: both2}.Encode() }
	for _, c := range []struct {
		name, key, was, is string
		bad                bool
	}{
		{"checkpoint falls", keys.ChainHead("s", 1), head(1, 5, 0), head(1, 4, 0), true},
		{"checkpoint rises", keys.ChainHead("s", 1), head(1, 5, 0), head(2, 6, 7), false},
		{"state goes back", keys.ChainHead("s", 1), head(2, 5, 7), head(1, 5, 7), true},
		{"cut moves", keys.ChainHead("s", 1), head(2, 5, 7), head(2, 5, 8), true},
		{"cut is published", keys.ChainHead("s", 1), head(1, 5, 9), head(2, 5, 7), false},
		{"trimmed falls", keys.ChainTrim("s", 1), format.ChainTrim{Trimmed: 2, Rewritten: 3}.Encode(), format.ChainTrim{Trimmed: 1, Rewritten: 3}.Encode(), true},
		{"rewritten falls", keys.ChainTrim("s", 1), format.ChainTrim{Trimmed: 1, Rewritten: 3}.Encode(), format.ChainTrim{Trimmed: 1, Rewritten: 2}.Encode(), true},
		{"cursors rise", keys.ChainTrim("s", 1), format.ChainTrim{Trimmed: 1, Rewritten: 3}.Encode(), format.ChainTrim{Trimmed: 3, Rewritten: 3}.Encode(), false},
		{"constants change", keys.ChainConst("s", 1), format.ChainConst{Pipeline: 1, Stores: both2}.Encode(), format.ChainConst{Pipeline: 2, Stores: both2}.Encode(), true},
		{"watermark falls", keys.Trim(1), format.EncodeNumber(5), format.EncodeNumber(4), true},
		{"watermark stays", keys.Trim(1), format.EncodeNumber(5), format.EncodeNumber(5), false},
		{"end falls", keys.Writer(1), format.Writer{End: 5}.Encode(), format.Writer{End: 4}.Encode(), true},
		{"total falls", keys.Writer(1), format.Writer{Total: 5}.Encode(), format.Writer{Total: 4}.Encode(), true},
		{"the writer moves to an older epoch", keys.Writer(1), format.Writer{Epoch: 5, End: 4}.Encode(), format.Writer{Epoch: 4, End: 4}.Encode(), false},
		{"the dead rise", keys.Stream(1), format.Stream{Deleted: true}.Encode(), format.Stream{}.Encode(), true},
		{"deletion", keys.Stream(1), format.Stream{MaxAge: 4}.Encode(), format.Stream{Deleted: true, DeletedAt: 4}.Encode(), false},
		{"an id is given out again", keys.Stream(1), format.Stream{Born: 4}.Encode(), format.Stream{Born: 5}.Encode(), true},
		{"a counter falls", keys.CounterEpoch, format.EncodeNumber(5), format.EncodeNumber(4), true},
		{"a mint falls", keys.Mint("s", 0), format.EncodeNumber(5), format.EncodeNumber(4), true},
		{"the generation falls", keys.GenerationKey, format.EncodeNumber(5), format.EncodeNumber(4), true},
		{"a decommission goes on", keys.Gone("s"), gone(1), gone(2), false},
		{"a decommission sweeps anew", keys.Gone("s"), gone(2), gone(2), false},
		{"a decommission goes back", keys.Gone("s"), gone(3), gone(2), true},
		{"a decommission skips a sweep", keys.Gone("s"), gone(1), gone(3), true},
		{"an irrevocable record goes", keys.Gone("s"), gone(3), "", true},
		{"a counter goes", keys.CounterEpoch, format.EncodeNumber(5), "", true},
		{"a chain goes", keys.ChainHead("s", 1), head(4, 5, 5), "", false},
		{"what does not decode", keys.Trim(1), "?", format.EncodeNumber(4), false},
		{"a marker", keys.DueSettle(0, 1, "s", 1), "x", "y", false},
	} {
		was, is := core.Row{Mark: core.Mark{Key: c.key, Rev: 1}, Val: c.was}, core.Row{Mark: core.Mark{Key: c.key, Rev: 2}, Val: c.is}
		if c.is == "" {
			is.Rev = 0
		}
		if got := Monotone(was, is); (len(got) > 0) != c.bad {
			t.Errorf("%s: %v", c.name, got)
		}
		j := NewJudge(&core.Dials{Shards: 1}, &core.Stores{}, nil)
		j.Apply(Change{Kind: RowPut, Row: was})
		j.Check()
		if c.is == "" {
			j.Apply(Change{Kind: RowGone, Row: is})
		} else {
			j.Apply(Change{Kind: RowPut, Row: is})
		}
		moved := slices.DeleteFunc(j.Check(), func(b Breach) bool { return b.Law != 5 || b.Key != c.key || len(Monotone(was, is)) == 0 })
		if len(moved) != len(Monotone(was, is)) && len(moved) == 0 {
			t.Errorf("%s: the judge says %v", c.name, moved)
		}
	}
}
