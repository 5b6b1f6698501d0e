package admin

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Order is what the operator asks for.
type Order struct {
	Star     string
	Force    bool // do not ask whether the star is drained; its chains then settle by the settle duty's own judgment
	CoolDown bool // let the armed clocks drain the denorm schedule, instead of ripening it
	Wait     bool // wait for what is in the way, instead of ending with the list of it
}

// Decommission takes a star out of use for good (specification, duties: What is
// not a duty): it settles the drained star's chains, gates on every epoch settled,
// writes the irrevocable record, ripens the star's denorm schedule, reaps its
// chain records, and sweeps its chain prefix. Everything derives from what stands:
// cut anywhere and run again, by whomever, it goes on.
//
// The order keeps the promise at every gap. No record of a chain goes while a slot
// below its cut still stands, whether it owes its rewrite or its grace (gap 18).
// Once a chain has no record, the irrevocable one is what watches the prefix,
// until both sweeps, one request lifetime apart, have found what came back there.
//
// Done: the star is decommissioned; no key but the irrevocable record names it.
// Again: it does not go on; Report says what is in the way (never with Order.Wait,
// but for a star that is not drained). Broken: something has to be restored first,
// or there is no such star. Report is valid at any time.
type Decommission struct {
	step    decommissionStep
	call    core.Call
	tries   uint8    // writes of the record in a row that went astray
	record  core.Row // gone/{star}, as read or written
	gone    format.Gone
	alive   bool // the star is registered (with Force only)
	known   bool // something names the star
	mints   core.Results[core.Mark]
	stores  []core.Store // of the cluster and of the star's chains; immutable
	chains  chainWalk
	settles core.Group[settling]
	batches batchWalk
	armed   bool // once a run is enough: open chains were announced to the settle duty
	ripened bool // the same: nothing is armed any more
	intents intentWalk
	markers markerWalk
	reaps   core.Group[core.Call]
	sweep   sweep

	Report Report
}

type decommissionStep uint8

const (
	decomRecord decommissionStep = iota
	decomMints
	decomGuard
	decomSettle
	decomSettling
	decomGate
	decomWrite
	decomRipen
	decomOwed
	decomTrimmed
	decomIntents
	decomMarkers
	decomReap
	decomReaping
	decomSweep
	decomSwept
	decomSweepAgain
	decomLast
	decomFinish
	decomBlocked
	decomDone
)

