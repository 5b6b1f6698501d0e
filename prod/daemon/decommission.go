package daemon

import (
	"context"
	"fmt"

	"nova/core"
	"nova/core/admin"
)

// Decommission takes a star out of use for good, as far as it goes: done says
// that it has; otherwise the report says what is in the way. It can be run again
// at any time. progress, if not nil, is told the report now and then.
func (s *Session) Decommission(ctx context.Context, o admin.Order, progress func(admin.Report)) (done bool, r admin.Report, err error) {
	var m admin.Decommission
	v := core.Working
	err = s.host.driver.Run(ctx, stepper(func(t core.Turn) bool {
		v = m.Step(t, &s.host.env, &o)
		if progress != nil {
			progress(m.Report)
		}
		return v != core.Working
	}))
	if err != nil {
		return false, m.Report, fmt.Errorf("decommission star %s: it goes on when it is run again: %w", o.Star, err)
	}
	return v == core.Done, m.Report, nil
}
