package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// Era settles a contiguous run of one chain's ripe batch markers: it moves the
// transit bytes of every stream that they name into settled objects, so that the
// slots can go (specification, duties: Settle rewrite; docs/protocols.md, section
// 5). One era runs on a chain at a time, under the chain's lease, which every
// commit compares.
//
// It resolves its markers itself. Done also means that this one was left standing
// for another's sake or for later: the chain is leased elsewhere, or the
// checkpoint does not cover it yet.
type Era struct {
	step    eraStep
	call    core.Call
	chain   protocol.Chain
	con     core.Mark // the chain's constants
	lease   core.Mark
	attempt string // the lease's value, if it is ours
	begun   core.Ms
	run     []core.Row // markers, in slot order; immutable
	k       int        // the one under way
	covered []reached  // streams that this era is through with, ascending; immutable
	batch   batch
	out     core.Verdict
	why     string
}

// reached says how far a stream is done with, or goes: the sequence number after
// the last.
type reached struct {
	id         uint64
	first, end uint64
}

type eraStep uint8

const (
	eraConst eraStep = iota
	eraHead
	eraLease
	eraHolder
	eraTake
	eraGather
	eraBatch
	eraClose
	eraExtend
	eraRelease
)

// Reason says why the era ended Broken, for the operator.
func (d *Era) Reason() string { return d.why }

// Step runs the duty for a marker of due/denorm.
func (d *Era) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	for {
		switch d.step {
		case eraConst: // The chain's constants: its bucket set.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.ChainConst(due.Star, due.Epoch)) })
			if !ok {
				return core.Working
			}
			if v := d.open(t, r, due); v != core.Working {
				return v
			}
		case eraHead: // A marker that is not wholly below the checkpoint is skipped (gap 14): its rows are still being written.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.ChainHead(due.Star, due.Epoch)) })
			if !ok {
				return core.Working
			}
			if v := d.below(t, r); v != core.Working {
				if d.finish(v); d.lease.Rev == 0 {
					return d.out
				}
			}
		case eraLease: // One era a chain, fleet-wide; none where the chain has been reaped since.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				d.attempt = e.Attempt(t)
				d.lease.Key = keys.ChainLease(due.Star, due.Epoch)
				return core.Txn(core.Missing(d.lease.Key), core.If(d.con), core.PutLeased(d.lease.Key, d.attempt))
			})
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
				d.lease.Rev, d.step = r.Rev, eraGather
			case core.Conflict, core.Unknown:
				d.step = eraHolder
			default:
				return core.Again
			}
		case eraHolder: // Who holds it? A lease of this very process is a claim whose answer was lost, or whose release was; one that is older than any job is another's.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(d.lease.Key) })
			if !ok {
				return core.Working
			}
			switch {
			case r.Outcome == core.OK && (holder(r.Val) == e.Process || e.Abandoned(t, r.Val)):
				d.lease.Rev, d.step = r.Rev, eraTake
			case r.Outcome == core.OK:
				t.Note(core.NoteEraSkipped, 1)
				return core.Done
			default:
				return core.Again
			}
		case eraTake: // It is taken over by writing it anew: what an earlier era has in flight then fails its compare.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Txn(core.If(d.lease), core.PutLeased(d.lease.Key, d.attempt)) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			d.lease.Rev, d.step = r.Rev, eraGather
		case eraGather: // The contiguous run of ripe markers from this one on.
			n := e.Dials.MarkersPerEra - len(d.run)
			if n <= 0 {
				d.step = eraBatch
				continue
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.behind(e, due, n) })
			if !ok {
				return core.Working
			}
			if r.Outcome == core.OK {
				d.run = ripeRun(d.run, r.Rows, t.Now, -1)
			}
			d.step = eraBatch
		case eraBatch: // 1 to 3. Judge, warm, settle.
			if v := d.batch.step(t, e, d); v != core.Working {
				d.finish(v)
				if v == core.Done {
					d.step = eraClose
				}
				continue
			}
			return core.Working
		case eraClose: // 4. Close the marker: resolve it, or leave its residue to the age cap.
			if d.batch.stays() {
				d.next()
				continue
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.close(t.Now, e, due) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				d.finish(core.Again)
				continue
			}
			d.next()
		case eraExtend: // Markers that ripened while the job ran, for at most half its deadline.
			if d.k < len(d.run) {
				d.step = eraHead
				continue
			}
			if !d.call.Sent() && t.Now-d.begun >= e.Dials.JobDeadline/2 {
				d.step = eraRelease
				continue
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.behind(e, due, 1) })
			if !ok {
				return core.Working
			}
			if r.Outcome == core.OK {
				d.run = ripeRun(d.run, r.Rows, t.Now, d.begun)
			}
			if d.step = eraHead; d.k >= len(d.run) {
				d.step = eraRelease
			}
		case eraRelease:
			_, ok := d.call.AwaitFunc(t, func() core.Op { return core.Txn(core.If(d.lease), core.Del(d.lease.Key)) })
			if !ok {
				return core.Working
			}
			return d.out // an answer that is lost leaves a lease that this process takes over
		}
	}
}

