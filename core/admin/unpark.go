package admin

import (
	"nova/core"
	"nova/core/duty"
	"nova/core/keys"
)

// Unparking is which parked markers an operator wants to be tried again.
type Unparking struct {
	Key string // of one marker, as due/… or as park/…; "": of all
	// Only one queue's, when OneQueue.
	OneQueue bool
	Queue    keys.Queue
}

// wants reports whether a row of park/ is meant.
func (o *Unparking) wants(key string) bool {
	q, marker, err := keys.ParsePark(key)
	switch {
	case o.Key != "":
		return key == o.Key || err == nil && marker == o.Key
	case o.OneQueue:
		return err == nil && q == o.Queue
	}
	return true
}

// Stuck is a parked row that could not be put back, and why.
type Stuck struct {
	Key string // of park/
	Why string
}

// maxStuck is how many of them a report names.
const maxStuck = 64

// unparkTries bounds how often one marker is looked at again because a write was
// lost or its rows have changed.
const unparkTries = 6

// Unpark gives duties their parked markers again, once the cause is gone
// (specification gap 8): each by one transaction that compares the parked row and
// what stands at the marker's key. A marker that fails again is parked again.
//
// Done: every row that was meant is through; those that stay are in Stuck. Again:
// of at least one nothing definite is known, or a page could not be read: run it
// again, whatever was put back is not meant any more.
type Unpark struct {
	step  unparkStep
	call  core.Call
	after string
	more  bool
	page  []core.Row // immutable
	lanes core.Group[unparking]
	lost  bool

	PutBack int64   // markers that are ripe again
	Moot    int64   // parked rows that went since nothing depended on them
	Stays   int64   // that stay, all of them
	Stuck   []Stuck // the first of those; immutable
}

type unparkStep uint8

const (
	unparkScan unparkStep = iota
	unparkRun
	unparkDone
)

// Step puts back what is meant. The order must not change.
func (u *Unpark) Step(t core.Turn, e *core.Env, o *Unparking) core.Verdict {
	for {
		switch u.step {
		case unparkScan:
			r, ok := u.call.AwaitFunc(t, func() core.Op {
				from, end := keys.ParkRange()
				if u.after != "" {
					from = u.after + "\x00"
				}
				return core.Scan(from, end, e.Dials.ScanPage)
			})
			switch {
			case !ok:
				return core.Working
			case r.Outcome != core.OK:
				u.lost = true
				u.step = unparkDone
				continue
			}
			u.page = nil
			for i := range r.Rows {
				u.after = r.Rows[i].Key
				if o.wants(u.after) {
					u.page = append(u.page, r.Rows[i])
				}
			}
			u.more = r.More && len(r.Rows) > 0
			u.step = unparkRun
		case unparkRun:
			if !u.lanes.Run(t, len(u.page), e.Dials.DrainWidth, func(i int, m *unparking, t core.Turn) bool {
				return m.step(t, e, u.page[i], u)
			}) {
				return core.Working
			}
			u.lanes, u.page = core.Group[unparking]{}, nil
			if u.step = unparkDone; u.more {
				u.step = unparkScan
			}
		case unparkDone:
			if u.lost {
				return core.Again
			}
			return core.Done
		}
	}
}

func (u *Unpark) stuck(key, why string) {
	if u.Stays++; u.Stays <= maxStuck {
		n := len(u.Stuck)
		u.Stuck = append(u.Stuck[:n:n], Stuck{key, why})
	}
}

// unparking is one row on its way back.
type unparking struct {
	at     unparkingStep
	call   core.Call
	tries  uint8
	park   core.Row // as last read; before that, as the page has it
	marker core.Row
	moot   bool
	wrote  bool // a write whose reply was lost
}

type unparkingStep uint8

const (
	unparkingMarker unparkingStep = iota
	unparkingWrite
	unparkingPark
)

func (m *unparking) step(t core.Turn, e *core.Env, row core.Row, u *Unpark) bool {
	for {
		if m.park.Key == "" {
			m.park = row
		}
		switch m.at {
		case unparkingMarker: // What stands at the marker's key?
			_, key, err := keys.ParsePark(m.park.Key)
			if err != nil {
				u.stuck(m.park.Key, err.Error())
				return true
			}
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Get(key) })
			if !ok {
				return false
			}
			if _, definite := r.Found(); !definite {
				if m.again(u, r.Outcome) {
					return true
				}
				continue
			}
			m.marker, m.at = r.Row(key), unparkingWrite
		case unparkingWrite:
			var ws []core.Write
			if !m.call.Sent() {
				var err error
				if ws, m.moot, err = duty.PutBack(t.Now, e, m.park, m.marker); err != nil {
					u.stuck(m.park.Key, err.Error())
					return true
				}
			}
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Txn(ws...) })
			switch {
			case !ok:
				return false
			case r.Outcome == core.OK && m.moot:
				u.Moot++
				return true
			case r.Outcome == core.OK:
				u.PutBack++
				return true
			case m.again(u, r.Outcome):
				return true
			}
			m.wrote = m.wrote || r.Outcome == core.Unknown && !m.moot
		case unparkingPark: // Did our write land, or did somebody else come first?
			r, ok := m.call.AwaitFunc(t, func() core.Op { return core.Get(row.Key) })
			switch {
			case !ok:
				return false
			case r.Outcome == core.Absent && m.wrote:
				u.PutBack++
				return true
			case r.Outcome == core.Absent:
				u.Moot++ // it is not parked any more
				return true
			case r.Outcome == core.OK:
				m.park, m.at = r.Row(row.Key), unparkingMarker
			case m.again(u, r.Outcome):
				return true
			}
		}
	}
}

// again goes on from what now stands; it reports whether the row is given up.
func (m *unparking) again(u *Unpark, o core.Outcome) bool {
	m.tries++
	switch {
	case o == core.Refused || o == core.NoSpace:
		u.stuck(m.park.Key, "the metastore refused to put it back: "+o.String())
		return true
	case m.tries == unparkTries:
		u.lost = true
		u.stuck(m.park.Key, "nothing definite came back: "+o.String())
		return true
	}
	m.at = unparkingPark
	return false
}
