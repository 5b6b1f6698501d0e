package admin

import (
	"slices"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// writes reports whether an operation is a transaction that puts a key.
func writes(op *core.Op, key string) bool {
	return op.Kind == core.KTxn && slices.ContainsFunc(op.Txn, func(w core.Write) bool { return w.At.Key == key && w.Verb == core.VPut })
}

// The star comes back between the gate and the record, and stays, or closes again
// and leaves an epoch behind: the record is not written over either.
func TestTheStarComesBackBeforeTheRecord(t *testing.T) {
	for _, closes := range []bool{false, true} {
		r := newRig(t)
		a, b := drained(r)
		r.decommission(Order{Star: "s1"}) // settles
		r.rest(r.dials.RequestLife)
		back := (*serving)(nil)
		r.deny = func(p *rigProc, op *core.Op) (core.Outcome, bool) {
			if writes(op, keys.Gone("s1")) && back == nil {
				p.frozen = true
				back = r.star("s1")
				back.open(a)
				if closes {
					back.close()
				}
				p.frozen = false
			}
			return 0, false
		}
		d, v := r.decommission(Order{Star: "s1"})
		want := NotDrained
		if closes {
			want = Unsettled
		}
		if back == nil || v != core.Again || !slices.Equal(r.reasons(d), []Reason{want}) || d.Report.Phase != 0 {
			r.fail("closes=%v: %s %+v", closes, v, d.Report)
		}
		r.deny = nil
		if !closes {
			back.close()
		}
		r.auditor()
		d, v = r.decommission(Order{Star: "s1", Wait: true})
		r.finished(d, v, a, b)
	}
}

// It has registered, and not minted yet: the record compares the registration.
func TestTheStarRegistersBeforeTheRecord(t *testing.T) {
	r := newRig(t)
	drained(r)
	r.decommission(Order{Star: "s1"})
	r.rest(r.dials.RequestLife)
	r.deny = func(_ *rigProc, op *core.Op) (core.Outcome, bool) {
		if writes(op, keys.Gone("s1")) {
			r.put(keys.Star("s1"), "another process")
		}
		return 0, false
	}
	if d, v := r.decommission(Order{Star: "s1"}); v != core.Again || !slices.Equal(r.reasons(d), []Reason{NotDrained}) || d.Report.Phase != 0 {
		r.fail("%s %+v", v, d.Report)
	}
}

// A record that stands over a chain which is not settled (nobody writes one) lets
// nothing go all the same.
func TestNoUnsettledChainIsReaped(t *testing.T) {
	r := newRig(t)
	epoch := uint64(4)
	shard := keys.ShardOfChain("s1", epoch, r.dials.Shards)
	head := format.ChainHead{State: format.ChainSwept, CutAt: r.now, SweptAt: r.now}
	r.txn(core.Put(keys.ChainConst("s1", epoch), format.ChainConst{Stores: r.stores.Of[0], Pipeline: 2}.Encode()),
		core.Put(keys.ChainHead("s1", epoch), head.Encode()), core.Put(keys.ChainTrim("s1", epoch), format.ChainTrim{}.Encode()),
		core.Put(keys.DueSettle(shard, r.now+r.dials.RequestLife, "s1", epoch), format.SettleMark{}.Encode()))
	reaped(r)
	if d, v := r.decommission(Order{Star: "s1"}); v != core.Again || !slices.Equal(r.reasons(d), []Reason{Untrimmed}) || d.Report.Resolved != 0 {
		t.Fatalf("%s %+v", v, d.Report)
	}
	r.auditor()
	if d, v := r.decommission(Order{Star: "s1", Wait: true}); v != core.Done || d.Report.Reaped != 1 {
		t.Fatalf("%s %+v", v, d.Report)
	}
}

// through is a rig whose star's one chain has nothing left to do, and stands.
func through(r *rig) (epoch uint64, shard int) {
	epoch = 4
	r.txn(core.Put(keys.ChainConst("s1", epoch), format.ChainConst{Stores: r.stores.Of[0], Pipeline: 2}.Encode()),
		core.Put(keys.ChainHead("s1", epoch), format.ChainHead{State: format.ChainSettled, Checkpoint: 3, Cut: 3}.Encode()),
		core.Put(keys.ChainTrim("s1", epoch), format.ChainTrim{Trimmed: 3, Rewritten: 3}.Encode()))
	reaped(r)
	return epoch, keys.ShardOfChain("s1", epoch, r.dials.Shards)
}

func (r *rig) onlyTheRecord(d *Decommission, v core.Verdict) {
	r.t.Helper()
	if ks := r.keysOf("s1"); v != core.Done || !slices.Equal(ks, []string{keys.Gone("s1")}) {
		r.fail("%s %+v left %v", v, d.Report, ks)
	}
}

// Leases that a living process has forgotten, and markers that would ripen in a
// hundred years, parked ones too, go with the record. What names another star
// stays.
func TestWhatStandsOfTheStarGoes(t *testing.T) {
	r := newRig(t)
	epoch, shard := through(r)
	r.start("forgetful", func(*rigProc) func(core.Turn) bool {
		var c, w core.Call
		put := false
		return func(t core.Turn) bool {
			if !put {
				_, put = c.Await(t, core.Txn(core.PutLeased(keys.ChainLease("s1", epoch), "x"), core.PutLeased(keys.SettleClaim("s1", epoch), "x")))
			}
			if put {
				w.Await(t, core.Wait(1<<60))
			}
			return false
		}
	})
	mark := format.SettleMark{}.Encode()
	others := []string{keys.DueSettle(keys.ShardOfChain("s10", 4, r.dials.Shards), 5, "s10", 4)}
	for i := range core.Ms(7) {
		others = append(others, keys.DueTrimCheck(keys.ShardOfChain("t", uint64(i), r.dials.Shards), 10+i, "t", uint64(i)))
		r.put(keys.DueSettle(shard, r.now+i<<40, "s1", epoch), mark)
		r.put(keys.DueTrimCheck(shard, r.now+i<<40, "s1", epoch), format.TrimMark{}.Encode())
		for _, key := range []string{keys.DueSettle(shard, i, "s1", epoch), keys.DueTrimCheck(shard, i, "s1", epoch)} {
			d, _ := keys.ParseDue(key)
			r.put(keys.Park(d.Queue, key), format.Parked{Reason: "it fails"}.Encode())
		}
	}
	for _, k := range others {
		val := mark
		if d, _ := keys.ParseDue(k); d.Queue == keys.TrimCheck {
			val = format.TrimMark{}.Encode()
		}
		r.put(k, val)
	}
	d, v := r.decommission(Order{Star: "s1", Wait: true})
	r.onlyTheRecord(d, v)
	if d.Report.Resolved != 28 {
		t.Errorf("%d markers were resolved", d.Report.Resolved)
	}
	for _, k := range others {
		if _, ok := r.row(k); !ok {
			t.Errorf("%s is gone", k)
		}
	}
}

// A duty moves a marker on while the walk has it in hand: it is met at its new
// place, within the page as well. And one that a duty puts back after the records
// went is resolved by the last walk.
func TestMarkersThatMove(t *testing.T) {
	r := newRig(t)
	epoch, shard := through(r)
	r.dials.ScanPage = 5
	key := func(at core.Ms) string { return keys.DueSettle(shard, at, "s1", epoch) }
	val := format.SettleMark{}.Encode()
	for _, at := range []core.Ms{1, 2, 3, 9} {
		r.put(key(at), val)
	}
	moved, late := 0, false
	r.deny = func(_ *rigProc, op *core.Op) (core.Outcome, bool) {
		if op.Kind == core.KTxn && len(op.Txn) == 2 && op.Txn[1].Verb == core.VDel && op.Txn[1].At.Key == key(core.Ms(1+moved)) && moved < 2 {
			moved++
			r.txn(core.Del(op.Txn[1].At.Key), core.Put(key(4+core.Ms(moved)), val))
		}
		return 0, false
	}
	r.seen = func(op *core.Op) {
		if _, ok := r.row(keys.ChainConst("s1", epoch)); !ok && !late {
			if n := r.count("due/settle/"); n > 0 {
				r.fail("the record went under %d markers", n)
			}
			late = true
			r.put(key(r.now+7), val)
		}
	}
	d, v := r.decommission(Order{Star: "s1", Wait: true})
	r.onlyTheRecord(d, v)
	if moved != 2 || !late || d.Report.Resolved != 5 {
		t.Errorf("%d moved, %+v", moved, d.Report)
	}
}

// The force-drain ripens what the armed clocks hold back, not what backs off.
func TestRipenLeavesTheBackoff(t *testing.T) {
	r := newRig(t)
	drained(r)
	r.decommission(Order{Star: "s1"})
	r.rest(r.dials.RequestLife)
	failing := r.first("due/denorm/")
	d, _ := keys.ParseDue(failing)
	val, _ := r.row(failing)
	m, _ := format.DecodeBatchMark(val)
	was := keys.SchedDenorm(d.Shard, m.Ready, d.Star, d.Epoch, d.Slot)
	m.Attempts, m.Ready = 3, r.now+5000
	r.txn(core.Put(failing, m.Encode()), core.Del(was), core.Put(keys.SchedDenorm(d.Shard, m.Ready, d.Star, d.Epoch, d.Slot), ""))
	n := r.count("due/denorm/")
	rep, v := r.decommission(Order{Star: "s1"})
	if got, _ := r.row(failing); got != m.Encode() || v != core.Again || rep.Report.Ripened != int64(n-1) {
		t.Errorf("%s %+v of %d markers", v, rep.Report, n)
	}
	for i := range rep.Report.Blockers {
		if b := &rep.Report.Blockers[i]; b.Key == failing && b.Until != m.Ready {
			t.Errorf("it is said to be ripe at %d, not %d", b.Until, m.Ready)
		}
	}
}