// Step decommissions a star. The order must not change.
func (d *Decommission) Step(t core.Turn, e *core.Env, o *Order) core.Verdict {
	for {
		switch d.step {
		case decomRecord: // Where does it stand?
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Gone(o.Star)) })
			if !ok {
				return core.Working
			}
			d.readRecord(t, e, o, r)
		case decomMints: // 1. Settle. The newest epochs first: a mint that comes in between fails the record.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				from, end := keys.MintRange(o.Star)
				return core.Scan(from, end, core.Classes)
			})
			if !ok {
				return core.Working
			}
			d.readMints(o, r)
		case decomGuard: // The target must be drained: closed, or dead.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Star(o.Star)) })
			if !ok {
				return core.Working
			}
			d.guard(o, r)
		case decomSettle:
			switch d.chains.next(t, e, o.Star) {
			case core.Working:
				return core.Working
			case core.Done:
				d.step = decomSettling
			default:
				d.stop(d.chains.why, d.chains.bad)
			}
		case decomSettling:
			if !d.settles.Run(t, len(d.chains.page), e.Dials.DrainWidth, func(i int, s *settling, t core.Turn) bool {
				return s.run(t, e, d, o, &d.chains.page[i])
			}) {
				return core.Working
			}
			d.settles, d.step = core.Group[settling]{}, decomSettle
			if !d.chains.more {
				d.chains, d.armed, d.step = chainWalk{}, true, decomGate
			}
		case decomGate: // 2. Gate on every epoch settled.
			switch d.chains.next(t, e, o.Star) {
			case core.Working:
				return core.Working
			case core.Done:
				d.gate(e)
			default:
				d.stop(d.chains.why, d.chains.bad)
			}
		case decomWrite: // 3. The irrevocable record: from here on the name never registers or mints again.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				g := format.Gone{Phase: format.GoneDraining, Since: t.Now, Stores: d.stores}
				ws := []core.Write{core.Missing(keys.Gone(o.Star)), core.Missing(keys.Star(o.Star))}
				for _, m := range d.mints.All() {
					ws = append(ws, core.If(m))
				}
				return core.Txn(append(ws, core.Put(keys.Gone(o.Star), g.Encode()))...)
			})
			if !ok {
				return core.Working
			}
			if r.Outcome == core.OK {
				t.NoteOf(core.NoteStarGone, 1, o.Star)
			}
			d.again(r.Outcome, keys.Gone(o.Star))
		case decomRipen: // 4. Ripen the star's whole denorm schedule, or let the armed clocks drain it.
			if o.CoolDown || d.ripened {
				d.step = decomOwed
				continue
			}
			switch d.batches.ripen(t, e, o.Star, &d.Report) {
			case core.Working:
				return core.Working
			case core.Done:
				d.ripened, d.step = true, decomOwed
			default:
				d.stop(Unanswered, d.batches.bad)
			}
		case decomOwed: // 5. Gate: no slot owes its rewrite …
			switch d.batches.owed(t, e, o.Star, &d.Report) {
			case core.Working:
				return core.Working
			case core.Done:
				d.step = decomTrimmed
			default:
				d.stop(Unanswered, d.batches.bad)
			}
		case decomTrimmed: // … every slot below every cut has had its grace and is gone (gap 18) …
			switch d.chains.next(t, e, o.Star) {
			case core.Working:
				return core.Working
			case core.Done:
				d.trimmed()
			default:
				d.stop(d.chains.why, d.chains.bad)
			}
		case decomIntents: // … and no rewrite of the star's chains is still to be judged.
			switch d.intents.step(t, e, o.Star, &d.Report) {
			case core.Working:
				return core.Working
			case core.Done:
				d.pass(decomMarkers)
			default:
				d.stop(Unanswered, d.intents.bad)
			}
		case decomMarkers: // What stands of the star in the queues has nothing left to do.
			switch d.markers.step(t, e, o.Star, &d.Report) {
			case core.Working:
				return core.Working
			case core.Done:
				d.step = decomReap
			default:
				d.stop(d.markers.why, d.markers.bad)
			}
		case decomReap: // 6. Reap the chain records.
			switch d.chains.next(t, e, o.Star) {
			case core.Working:
				return core.Working
			case core.Done:
				d.step = decomReaping
			default:
				d.stop(d.chains.why, d.chains.bad)
			}
		case decomReaping:
			if !d.reaps.Run(t, len(d.chains.page), e.Dials.DrainWidth, func(i int, c *core.Call, t core.Turn) bool {
				return d.reap(t, c, o, &d.chains.page[i])
			}) {
				return core.Working
			}
			d.reaps, d.step = core.Group[core.Call]{}, decomReap
			if !d.chains.more {
				d.chains = chainWalk{}
				d.pass(decomSweep)
			}
		case decomSweep, decomSweepAgain: // 7. Sweep the prefix: once, and again when nothing can land any more.
			if !d.sweep.step(t, e, o.Star, d.gone.Stores, &d.Report) {
				return core.Working
			}
			unsure := d.sweep.unsure
			d.sweep = sweep{}
			switch {
			case unsure != "":
				d.stop(Unanswered, unsure)
			case d.step == decomSweep:
				d.step = decomSwept
			default:
				d.step = decomLast
			}
		case decomSwept: // The record remembers when.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				g := d.gone
				g.Phase, g.SweptAt = format.GoneSwept, t.Now
				return core.Txn(core.If(d.record.Mark), core.Put(d.record.Key, g.Encode()))
			})
			if !ok {
				return core.Working
			}
			d.again(r.Outcome, d.record.Key)
		case decomLast: // 8. A duty that worked on a marker as the records went may have put it back.
			switch d.markers.step(t, e, o.Star, &d.Report) {
			case core.Working:
				return core.Working
			case core.Done:
				d.step = decomFinish
			default:
				d.stop(d.markers.why, d.markers.bad)
			}
		case decomFinish: // 9. Last of all: what says how far the star had minted.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				g := d.gone
				g.Phase = format.GoneDone
				return core.Txn(core.If(d.record.Mark), core.Put(d.record.Key, g.Encode()),
					core.Del(keys.Mint(o.Star, core.Standard)), core.Del(keys.Mint(o.Star, core.Express)))
			})
			if !ok {
				return core.Working
			}
			if r.Outcome == core.OK {
				t.NoteOf(core.NoteDecommissioned, 1, o.Star)
			}
			d.again(r.Outcome, d.record.Key)
		case decomBlocked: // Something is in the way: say so, or wait and look again.
			if d.Report.stuck() {
				return d.end(core.Broken)
			}
			if !o.Wait || d.alive && !o.Force {
				return d.end(core.Again)
			}
			if _, ok := d.call.AwaitFunc(t, func() core.Op { return core.Wait(d.wake(t, e)) }); !ok {
				return core.Working
			}
			d.restart()
		case decomDone:
			return core.Done
		}
	}
}

