package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

type commitStep uint8

const (
	commitSend commitStep = iota
	commitLook
	commitIntent
	commitEnd
)

// Commit makes what a publish left standing visible, in one transaction: step 5
// of the rewrite commit protocol. The object that it supersedes, if any, is armed
// in the same transaction.
//
// It ends Done once a catalog entry names the object, whoever put it there; Again
// where somebody else changed what the output was derived from, or nothing is
// certain: the output then stays under its intent; Broken where a row does not
// decode.
type Commit struct {
	Shared bool // the intent was shared meanwhile

	step    commitStep
	out     core.Verdict
	call    core.Call
	intent  core.Mark // zero: as the publish left it
	unknown bool      // the transaction's answer was lost
}

// Step commits du for o. lease is the chain's lease as the era took it; its key
// is empty for a rewrite without one.
func (c *Commit) Step(t core.Turn, e *core.Env, o *plan.Output, du *plan.Durable, lease core.Mark) core.Verdict {
	for {
		switch c.step {
		case commitSend: // 5. Commit visibility by compare and swap.
			r, ok := c.call.AwaitFunc(t, func() core.Op {
				if c.intent.Key == "" {
					c.intent = du.Intent
				}
				return core.Txn(plan.CommitWrites(&e.Dials, o, du, c.intent, lease, t.Now)...)
			})
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
				c.committed(t, o)
			case core.Conflict, core.Unknown:
				c.unknown = r.Outcome == core.Unknown
				c.step = commitLook
			default:
				c.end(core.Again)
			}
		case commitLook: // A lost reply, or a compare lost to its own retry: does an entry name the object?
			r, ok := c.call.AwaitFunc(t, func() core.Op {
				from, end := keys.RefRange(o.Key.Stream, du.Footer.At(du.Footer.Len()-1).First)
				return core.Scan(from, end, 1)
			})
			if !ok {
				return core.Working
			}
			c.look(t, o, du, r)
		case commitIntent: // A compare was lost, but perhaps only because another attempt shares the intent now.
			r, ok := c.call.AwaitFunc(t, func() core.Op { return core.Get(du.Intent.Key) })
			if !ok {
				return core.Working
			}
			c.reread(du, r)
		case commitEnd:
			return c.out
		}
	}
}

func (c *Commit) look(t core.Turn, o *plan.Output, du *plan.Durable, r *core.Reply) {
	if r.Outcome != core.OK {
		c.end(core.Again)
		return
	}
	if len(r.Rows) > 0 {
		row, err := format.DecodeRow(r.Rows[0].Val)
		if err != nil {
			c.end(core.Broken)
			return
		}
		if _, ok := plan.Names(&row, &du.Key); ok {
			c.committed(t, o)
			return
		}
	}
	t.Note(core.NoteCommitConflict, 1)
	if c.unknown { // It may still land. If it does, its intent watches it until the judge finds it visible.
		c.end(core.Again)
		return
	}
	c.step = commitIntent
}

// reread goes on under an intent that was shared since it was read, once; every
// other lost compare means that the output must be derived anew.
func (c *Commit) reread(du *plan.Durable, r *core.Reply) {
	if r.Outcome == core.OK && !c.Shared {
		x, err := format.DecodeIntent(r.Val)
		if err == nil && x.Shared && !x.Condemned && r.Rev != c.intent.Rev &&
			x.Created == du.Key.Inc.Created && x.Generation == du.Key.Inc.Generation {
			c.Shared, c.intent.Rev, c.step = true, r.Rev, commitSend
			return
		}
	}
	c.end(core.Again)
}

func (c *Commit) committed(t core.Turn, o *plan.Output) {
	t.Note(core.NoteCommit, 1)
	if o.Revise && len(o.Rows) > 0 {
		t.Note(core.NoteTailFill, 1)
	}
	c.end(core.Done)
}

func (c *Commit) end(v core.Verdict) { *c = Commit{step: commitEnd, out: v, Shared: c.Shared} }

// Resolve takes away the intent of an output that is visible: step 7. Only an
// attempt that owns its intent may (Publish.Owned, and not Commit.Shared); for
// every other it does nothing, and the orphan duty finds the ref after its grace.
// An answer that is not OK leaves the intent as well.
type Resolve struct{ call core.Call }

// Step reports whether it is finished.
func (s *Resolve) Step(t core.Turn, e *core.Env, du *plan.Durable, owned bool) bool {
	if !owned {
		t.Note(core.NoteIntentLeft, 1)
		return true
	}
	r, ok := s.call.AwaitFunc(t, func() core.Op {
		derived := du.Key.Derived().Key()
		shard := keys.ShardOfObject(derived, e.Dials.Shards)
		// The schedule row came with the intent. One that the judge's backoff has moved
		// since would be left behind: then the judge has the intent.
		sched := core.Mark{Key: keys.SchedOrphan(shard, du.Birth, derived), Rev: du.Intent.Rev}
		return core.Txn(core.If(du.Intent), core.If(sched), core.Del(du.Intent.Key), core.Del(sched.Key))
	})
	if !ok {
		return false
	}
	if r.Outcome == core.OK {
		t.Note(core.NoteIntentResolved, 1)
	} else {
		t.Note(core.NoteIntentLeft, 1)
	}
	return true
}
