package law

import (
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// passing is what a judge says of changes to the sound world that it has heard of
// from the beginning, at a time.
func passing(t *testing.T, now core.Ms, law int, do func(m *model)) (found []Breach) {
	t.Helper()
	m := newModel(sound())
	m.judge.Hear()
	m.judge.Now(now)
	do(m)
	for _, b := range m.judge.Check() {
		if b.Law == law {
			found = append(found, b)
		}
	}
	if m.judge.Report().Evaluated[law] == 0 {
		t.Errorf("law %d was evaluated on nothing", law)
	}
	return found
}

func (m *model) put(key, val string) {
	m.w.rev++
	m.setRow(core.Row{Mark: core.Mark{Key: key, Rev: m.w.rev}, Val: val})
}

func (m *model) ask(a Ask) { m.judge.Apply(Change{Kind: Asked, Ask: a}) }

// say holds what was found to what it must say; "": nothing.
func say(t *testing.T, found []Breach, what string) {
	t.Helper()
	switch {
	case what == "" && len(found) > 0:
		t.Errorf("found %v", found)
	case what != "" && (len(found) != 1 || !strings.Contains(found[0].What, what)):
		t.Errorf("found %v, want %q", found, what)
	}
}

// TestWhoTrims: a watermark rises over what a client asked to go, or over what is
// older than the policy by a clock within the skew, and over nothing else. Stream 9
// has a policy of 1000 ms, an entry of [0, 5), of which [2, 5) lives and has a chunk
// that ends at 5 with its newest record at 5, and spans of [5, 7) and [7, 9).
func TestWhoTrims(t *testing.T) {
	rise := func(m *model, to uint64) { m.put(keys.Trim(9), format.EncodeNumber(to)) }
	skew := core.Spec().Skew
	for _, c := range []struct {
		name, what string
		now        core.Ms
		do         func(m *model)
	}{
		{"as asked", "", 1 - skew, func(m *model) { m.ask(Ask{Stream: 9, Trim: 5}); rise(m, 5) }},
		{"to less than was asked", "", 1 - skew, func(m *model) { m.ask(Ask{Stream: 9, Trim: 8}); rise(m, 7) }},
		{"one record above what was asked", "[5, 6): no client", 1 - skew, func(m *model) { m.ask(Ask{Stream: 9, Trim: 5}); m.ask(Ask{Stream: 9, Trim: 3}); rise(m, 6) }},
		{"asked of another stream", "records [2, 5)", 1 - skew, func(m *model) { m.ask(Ask{Stream: 8, Trim: 5}); rise(m, 5) }},
		{"over a settled chunk as it expires", "", 1005 - skew, func(m *model) { rise(m, 5) }},
		{"over a settled chunk before it expires", "records [2, 5)", 1004 - skew, func(m *model) { rise(m, 5) }},
		{"over a span as it expires", "", 1007 - skew, func(m *model) { rise(m, 7) }},
		{"over a span before it expires", "records [5, 7)", 1006 - skew, func(m *model) { rise(m, 7) }},
		{"over a part of a chunk before it expires", "records [2, 3)", 1004 - skew, func(m *model) { rise(m, 3) }},
		{"over what has expired, and what was asked", "", 1005 - skew, func(m *model) { m.ask(Ask{Stream: 9, Trim: 7}); rise(m, 7) }},
		{"over an entry whose object cannot be read", "records [2, 5)", 1004 - skew, func(m *model) {
			m.w.row(4, func(r *format.Row) { r.Entries[0].Newest = 5 })
			m.setRow(m.w.rows[keys.Ref(9, 4)])
			m.dropObject(m.w.obj(tailAt))
			rise(m, 5)
		}},
		{"without a policy", "no age policy", 1 << 40, func(m *model) {
			m.put(keys.Stream(9), format.Stream{Bucket: "b", Name: "n", Policy: 1}.Encode())
			rise(m, 5)
		}},
	} {
		t.Run(c.name, func(t *testing.T) { say(t, passing(t, c.now, 3, c.do), c.what) })
	}
}

// TestWhoDeletes: a tombstone was asked for.
func TestWhoDeletes(t *testing.T) {
	bury := func(m *model) {
		m.put(keys.Stream(9), format.Stream{Bucket: "b", Name: "n", MaxAge: 1000, Deleted: true}.Encode())
	}
	say(t, passing(t, 1, 3, func(m *model) { m.ask(Ask{Stream: 9, Delete: true}); bury(m) }), "")
	say(t, passing(t, 1, 3, func(m *model) { m.ask(Ask{Stream: 10, Delete: true}); bury(m) }), "no client asked for it")
}

// TestUnheard: a judge that is not told what is asked does not judge who asked.
func TestUnheard(t *testing.T) {
	m := newModel(sound())
	m.judge.Now(1)
	m.put(keys.Trim(9), format.EncodeNumber(9))
	for _, b := range m.judge.Check() {
		if b.Law == 3 {
			t.Error(b)
		}
	}
}

// TestFinalWalk: the final walk is due, and takes the tombstone, no sooner than a
// quiesce after the first, less the skew.
func TestFinalWalk(t *testing.T) {
	d := core.Spec()
	bury := func(m *model) {
		m.put(keys.Stream(9), format.Stream{Bucket: "b", Name: "n", Deleted: true, DeletedAt: 1}.Encode())
	}
	final := func(m *model, at core.Ms) {
		m.put(keys.DueTeardown(keys.ShardOfStream(9, m.w.d.Shards), at, 9, true), format.TeardownMark{DeletedAt: 1}.Encode())
	}
	least := d.Quiesce - d.Skew
	for _, c := range []struct {
		name, what string
		do         func(m *model)
	}{
		{"a quiesce after the tombstone", "", func(m *model) { bury(m); final(m, 1000+least) }},
		{"sooner", "the final walk is due", func(m *model) { bury(m); final(m, 1000+least-1) }},
		{"a quiesce after the last row went", "", func(m *model) {
			bury(m)
			m.judge.Now(5000)
			m.dropRow(keys.Ref(9, 4))
			final(m, 5000+least)
		}},
		{"measured from the deletion", "the final walk is due", func(m *model) {
			bury(m)
			m.judge.Now(50000)
			m.dropRow(keys.Ref(9, 4))
			final(m, 1000+d.Quiesce)
		}},
		{"the tombstone goes in time", "", func(m *model) { bury(m); final(m, 1000+least); m.judge.Now(1000 + least); m.dropRow(keys.Stream(9)) }},
		{"the tombstone goes too soon", "the tombstone went", func(m *model) {
			bury(m)
			final(m, 1000+least)
			m.judge.Now(1000 + least - 1)
			m.dropRow(keys.Stream(9))
		}},
		{"the tombstone goes without a final walk", "no final walk", func(m *model) { bury(m); m.judge.Now(1 << 40); m.dropRow(keys.Stream(9)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var found []Breach
			for _, b := range passing(t, 1000, 8, c.do) {
				if strings.Contains(b.What, "final walk") || strings.Contains(b.What, "tombstone went") {
					found = append(found, b)
				}
			}
			say(t, found, c.what)
		})
	}
}

// TestRetentionComesBack: while no row of a stream stands, retention comes back once
// a policy, from its own date on.
func TestRetentionComesBack(t *testing.T) {
	arm := func(m *model, at core.Ms, x format.RetentionMark) {
		for k := range m.w.rows {
			if strings.HasPrefix(k, "due/retention/") {
				m.dropRow(k)
			}
		}
		m.put(keys.DueRetention(keys.ShardOfStream(9, m.w.d.Shards), at, 9), x.Encode())
	}
	rowless := func(m *model) {
		m.dropRow(keys.Ref(9, 4))
		m.dropRow(keys.Ref(9, 8))
		arm(m, 5000, format.RetentionMark{}) // of a pass that has seen the rows go
		m.judge.Now(5000)
	}
	for _, c := range []struct {
		name, what string
		do         func(m *model)
	}{
		{"a policy later", "", func(m *model) { rowless(m); arm(m, 6000, format.RetentionMark{}) }},
		{"sooner", "is due again 999 ms later", func(m *model) { rowless(m); arm(m, 5999, format.RetentionMark{}) }},
		{"at once, for it has failed", "", func(m *model) { rowless(m); arm(m, 5001, format.RetentionMark{Attempts: 1}) }},
		{"by another policy", "", func(m *model) { rowless(m); arm(m, 5001, format.RetentionMark{Policy: 1}) }},
		{"while a row stands", "", func(m *model) {
			arm(m, 5000, format.RetentionMark{})
			m.judge.Now(5000)
			arm(m, 5001, format.RetentionMark{})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(sound())
			m.judge.Now(1000)
			c.do(m)
			var found []Breach
			for _, b := range m.judge.Check() {
				if b.Law == 8 {
					found = append(found, b)
				}
			}
			say(t, found, c.what)
		})
	}
}
