package duty

import (
	"strings"
	"testing"

	"nova/core"
	"nova/core/keys"
)

// An era that has read a chain's record takes no lease of it once a decommission
// has reaped it: no key would name a star that is gone.
func TestEraTakesNoLeaseOfAReapedChain(t *testing.T) {
	l := newLab(t)
	l.mint("s", 1, core.Standard)
	l.create(1, 0)
	l.batch("s", 1, false, []append1{{1, 2}})
	l.now += l.dials.AgeCap[core.Standard]
	reaped, leased := false, false
	l.deny = func(op *core.Op) (core.Outcome, bool) {
		leased = leased || len(l.keys("lease/")) > 0
		if op.Kind == core.KTxn && !reaped && strings.HasPrefix(op.Txn[0].At.Key, keys.ChainLease("s", 1)) {
			reaped = true
			delete(l.rows, keys.ChainConst("s", 1))
		}
		return 0, false
	}
	p := l.start(pass(keys.Denorm, (*Era).Step))
	p.run()
	if !reaped || leased || len(l.keys("due/denorm/")) != 1 {
		t.Errorf("reaped=%v, leased=%v", reaped, leased)
	}
}
