package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
	"nova/core/protocol"
)

// GCRewrite reclaims the dead share of a partly dead settled object: it moves the
// live chunks to the next revision of its key, so that the reap can finish the
// husk (specification, duties: GC rewrite).
//
// The new revision's intent is left standing. The orphan duty finds the entry
// that names the object, and relieves it.
type GCRewrite struct {
	step      gcStep
	call      core.Call
	stream    core.Mark
	bucket    string
	row       plan.Held // whose entry names the object
	entry     int
	watermark uint64
	output    plan.Output
	publish   protocol.Publish
	durable   plan.Durable
	commit    protocol.Commit
	why       string
}

type gcStep uint8

const (
	gcStream gcStep = iota
	gcRow
	gcMark
	gcPublish
	gcCommit
	gcBury
	gcArm
)

// Reason says why the duty ended Broken, for the operator.
func (d *GCRewrite) Reason() string { return d.why }

// Step runs the duty for a marker of due/gc.
func (d *GCRewrite) Step(t core.Turn, e *core.Env, due *Due) core.Verdict {
	if star, epoch, _, err := keys.ParseSlot(due.Object); err == nil {
		// A chain slot is no GC's to move, and never probed: its batch marker owes its
		// rewrite, and its chain's trim-check is its executioner.
		r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve(armTrim(t.Now, e, star, epoch)) })
		return settledBy(r, ok)
	}
	o, err := keys.ParseSettled(due.Object)
	if err != nil || !o.HasInc {
		d.why = "the marker names no settled object"
		return core.Broken
	}
	for {
		switch d.step {
		case gcStream: // 1. Locate the entry that names the object: the descriptor …
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Stream(o.Stream)) })
			if !ok {
				return core.Working
			}
			if v := d.describe(r, &o); v != core.Working {
				return v
			}
		case gcRow: // … and one ref lookup.
			r, ok := d.call.AwaitFunc(t, func() core.Op {
				from, end := keys.RefRange(o.Stream, o.First)
				return core.Scan(from, end, 1)
			})
			if !ok {
				return core.Working
			}
			if v := d.locate(r, &o); v != core.Working {
				return v
			}
		case gcMark: // 2. What outlives the watermark.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Trim(o.Stream)) })
			if !ok {
				return core.Working
			}
			if v := d.readMark(r); v != core.Working {
				return v
			}
			d.output = plan.Rewrite(&e.Stores, d.bucket, o.Stream, d.stream, d.watermark, d.row, d.entry)
			d.step = gcPublish
		case gcPublish: // 3. Publish it at the next revision of the same key, under an intent …
			v := d.publish.Step(t, e, &d.output)
			if v == core.Working {
				return v
			}
			fault := d.publish.Fault
			d.durable, d.publish = d.publish.Durable, protocol.Publish{}
			switch {
			case v == core.Done:
				d.step = gcCommit
			case v == core.Broken && fault == protocol.NothingLives:
				d.step = gcBury
			default:
				d.why = fault.String()
				return v
			}
		case gcCommit: // … and swap the entry: validate or abandon.
			v := d.commit.Step(t, e, &d.output, &d.durable, core.Mark{})
			if v == core.Working {
				return v
			}
			d.commit = protocol.Commit{}
			if v != core.Done {
				t.Note(core.NoteGCAbandoned, 1)
				return v
			}
			t.Note(core.NoteGCMoved, d.durable.Window.Off)
			t.Note(core.NoteIntentLeft, 1)
			d.step = gcArm
		case gcBury: // Nothing of it outlives the watermark: the entry says so, and its object is reap fodder.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return d.bury(t.Now, e, due) })
			return settledBy(r, ok)
		case gcArm: // 4. Arm the source's watcher and resolve, in one transaction.
			r, ok := d.call.AwaitFunc(t, func() core.Op { return due.Resolve(d.arm(t.Now, e, due)) })
			return settledBy(r, ok)
		}
	}
}

// describe takes the descriptor. A deleted stream's object is reap fodder.
func (d *GCRewrite) describe(r *core.Reply, o *keys.Settled) core.Verdict {
	present, definite := r.Found()
	if !definite {
		return core.Again
	}
	if !present || tombstone(r.Val) {
		d.step = gcArm
		return core.Working
	}
	s, err := format.DecodeStream(r.Val)
	if err != nil {
		d.why = err.Error()
		return core.Broken
	}
	d.stream, d.bucket, d.step = core.Mark{Key: keys.Stream(o.Stream), Rev: r.Rev}, s.Bucket, gcRow
	return core.Working
}

// locate takes the row that covers the object's first record. One that names
// another object, or none, leaves this one to the reap.
func (d *GCRewrite) locate(r *core.Reply, o *keys.Settled) core.Verdict {
	if r.Outcome != core.OK {
		return core.Again
	}
	if len(r.Rows) == 0 {
		d.step = gcArm
		return core.Working
	}
	h, err := plan.Hold(r.Rows[0])
	if err != nil {
		d.why = err.Error()
		return core.Broken
	}
	i, names := plan.Names(&h.Row, o)
	if !names || h.Kind != format.CatalogRow {
		d.step = gcArm
		return core.Working
	}
	d.row, d.entry, d.step = h, i, gcMark
	return core.Working
}

func (d *GCRewrite) readMark(r *core.Reply) core.Verdict {
	present, definite := r.Found()
	if !definite {
		return core.Again
	}
	if present {
		n, err := format.DecodeNumber(r.Val)
		if err != nil {
			d.why = err.Error()
			return core.Broken
		}
		d.watermark = n
	}
	return core.Working
}

// armTrim puts the trim-check of a chain, one read grace out.
func armTrim(now core.Ms, e *core.Env, star string, epoch uint64) core.Write {
	shard := keys.ShardOfChain(star, epoch, e.Dials.Shards)
	return core.Put(keys.DueTrimCheck(shard, e.Dials.GraceEnd(now), star, epoch), format.TrimMark{}.Encode())
}

// arm puts the reap-check of the source.
func (d *GCRewrite) arm(now core.Ms, e *core.Env, due *Due) core.Write {
	m, _ := format.DecodeReapMark(due.Row.Val)
	return plan.ArmReap(&e.Dials, due.Object, &format.Entry{Class: m.Class, Footer: m.Footer}, now)
}

// bury marks the whole entry dead where it stands. Taken out, it would leave a
// hole in the middle of its row.
func (d *GCRewrite) bury(now core.Ms, e *core.Env, due *Due) core.Op {
	row := d.row.Row
	row.Entries = append([]format.Entry(nil), row.Entries...)
	x := &row.Entries[d.entry]
	x.LiveFrom = x.End()
	return due.Resolve(core.If(d.stream), core.If(d.row.Mark), core.Put(d.row.Key, row.Encode()), d.arm(now, e, due))
}
