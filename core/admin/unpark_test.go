package admin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/plain"
)

func TestUnparkIsPlain(t *testing.T) {
	if err := plain.Check(reflect.TypeOf(Unpark{})); err != nil {
		t.Error(err)
	}
}

// parkedRow is one parked marker as its drain leaves it.
type parkedRow struct {
	q      keys.Queue
	marker string
	flag   string // the due row that stays: of denorm and orphan
	value  string // what is in the parked row
}

func (p *parkedRow) park() string { return keys.Park(p.q, p.marker) }

const failedThrice = format.Attempts(3<<12 | 3)

// parkedRows is a parked marker of every queue.
func parkedRows(now core.Ms) []parkedRow {
	object := keys.Settled{Bucket: "b", Stream: 5, Epoch: 1, HasInc: true, Inc: keys.Incarnation{Generation: 1, Created: 3}}.Key()
	batch := format.BatchMark{Attempts: failedThrice, Birth: now - 5, Ready: now - 1, Slots: []format.Inventory{{Slot: 4}}}
	flagged := batch
	flagged.Parked = true
	intent := format.Intent{Store: "std-a", Birth: now - 9, Attempt: "a", Generation: 1}.Encode()
	return []parkedRow{
		{keys.Teardown, keys.DueTeardown(0, now-1, 5, true), "", format.TeardownMark{Attempts: failedThrice, DeletedAt: 9}.Encode()},
		{keys.Settle, keys.DueSettle(0, now-1, "s", 5), "", format.SettleMark{Attempts: failedThrice}.Encode()},
		{keys.Retention, keys.DueRetention(0, now-1, 5), "", format.RetentionMark{Attempts: failedThrice, Policy: 2}.Encode()},
		{keys.Reap, keys.DueReap(0, now-1, object), "", format.ReapMark{Attempts: failedThrice, Confirmed: true}.Encode()},
		{keys.TrimCheck, keys.DueTrimCheck(0, now-1, "s", 5), "", format.TrimMark{Attempts: failedThrice}.Encode()},
		{keys.GC, keys.DueGC(0, 77, object), "", format.ReapMark{Attempts: failedThrice, NotBefore: now + 99999, Dead: 77}.Encode()},
		{keys.Denorm, keys.DueDenorm(0, "s", 5, 4), flagged.Encode(), batch.Encode()},
		{keys.Orphan, keys.DueOrphan(0, object), intent, intent},
	}
}

func parkAll(r *rig, ps []parkedRow) {
	r.unjudged = true // the markers watch nothing
	for _, p := range ps {
		r.put(p.park(), format.Parked{Reason: "why", At: r.now, Value: p.value}.Encode())
		if p.flag != "" {
			r.put(p.marker, p.flag)
		}
	}
}

// unpark runs the verb to its end.
func (r *rig) unpark(o Unparking) (*Unpark, core.Verdict) {
	u, v, p := r.unparker(o)
	r.until("the end of the unparking", func() bool { return p.done })
	return u, *v
}

func (r *rig) unparker(o Unparking) (*Unpark, *core.Verdict, *rigProc) {
	u, v := &Unpark{}, new(core.Verdict)
	p := r.start("operator", func(p *rigProc) func(core.Turn) bool {
		return func(t core.Turn) bool {
			*v = u.Step(t, &p.env, &o)
			return *v != core.Working
		}
	})
	return u, v, p
}

func (r *rig) keys(prefix string) (ks []string) {
	for i := range r.w.Meta.Len() {
		if k := r.w.Meta.Row(i).Key; strings.HasPrefix(k, prefix) {
			ks = append(ks, k)
		}
	}
	return ks
}

// back reports whether the marker is where its drain looks for it, ripe at a time
// and with no failures.
func (p *parkedRow) back(r *rig, now core.Ms) error {
	val, ok := r.row(p.marker)
	if !ok {
		return fmt.Errorf("no marker %s", p.marker)
	}
	ripe := false
	for shard := range r.dials.Shards {
		until := now
		if p.q == keys.Orphan {
			until -= r.dials.OrphanGrace
		}
		from, end := keys.RipeRange(p.q, shard, until)
		for i := range r.w.Meta.Len() {
			k := r.w.Meta.Row(i).Key
			ripe = ripe || k >= from && k < end
		}
	}
	if !ripe {
		return fmt.Errorf("marker %s is not ripe at %d", p.marker, now)
	}
	var a format.Attempts
	switch p.q {
	case keys.Teardown:
		m, err := format.DecodeTeardownMark(val)
		if a = m.Attempts; err != nil || m.DeletedAt != 9 {
			return fmt.Errorf("%+v: %w", m, err)
		}
	case keys.Retention:
		m, err := format.DecodeRetentionMark(val)
		if a = m.Attempts; err != nil || m.Policy != 2 {
			return fmt.Errorf("%+v: %w", m, err)
		}
	case keys.Reap, keys.GC:
		m, err := format.DecodeReapMark(val)
		if a = m.Attempts; err != nil || m.Confirmed != (p.q == keys.Reap) || m.NotBefore != 0 {
			return fmt.Errorf("%+v: %w", m, err)
		}
	case keys.Denorm:
		m, err := format.DecodeBatchMark(val)
		if a = m.Attempts; err != nil || m.Parked || m.Ready != now && len(r.keys("sched/denorm/")) != 1 {
			return fmt.Errorf("%+v: %w", m, err)
		}
	case keys.TrimCheck:
		m, err := format.DecodeTrimMark(val)
		if a = m.Attempts; err != nil {
			return err
		}
	case keys.Settle:
		m, err := format.DecodeSettleMark(val)
		if a = m.Attempts; err != nil {
			return err
		}
	}
	if a != 0 {
		return fmt.Errorf("marker %s has its failures still: %d", p.marker, a)
	}
	return nil
}

