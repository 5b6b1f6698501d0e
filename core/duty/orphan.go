package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// Orphan judges an aged write intent: it reclaims what was written under it and
// never became visible, unfinished uploads included (specification, duties:
// Orphan; docs/protocols.md, section 7).
//
// It takes two runs, at least one read grace apart. The first condemns the
// intent, so that no commit under it can succeed any more, looks, and writes down
// what it found. The second looks again: it deletes what no ref names, and
// relieves the intent once nothing is left that could still land.
type Orphan struct {
	step    orphanStep
	call    core.Call
	written core.Row // the condemned intent, where this run has put it; Rev 0: not yet
	probe   protocol.Probe
	uploads []core.Item
	aborts  core.Group[core.Call]
	kept    bool // an abort was not answered OK
	anew    bool // the first look was dated by a clock that is wrong: this run takes it again
	rounds  uint8
	why     orphanReason
}

type orphanStep uint8

const (
	orphanBegin orphanStep = iota
	orphanCondemn
	orphanProbe
	orphanUploads
	orphanAbort
	orphanRecord
	orphanJudge
	orphanDelete
	orphanRelieve
)

// abortRounds bounds how often one run lists and aborts a key's uploads.
const abortRounds = 3

type orphanReason uint8

const (
	orphanIntent orphanReason = iota
	orphanCorrupted
)

// Reason says why the duty ended Broken, for the operator.
func (d *Orphan) Reason() string {
	if d.why == orphanCorrupted {
		return "a row that may name the object does not decode, or names it and its footer does not: it is not touched"
	}
	return "the intent names no settled object, or does not decode"
}

// judgedIntent is an intent that is being judged: as it was read, or as this run has
// condemned it.
type judgedIntent struct {
	due    Due
	intent format.Intent
	object keys.Settled
	last   bool // a first look is on record
}

// at is where the object stands; only once the intent is condemned.
func (j *judgedIntent) at() core.Obj { return core.Obj{Store: j.intent.Store, Key: j.due.Object} }

// early reports whether a second look's grace is not over: a clock that was ahead
// took it for ripe, and is right again.
func (j *judgedIntent) early(t core.Turn, e *core.Env) bool {
	return j.last && t.Now < j.intent.Since+e.Dials.ReadGrace
}

// read decodes the intent, and checks it against its key.
func (d *Orphan) read(due *Due) (j judgedIntent, ok bool) {
	j.due = *due
	if d.written.Rev != 0 {
		k, err := keys.ParseDue(d.written.Key)
		if err != nil {
			return j, false
		}
		j.due = Due{Due: k, Row: d.written}
	}
	x, err := format.DecodeIntent(j.due.Row.Val)
	if err != nil {
		return j, false
	}
	o, err := keys.ParseSettled(j.due.Object)
	if err != nil || o.HasInc != x.Condemned || x.Shared && x.Created == 0 {
		return j, false
	}
	if x.Condemned && (o.Inc != keys.Incarnation{Generation: x.Generation, Created: x.Created}) {
		return j, false
	}
	j.intent, j.object, j.last = x, o, x.Look != format.LookNone && !d.anew
	return j, true
}

