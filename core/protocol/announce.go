package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// announce creates the intent at the derived key, with its schedule row.
func (p *Publish) announce(t core.Turn, e *core.Env, o *plan.Output) core.Op {
	p.asked = t.Now
	derived := o.Key.Key()
	shard := keys.ShardOfObject(derived, e.Dials.Shards)
	p.intent = format.Intent{Class: o.Class, Store: o.Home, Birth: t.Now, Attempt: e.Attempt(t), Generation: e.Generation}
	p.Durable.Intent = core.Mark{Key: keys.DueOrphan(shard, derived)}
	return core.Txn(
		core.Missing(p.Durable.Intent.Key),
		core.Put(p.Durable.Intent.Key, p.intent.Encode()),
		core.Put(keys.SchedOrphan(shard, t.Now, derived), ""),
	)
}

// found takes the intent that stands. One that carries this very attempt's id is
// adopted like any other: an id names a path and a time, and an earlier attempt
// of the same process may have had the same and left requests in flight. It then
// stays for the judge, no more.
func (p *Publish) found(o *plan.Output, r *core.Reply) {
	switch r.Outcome {
	case core.OK:
		x, err := format.DecodeIntent(r.Val)
		if err != nil || x.Condemned || x.Shared && x.Created == 0 {
			p.broken(Contradiction, -1)
			return
		}
		if x.Store != o.Home { // announced under another authority: an entry could not say where the object stands
			p.end(core.Again)
			return
		}
		p.intent, p.Durable.Intent.Rev = x, r.Rev
		if x.Shared {
			p.step = pubAdopt
			return
		}
		p.intent.Shared, p.intent.Created = true, r.Rev
		p.step = pubShare
	case core.Absent:
		p.retry(pubAnnounce)
	default:
		p.end(core.Again)
	}
}

func (p *Publish) retry(step publishStep) {
	if p.tries++; p.tries == maxAnnounce {
		p.end(core.Again)
		return
	}
	p.step = step
}

// adopt makes the standing intent, created at a revision, this attempt's right.
func (p *Publish) adopt(o *plan.Output, created int64) {
	if p.Durable.Intent.Rev == 0 {
		p.Durable.Intent.Rev = created
	}
	p.confirmed = p.asked
	p.Durable.Birth = p.intent.Birth
	p.Durable.Key = o.Key.At(keys.Incarnation{Generation: p.intent.Generation, Created: created})
	p.Durable.Obj = core.Obj{Store: p.intent.Store, Key: p.Durable.Key.Key()}
}

// confirm judges a fresh read of the intent: the same incarnation, also where it
// has been shared since, is the same right.
func (p *Publish) confirm(r *core.Reply, asked core.Ms) bool {
	if r.Outcome != core.OK {
		return false
	}
	x, err := format.DecodeIntent(r.Val)
	if err != nil {
		return false
	}
	created := r.Rev
	if x.Shared {
		created, p.shared = x.Created, true
	}
	if x.Condemned || created != p.Durable.Key.Inc.Created || x.Generation != p.Durable.Key.Inc.Generation {
		return false
	}
	p.Durable.Intent.Rev = r.Rev
	p.confirmed = max(p.confirmed, asked)
	return true
}
