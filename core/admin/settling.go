package admin

import (
	"nova/core"
	"nova/core/format"
	"nova/core/protocol"
)

// settling settles one chain of the star, ahead of the gate.
type settling struct{ settle protocol.Settlement }

// run settles; what it cannot, the gate finds unsettled. It reports whether it is
// finished.
func (s *settling) run(t core.Turn, e *core.Env, star string, c *chain, rep *Report) bool {
	if c.at.State == format.ChainSettled {
		return true
	}
	switch s.settle.Step(t, e, star, c.epoch, true) {
	case core.Working:
		return false
	case core.Done:
		if s.settle.State == format.ChainSettled {
			rep.Settled++
		}
	case core.Broken:
		rep.block(Blocker{Reason: Damaged, Key: c.head.Key, Detail: s.settle.Why})
	}
	return true
}
