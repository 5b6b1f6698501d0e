package law

import (
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// TestDeletions: an object goes no sooner than one read grace after the last ref
// that named it, whoever deletes it; one that was never named may go at once.
func TestDeletions(t *testing.T) {
	retire := func(m *model) { // of the settled object: the watermark passes it
		m.setRow(core.Row{Mark: core.Mark{Key: keys.Trim(9), Rev: 900}, Val: format.EncodeNumber(5)})
	}
	grace := core.Spec().ReadGrace - core.Spec().Skew
	for _, c := range []struct {
		name string
		do   func(m *model)
		what string // "": lawful
	}{
		{"a live object", func(m *model) { m.dropObject(m.w.obj(tailAt)) }, "while a live ref named it"},
		{"a live slot", func(m *model) { m.dropObject(m.w.slotObj("a", 3, 3)) }, "while a live ref named it"},
		{"what was never named", func(m *model) { m.dropObject(m.w.obj(oldAt)) }, ""},
		{"a slot that no ref names", func(m *model) { m.dropObject(m.w.slotObj("a", 3, 1)) }, ""},
		{"right after its death", func(m *model) { retire(m); m.judge.Now(1001); m.dropObject(m.w.obj(tailAt)) }, "1 ms after its last death"},
		{"in one step with its death", func(m *model) { retire(m); m.dropObject(m.w.obj(tailAt)) }, "0 ms after its last death"},
		{"just before the grace is over", func(m *model) { retire(m); m.judge.Now(1000 + grace - 1); m.dropObject(m.w.obj(tailAt)) }, "after its last death"},
		{"once the grace is over", func(m *model) { retire(m); m.judge.Now(1000 + grace); m.dropObject(m.w.obj(tailAt)) }, ""},
		{"by the deletion of its stream", func(m *model) {
			m.setRow(core.Row{Mark: core.Mark{Key: keys.Stream(9), Rev: 900}, Val: format.Stream{Bucket: "b", Name: "n", Deleted: true}.Encode()})
			m.judge.Now(2000)
			m.dropObject(m.w.slotObj("b", 3, 2))
		}, "1000 ms after its last death"},
		{"alive again in between", func(m *model) { // another ref names it before the grace is over
			r := m.w.rows[keys.Ref(9, 4)]
			m.dropRow(r.Key)
			m.judge.Now(1000 + grace - 1)
			m.setRow(r)
			m.judge.Now(1000 + grace)
			m.dropRow(r.Key)
			m.judge.Now(1000 + grace + 5)
			m.dropObject(m.w.obj(tailAt))
		}, "5 ms after its last death"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(sound())
			m.judge.Now(1000)
			c.do(m)
			var early []Breach
			for _, b := range m.judge.Check() {
				if b.Law == 4 {
					early = append(early, b)
				}
			}
			switch {
			case c.what == "" && len(early) > 0:
				t.Errorf("found %v", early)
			case c.what != "" && (len(early) != 1 || !strings.Contains(early[0].What, c.what)):
				t.Errorf("found %v, want %q", early, c.what)
			}
			if m.judge.Report().Evaluated[4] == 0 {
				t.Error("law 4 was not evaluated")
			}
			for _, b := range m.judge.Check() {
				if b.Law == 4 {
					t.Error("it is said twice")
				}
			}
		})
	}
}

// TestClocksThatAgreeAllowNoSlack: a grace may be short by what the clocks of the run
// are apart, and by no more.
func TestClocksThatAgreeAllowNoSlack(t *testing.T) {
	grace := core.Spec().ReadGrace
	for _, c := range []struct {
		spread, after core.Ms
		early         bool
	}{
		{0, grace - 1, true}, {0, grace, false}, {100, grace - 101, true}, {100, grace - 100, false},
	} {
		m := newModel(sound())
		m.judge.Clocks(c.spread)
		m.judge.Now(1000)
		m.setRow(core.Row{Mark: core.Mark{Key: keys.Trim(9), Rev: 900}, Val: format.EncodeNumber(5)})
		m.judge.Now(1000 + c.after)
		m.dropObject(m.w.obj(tailAt))
		early := false
		for _, b := range m.judge.Check() {
			early = early || b.Law == 4
		}
		if early != c.early {
			t.Errorf("clocks %d ms apart, deleted %d ms after its death: early is %v", c.spread, c.after, early)
		}
	}
}

// TestWrongClocksGiveNoSlack: what one that is off by more than is allowed has dated is
// no excuse.
func TestWrongClocksGiveNoSlack(t *testing.T) {
	d := core.Spec()
	var c Clocks
	for _, x := range []struct{ ahead, spread core.Ms }{
		{-200, 0}, {-300, 100}, {d.Skew + 1, 100}, {-d.Skew - 1, 100}, {10, 310}, {0, 310}, {d.Skew, d.Skew + 300},
	} {
		if c.Run(x.ahead, &d); c.Spread() != x.spread {
			t.Errorf("after a clock that is %d ms ahead they are %d ms apart, want %d", x.ahead, c.Spread(), x.spread)
		}
	}
}

func TestWithoutTimeLaw4IsSilent(t *testing.T) {
	m := newModel(sound())
	m.dropObject(m.w.obj(tailAt))
	if m.judge.Check(); m.judge.Report().Evaluated[4] != 0 {
		t.Error("it was evaluated")
	}
}

// TestLivesAreForgotten: what no ref names and does not stand is not remembered.
func TestLivesAreForgotten(t *testing.T) {
	m := newModel(sound())
	m.judge.Now(1000)
	m.become(empty())
	m.judge.Check()
	j := m.judge
	if n := len(j.lives) + len(j.groups) + len(j.chains) + len(j.deposits) + len(j.objects) + len(j.rows); n != 0 {
		t.Errorf("%d lives, %d groups, %d chains, %d chunks, %d objects, %d rows are remembered of an empty world",
			len(j.lives), len(j.groups), len(j.chains), len(j.deposits), len(j.objects), len(j.rows))
	}
}

// TestBytesMayNotChange: an object that stands is put again with other bytes.
func TestBytesMayNotChange(t *testing.T) {
	m := newModel(sound())
	o := m.w.obj(oldAt)
	m.setObject(o, m.w.bodies[o])
	if bs := m.judge.Check(); len(bs) > 0 {
		t.Errorf("the same bytes again: %v", bs)
	}
	body, _, _ := build(format.SettledObject, []chunk{{9, 0, 3}})
	m.setObject(o, body)
	if bs := m.judge.Check(); len(bs) != 1 || bs[0].Law != 6 {
		t.Errorf("other bytes: %v", bs)
	}
}