// trimmed takes a page of records: each must be settled, and trimmed to its cut.
func (d *Decommission) trimmed() {
	for i := range d.chains.page {
		if c := &d.chains.page[i]; !c.through() {
			d.Report.block(Blocker{Reason: Untrimmed, Key: c.tr.Key})
		}
	}
	if !d.chains.more {
		d.chains = chainWalk{}
		d.pass(decomIntents)
	}
}

// reap deletes one chain's record, and whatever leases stand on the chain: who
// holds one has nothing left to do under it, and loses his next compare.
func (d *Decommission) reap(t core.Turn, c *core.Call, o *Order, x *chain) bool {
	if !c.Sent() && !x.through() {
		d.Report.block(Blocker{Reason: Overtaken, Key: x.tr.Key})
		return true
	}
	r, ok := c.AwaitFunc(t, func() core.Op {
		return core.Txn(core.If(d.record.Mark), core.If(x.con.Mark), core.If(x.head.Mark), core.If(x.tr.Mark),
			core.Del(x.con.Key), core.Del(x.head.Key), core.Del(x.tr.Key),
			core.Del(keys.ChainLease(o.Star, x.epoch)), core.Del(keys.SettleClaim(o.Star, x.epoch)))
	})
	switch {
	case !ok:
		return false
	case r.Outcome == core.OK:
		d.Report.Reaped++
		t.Note(core.NoteChainReaped, 1)
	case r.Outcome == core.Conflict:
		d.Report.block(Blocker{Reason: Overtaken, Key: x.head.Key})
	default:
		d.Report.block(Blocker{Reason: Unanswered, Key: x.head.Key})
	}
	return true
}

func (d *Decommission) beginSweep(step decommissionStep) {
	d.Report.Foreign, d.Report.Named = 0, nil
	d.sweep, d.step = sweep{}, step
}

// pass goes on to a step unless something is in the way.
func (d *Decommission) pass(to decommissionStep) {
	switch {
	case d.Report.Blocked > 0:
		d.step = decomBlocked
	case to == decomSweep:
		d.beginSweep(to)
	default:
		d.step = to
	}
}

// stop ends the pass for a reason.
func (d *Decommission) stop(why Reason, key string) {
	d.Report.block(Blocker{Reason: why, Key: key})
	d.step = decomBlocked
}

// again goes on from a write of the record: from what now stands. A compare that
// failed, or a reply that was lost, is looked into at once, a few times.
func (d *Decommission) again(o core.Outcome, key string) {
	astray := o == core.Conflict || o == core.Unknown
	switch tries := d.tries + 1; {
	case o == core.OK:
		d.restart()
	case astray && tries < recordTries:
		d.restart()
		d.tries = tries
	case o == core.Conflict:
		d.stop(Overtaken, key)
	default:
		d.stop(Unanswered, key)
	}
}

const recordTries = 4

// restart begins the next pass.
func (d *Decommission) restart() {
	rep := d.Report
	rep.Blockers, rep.Blocked = nil, 0
	*d = Decommission{armed: d.armed, ripened: d.ripened, Report: rep}
}

// wake is when to look again.
func (d *Decommission) wake(t core.Turn, e *core.Env) core.Ms {
	at := t.Now + e.Dials.PollEvery
	if until := d.Report.waits(); until != 0 {
		at = min(at, until)
	}
	return max(at, t.Now+e.Dials.BackoffFirst)
}

func (d *Decommission) end(v core.Verdict) core.Verdict {
	rep := d.Report
	*d = Decommission{Report: rep}
	if v == core.Done {
		d.step = decomDone
	}
	return v
}