// G8: an operator puts parked markers back: of every queue, of one, or one.
func TestUnpark(t *testing.T) {
	r := newRig(t)
	ps := parkedRows(r.now)
	parkAll(r, ps)
	u, v := r.unpark(Unparking{})
	if v != core.Done || u.PutBack != int64(len(ps)) || u.Moot+u.Stays != 0 || len(r.keys("park/")) != 0 {
		t.Fatalf("%s %+v, left %v", v, u, r.keys("park/"))
	}
	for _, p := range ps {
		if err := p.back(r, r.now); err != nil {
			t.Errorf("%s: %v", p.q, err)
		}
	}
	for name, o := range map[string]Unparking{
		"by queue":      {OneQueue: true, Queue: keys.Reap},
		"by marker":     {Key: ps[3].marker},
		"by parked row": {Key: ps[3].park()},
	} {
		r := newRig(t)
		parkAll(r, ps)
		u, v := r.unpark(o)
		if v != core.Done || u.PutBack != 1 || len(r.keys("park/")) != len(ps)-1 || ps[3].back(r, r.now) != nil {
			t.Errorf("%s: %s %+v, %v", name, v, u, r.keys("park/"))
		}
	}
	if u, v := r.unpark(Unparking{Key: "due/none"}); v != core.Done || u.PutBack+u.Moot+u.Stays != 0 {
		t.Errorf("of nothing: %s %+v", v, u)
	}
}

// A marker that was armed since keeps its value; a flag that is gone is not put
// back; what does not decode stays parked and is named.
func TestUnparkOfWhatHasMovedOn(t *testing.T) {
	r := newRig(t)
	ps := parkedRows(r.now)
	parkAll(r, ps)
	fresh := format.ReapMark{Dead: 5}.Encode()
	r.put(ps[3].marker, fresh)
	unflagged := format.BatchMark{Birth: 1, Ready: 2, Slots: []format.Inventory{{Slot: 4}}}.Encode()
	r.put(ps[6].marker, unflagged)
	op := core.Txn(core.Del(ps[7].marker))
	r.land(&op, "")
	r.put(ps[0].park(), format.Parked{Reason: "the marker does not decode", Value: "\xff"}.Encode())
	r.put("park/reap/nonsense", "?")
	u, v := r.unpark(Unparking{})
	if v != core.Done || u.PutBack != 4 || u.Moot != 3 || u.Stays != 2 || len(u.Stuck) != 2 {
		t.Errorf("%s %+v", v, u)
	}
	if left := r.keys("park/"); !slices.Equal(left, []string{"park/reap/nonsense", ps[0].park()}) {
		t.Errorf("parked: %v", left)
	}
	if got, _ := r.row(ps[3].marker); got != fresh {
		t.Error("the later arming was overwritten")
	}
	if got, _ := r.row(ps[6].marker); got != unflagged || len(r.keys("sched/denorm/")) != 0 {
		t.Error("the batch that an absorb took up was changed")
	}
	if _, ok := r.row(ps[7].marker); ok || len(r.keys("sched/orphan/")) != 0 {
		t.Error("an intent that was relieved is back")
	}
}

// Cut, told nothing, or raced by a second operator at every effect: a watcher
// stands at every instant, and another run finishes.
func TestUnparkConvergesAfterEveryCut(t *testing.T) {
	for how := range cuts {
		for k := 0; ; k++ {
			r := newRig(t)
			ps := parkedRows(r.now)
			parkAll(r, ps)
			watched := func(*core.Op) {
				for _, p := range ps {
					_, parked := r.row(p.park())
					if !parked && p.back(r, r.now+1) != nil {
						t.Fatalf("%s effect %d: nothing watches for %s", how, k, p.marker)
					}
				}
			}
			r.seen = watched
			_, v, p := r.unparker(Unparking{})
			struck, late := r.cutAt(p, k, how)
			if !struck {
				if k < 12 {
					t.Fatalf("%s: only %d effects", how, k)
				}
				break
			}
			r.now++ // the next put has another time
			_, v2 := r.unpark(Unparking{})
			if late != nil {
				r.land(late, "")
			}
			r.until("both ended", func() bool { return p.done })
			if v2 != core.Done || len(r.keys("park/")) != 0 {
				t.Fatalf("%s effect %d: %s then %s, parked %v", how, k, *v, v2, r.keys("park/"))
			}
			watched(nil)
			if n := len(r.keys("sched/")); n != 2 {
				t.Fatalf("%s effect %d: %d schedule rows: %v", how, k, n, r.keys("sched/"))
			}
		}
	}
}

// Without space nothing is put back, and it says so.
func TestUnparkWithoutSpace(t *testing.T) {
	r := newRig(t)
	ps := parkedRows(r.now)
	parkAll(r, ps)
	r.deny = func(_ *rigProc, op *core.Op) (core.Outcome, bool) { return core.NoSpace, op.Kind == core.KTxn }
	u, v := r.unpark(Unparking{})
	if v != core.Done || u.PutBack != 0 || u.Stays != int64(len(ps)) || !strings.Contains(u.Stuck[0].Why, "no-space") || len(r.keys("park/")) != len(ps) {
		t.Errorf("%s %+v", v, u)
	}
	r.deny = func(_ *rigProc, op *core.Op) (core.Outcome, bool) { return core.Unknown, op.Kind == core.KScan }
	if u, v := r.unpark(Unparking{}); v != core.Again || u.PutBack != 0 {
		t.Errorf("of a page that cannot be read: %s %+v", v, u)
	}
}
