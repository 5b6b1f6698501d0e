package admin

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/protocol"
)

// settling drives one chain of the star to settled, ahead of the gate. Every chain
// that is not settled has a marker standing; that of an open one may be a while
// ahead, and is announced anew, so that the duty goes on if we are cut, or are not
// to settle it ourselves.
type settling struct {
	armed  bool
	call   core.Call
	settle protocol.Settlement
}

// run arms and settles; what it cannot, the gate finds unsettled. It reports
// whether it is finished.
func (s *settling) run(t core.Turn, e *core.Env, d *Decommission, o *Order, c *chain) bool {
	if c.at.State == format.ChainSettled {
		return true
	}
	if !s.armed {
		if c.at.State == format.ChainOpen && !d.armed && !d.alive {
			// A star that has come back must not be given another clock for its newest epoch.
			if _, ok := s.call.AwaitFunc(t, func() core.Op {
				shard := keys.ShardOfChain(o.Star, c.epoch, e.Dials.Shards)
				return core.Txn(core.If(c.head.Mark), core.Missing(keys.Star(o.Star)),
					core.Put(keys.DueSettle(shard, t.Now, o.Star, c.epoch), format.SettleMark{}.Encode()))
			}); !ok {
				return false
			}
		}
		s.armed = true
	}
	if o.Force {
		return true
	}
	switch s.settle.Step(t, e, o.Star, c.epoch, true) {
	case core.Working:
		return false
	case core.Done:
		if s.settle.State == format.ChainSettled {
			d.Report.Settled++
		}
	case core.Broken:
		d.Report.block(Blocker{Reason: Damaged, Key: c.head.Key, Detail: s.settle.Why})
	}
	return true
}