// open takes the chain's constants.
func (d *Era) open(t core.Turn, r *core.Reply, due *Due) core.Verdict {
	switch r.Outcome {
	case core.OK:
	case core.Absent:
		d.why = "the chain's record is gone, and its batch marker stands"
		return core.Broken
	default:
		return core.Again
	}
	c, err := format.DecodeChainConst(r.Val)
	if err != nil {
		d.why = err.Error()
		return core.Broken
	}
	d.chain, d.con = protocol.Chain{Star: due.Star, Epoch: due.Epoch, Const: c}, r.Row(keys.ChainConst(due.Star, due.Epoch)).Mark
	d.run, d.begun, d.out, d.step = []core.Row{due.Row}, t.Now, core.Done, eraHead
	return core.Working
}

// below begins the marker under way, if the checkpoint covers all of it.
func (d *Era) below(t core.Turn, r *core.Reply) core.Verdict {
	if r.Outcome != core.OK {
		return core.Again
	}
	h, err := format.DecodeChainHead(r.Val)
	if err != nil {
		d.why = err.Error()
		return core.Broken
	}
	m, err := format.DecodeBatchMark(d.run[d.k].Val)
	if err != nil {
		d.why = err.Error()
		return core.Broken
	}
	if m.End() > h.Checkpoint {
		t.Note(core.NoteEraNotBelow, 1)
		return core.Done
	}
	d.batch = batch{mark: m}
	if d.step = eraBatch; d.lease.Rev == 0 {
		d.step = eraLease
	}
	return core.Working
}

// finish ends the era with a verdict. That of a marker behind the job's own is
// not the job's: that marker stands, and has a schedule row that brings it back.
func (d *Era) finish(v core.Verdict) {
	if d.k == 0 {
		d.out = v
	}
	d.step = eraRelease
}

// next goes on to the next marker of the run, or beyond it.
func (d *Era) next() {
	d.covered, d.batch, d.k, d.step = d.batch.through(d.covered), batch{}, d.k+1, eraExtend
}

// behind scans the markers behind the run's last. What continues it begins where
// its inventory ends, or within as many batches as are wanted: the range has a
// near end, for a chain may hold a day's markers.
func (d *Era) behind(e *core.Env, due *Due, n int) core.Op {
	last := &d.run[len(d.run)-1]
	end := due.Slot
	if m, err := format.DecodeBatchMark(last.Val); err == nil {
		end = m.End()
	}
	return core.Scan(last.Key+"\x00", keys.DueDenorm(due.Shard, due.Star, due.Epoch, end+uint64(n*e.Dials.SettleBatch)), n)
}

// ripeRun appends the markers that are ripe, up to the first that is not, and
// that ripened after a time.
func ripeRun(run, rows []core.Row, now, after core.Ms) []core.Row {
	run = run[:len(run):len(run)]
	for i := range rows {
		m, err := format.DecodeBatchMark(rows[i].Val)
		if err != nil || m.Parked || m.Ready > now || m.Ready <= after {
			break
		}
		run = append(run, rows[i])
	}
	return run
}

// holder is the process that a lease's value names: an attempt is the process, a
// path and a time.
func holder(attempt string) string {
	cut := 0
	for i := len(attempt) - 1; i >= 0; i-- {
		if attempt[i] != '/' {
			continue
		}
		if cut++; cut == 2 {
			return attempt[:i]
		}
	}
	return ""
}

// close is the transaction that closes the marker under way: what settled
// everything arms the chain's trim-check, and goes; what left residue comes back
// at its age cap.
func (d *Era) close(now core.Ms, e *core.Env, due *Due) core.Op {
	row, m := d.run[d.k], &d.batch.mark
	k, _ := keys.ParseDue(row.Key)
	sched := func(at core.Ms) string { return keys.SchedDenorm(k.Shard, at, k.Star, k.Epoch, k.Slot) }
	ws := []core.Write{core.If(row.Mark), core.If(d.lease)}
	if d.batch.residue || d.batch.cut {
		next := plan.Residue(&e.Dials, *m)
		next.Attempts = 0
		return core.Txn(reschedule(append(ws, core.Put(row.Key, next.Encode())), sched(m.Ready), sched(next.Ready), "")...)
	}
	return core.Txn(append(ws, core.Del(row.Key), core.Del(sched(m.Ready)),
		core.Put(keys.DueTrimCheck(due.Shard, e.Dials.GraceEnd(now), due.Star, due.Epoch), format.TrimMark{}.Encode()))...)
}
