package daemon

import (
	"context"
	"fmt"

	"nova/core"
	"nova/core/admin"
	"nova/core/transcript"
	"nova/prod/exec"
)

// Decommission takes a star out of use for good, as far as it goes: done says
// that it has; otherwise the report says what is in the way. It can be run again
// at any time. progress, if not nil, is told the report now and then.
//
// It is a host of its own: it holds settlement claims under its session, and like
// an auditor it neither deletes nor writes while its clock and the stores' disagree.
func (s *Session) Decommission(ctx context.Context, o admin.Order, progress func(admin.Report)) (done bool, r admin.Report, err error) {
	h, err := s.c.newHost("operator", nil, s.c.Log, func(o *exec.Options) { o.Stores, o.Meta = s.c.byHonestClock(o.Meta) })
	if err != nil {
		return false, r, fmt.Errorf("decommission star %s: %w", o.Star, err)
	}
	var m admin.Decommission
	v := core.Working
	err = s.c.run(ctx, h, transcript.Begin{Role: transcript.Decommission, Order: o}, &m, func(t core.Turn) bool {
		v = m.Step(t, &h.env, &o)
		if progress != nil {
			progress(m.Report)
		}
		return v != core.Working
	})
	if err != nil {
		h.die()
		return false, m.Report, fmt.Errorf("decommission star %s: it goes on when it is run again: %w", o.Star, err)
	}
	return v == core.Done, m.Report, h.leave(ctx)
}
