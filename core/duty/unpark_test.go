package duty

import (
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// What parks a marker is said with it: whichever row a duty reads is damaged, the
// reason names that row.
func TestAParkedMarkerSaysWhichRow(t *testing.T) {
	for _, x := range []struct {
		q    keys.Queue
		rows []string
		pass func(e *core.Env) core.Machine
	}{
		{keys.Teardown, []string{keys.Stream(1)}, pass(keys.Teardown, (*Teardown).Step)},
		{keys.Retention, []string{keys.Stream(1), keys.Trim(1)}, pass(keys.Retention, (*Retention).Step)},
		{keys.TrimCheck, []string{keys.ChainConst("s", 1), keys.ChainHead("s", 1), keys.ChainTrim("s", 1)}, pass(keys.TrimCheck, (*TrimCheck).Step)},
	} {
		for _, row := range x.rows {
			l := newLab(t)
			l.create(1, 1000)
			l.mint("s", 1, core.Standard)
			l.arm(x.q, 1, l.now-1)
			l.put(row, "\xff damaged")
			for range 20 {
				l.start(x.pass).run()
				l.now += l.dials.BackoffMax
			}
			ks := l.keys("park/" + x.q.String())
			if len(ks) != 1 {
				t.Errorf("%s, %s damaged: parked %v, due %v", x.q, row, ks, l.keys("due/"))
				continue
			}
			p, err := format.DecodeParked(l.rows[ks[0]].Val)
			if err != nil || !strings.Contains(p.Reason, row) {
				t.Errorf("%s, %s damaged: parked because %q (%v)", x.q, row, p.Reason, err)
			}
		}
	}
}