// Step runs the duty for an intent of due/orphan.
func (d *Orphan) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	for {
		j, ok := d.read(due)
		if !ok {
			return core.Broken
		}
		switch d.step {
		case orphanBegin: // 1. Ripe by its own word: the schedule row only led here.
			switch {
			case !plan.OrphanRipe(&e.Dials, &j.intent, t.Now):
				return core.Again
			case j.intent.Condemned:
				d.anew = plan.LookedAhead(&e.Dials, &j.intent, t.Now)
				d.step = orphanProbe
			default:
				d.step = orphanCondemn
			}
		case orphanCondemn: // 2. Condemn it: from here on no commit under it can succeed.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.condemn(t, e, &j) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			t.Note(core.NoteOrphanCondemned, 1)
			d.written.Rev = r.Rev
			d.step = orphanProbe
		case orphanProbe: // 3. Look: the object by its tail, then the refs, read after the condemning.
			if !d.probe.Step(t, e, j.at(), &j.object, format.Window{}) {
				return core.Working
			}
			switch d.step = orphanUploads; d.probe.Found {
			case plan.Failed:
				return core.Again
			case plan.Corrupted:
				d.why = orphanCorrupted
				return core.Broken
			}
		case orphanUploads: // 4. The key's unfinished uploads …
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.ListUploads(j.at()) })
			if !ok {
				return core.Working
			}
			switch {
			case r.Outcome != core.OK:
				return core.Again
			case len(r.Items) > 0:
				if d.rounds++; d.rounds > abortRounds {
					return core.Again
				}
				d.uploads, d.step = r.Items, orphanAbort
			case j.last:
				d.step = orphanJudge
			default:
				d.step = orphanRecord
			}
		case orphanAbort: // … go; the listing is repeated until it is empty.
			if !d.aborts.Run(t, len(d.uploads), e.Dials.PartWidth, func(i int, c *core.Call, t core.Turn) bool {
				if !c.Sent() && j.early(t, e) {
					d.kept = true
					return true
				}
				r, ok := c.AwaitFunc(t, func() core.Op { return core.Abort(j.at(), d.uploads[i].Upload) })
				d.kept = d.kept || ok && r.Outcome != core.OK
				return ok
			}) {
				return core.Working
			}
			if d.kept {
				return core.Again
			}
			t.NoteOf(core.NoteOrphanUploadAborted, int64(len(d.uploads)), j.due.Object)
			d.aborts, d.uploads, d.step = core.Group[core.Call]{}, nil, orphanUploads
		case orphanRecord: // 5. The first look is written down, with its time. Nothing is deleted yet: what is dead may have been visible until a moment ago.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.record(t, e, &j) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			return core.Done
		case orphanJudge: // 6. The second look decides.
			d.step = orphanRelieve
			switch found := d.probe.Found; {
			case found == plan.Stand || found == plan.GCWorthy || j.intent.Look == format.LookVisible:
				t.Note(core.NoteOrphanVisible, 1) // the normal lifecycle owns it: whoever killed it since armed a reap-check
			case found == plan.Gone:
				t.Note(core.NoteOrphanNothing, 1)
			default:
				d.step = orphanDelete
			}
		case orphanDelete:
			if !d.call.Sent() && j.early(t, e) {
				return core.Again
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Delete(j.at()) })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			t.NoteOf(core.NoteOrphanReclaimed, 1, j.due.Object)
			d.step = orphanRelieve
		case orphanRelieve: // 7. Nothing stands that no ref names, no upload is left, and nothing in flight can land any more.
			if !d.call.Sent() && j.early(t, e) {
				return core.Again
			}
			r, ok := d.call.AwaitFunc(t, func() core.Op { return j.due.Resolve() })
			if !ok {
				return core.Working
			}
			if r.Outcome != core.OK {
				return core.Again
			}
			return core.Done
		}
	}
}

// condemn moves the intent from its derived key to the one that names the
// incarnation.
func (d *Orphan) condemn(t core.Turn, e *core.Env, j *judgedIntent) core.Op {
	x := j.intent
	if !x.Shared {
		x.Created = j.due.Row.Rev
	}
	x.Attempts, x.Condemned, x.Look, x.Since = 0, true, format.LookNone, t.Now
	object := j.object.At(keys.Incarnation{Generation: x.Generation, Created: x.Created}).Key()
	d.written = core.Row{Mark: core.Mark{Key: keys.DueOrphan(j.due.Shard, object)}, Val: x.Encode()}
	return j.due.Resolve(
		core.Put(d.written.Key, d.written.Val),
		core.Put(keys.SchedOrphan(j.due.Shard, plan.OrphanAt(&e.Dials, &x), object), ""),
	)
}

// record writes the first look into the condemned intent, and moves its schedule
// row to the time of the second.
func (d *Orphan) record(t core.Turn, e *core.Env, j *judgedIntent) core.Op {
	x := j.intent
	old := keys.SchedOrphan(j.due.Shard, plan.OrphanAt(&e.Dials, &x), j.due.Object)
	switch d.probe.Found {
	case plan.Gone:
		x.Look = format.LookNothing
	case plan.Stand, plan.GCWorthy:
		x.Look = format.LookVisible
	default:
		x.Look = format.LookDead
	}
	x.Since = t.Now
	if j.due.Sched.Key == "" {
		j.due.Sched.Mark = core.Mark{Key: old, Rev: j.due.Row.Rev} // both were put by the transaction that condemned
	}
	return j.due.Resolve(
		core.Put(j.due.Row.Key, x.Encode()),
		core.Put(keys.SchedOrphan(j.due.Shard, plan.OrphanAt(&e.Dials, &x), j.due.Object), ""),
	)
}
