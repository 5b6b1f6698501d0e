package daemon

import (
	"context"
	"fmt"
	"strings"

	"nova/core"
	"nova/core/admin"
	"nova/core/format"
	"nova/core/keys"
	"nova/prod/exec"
)

// ParkedMarker is a marker that failed for good and waits for an operator.
type ParkedMarker struct {
	Key      string  `json:"key"` // the marker's own
	Duty     string  `json:"duty"`
	Reason   string  `json:"reason"`
	ParkedAt core.Ms `json:"parked_at_ms"`
}

// Parked calls f for every parked marker of a duty ("": of every duty), in order
// of their keys. A row that does not decode has that as its reason.
func (c *Cluster) Parked(ctx context.Context, duty string, f func(ParkedMarker) error) error {
	from, end := keys.ParkRange()
	_, err := c.Rows(ctx, 0, from, end, func(r core.Row) error {
		m := ParkedMarker{Key: r.Key}
		q, marker, err := keys.ParsePark(r.Key)
		if err != nil {
			m.Duty, _, _ = strings.Cut(strings.TrimPrefix(r.Key, "park/"), "/")
			m.Reason = err.Error()
		} else {
			m.Key, m.Duty = marker, q.String()
			p, err := format.DecodeParked(r.Val)
			if m.Reason, m.ParkedAt = p.Reason, p.At; err != nil {
				m.Reason = "the parked row does not decode: " + err.Error()
			}
		}
		if duty != "" && m.Duty != duty {
			return nil
		}
		return f(m)
	})
	if err != nil {
		return fmt.Errorf("list parked markers: %w", err)
	}
	return nil
}

// Unpark gives duties their parked markers again; see admin.Unpark. An error wraps
// ErrUndecided where it is not known of every marker what became of it: run it
// again.
func (s *Session) Unpark(ctx context.Context, o admin.Unparking) (admin.Unpark, error) {
	var m admin.Unpark
	// Markers are put back by date: like an auditor, not by a clock that is off.
	h, err := s.c.newHost("operator", nil, s.c.Log, func(o *exec.Options) { o.Stores, o.Meta = s.c.byHonestClock(o.Meta) })
	if err != nil {
		return m, fmt.Errorf("put parked markers back: %w", err)
	}
	v := core.Working
	err = h.driver.Run(ctx, stepper(func(t core.Turn) bool {
		v = m.Step(t, &h.env, &o)
		return v != core.Working
	}))
	if err != nil {
		h.die()
		return m, fmt.Errorf("put parked markers back: %w: %w", ErrUndecided, err)
	}
	if err := h.leave(ctx); err != nil {
		return m, err
	}
	if v != core.Done {
		return m, fmt.Errorf("put parked markers back: %w: does etcd answer?", ErrUndecided)
	}
	return m, nil
}
