package serve

import "nova/core"

// Fetch moves the bytes of a plan's extents into the process's sinks: extent i
// into sink base+i, replica by replica, checked against its checksum.
//
// Step reports the end of it. Reason None: every extent is in its sink.
// Otherwise Failed is the index of the first extent that is not, and Reason why:
// Lost, Missing, Damaged, Expired, Undecided.
type Fetch struct {
	g    core.Group[fetchOne]
	done bool
	out  core.Results[Reason]

	Failed int
	Reason Reason
}

// fetchOne is one extent.
type fetchOne struct {
	call    core.Call
	replica uint8
	unsure  bool
	damaged bool
}

// Step fetches the extents of a plan that may be used until a time.
func (f *Fetch) Step(t core.Turn, e *core.Env, extents []Extent, until core.Ms, base int) bool {
	if f.done {
		return true
	}
	if f.out.Len() != len(extents) {
		f.out.Make(len(extents))
	}
	if !f.g.Run(t, len(extents), e.Dials.FootersAbreast, func(i int, m *fetchOne, t core.Turn) bool {
		r, done := m.step(t, &extents[i], until, base+i)
		if done {
			f.out.Set(i, r)
		}
		return done
	}) {
		return false
	}
	var reason Reason
	failed := 0
	for i, r := range f.out.All() {
		if r != None {
			failed, reason = i, r
			break
		}
	}
	*f = Fetch{done: true, Failed: failed, Reason: reason}
	return true
}

func (m *fetchOne) step(t core.Turn, x *Extent, until core.Ms, sink int) (Reason, bool) {
	if x.Lost {
		t.Note(core.NoteLost, int64(x.Count))
		return Lost, true
	}
	for {
		switch {
		case int(m.replica) >= len(x.At):
			switch {
			case m.unsure:
				return Undecided, true
			case m.damaged:
				return Damaged, true
			}
			return Missing, true
		case !m.call.Sent() && t.Now > until:
			return Expired, true
		}
		re, ok := m.call.Await(t, core.Fetch(x.At[m.replica], x.Off, x.Len, x.CRC, sink))
		if !ok {
			return None, false
		}
		switch re.Outcome {
		case core.OK:
			return None, true
		case core.Absent:
		case core.Damaged, core.OutOfRange: // a fence, or torn bytes: the next has it
			m.damaged = true
		default:
			m.unsure = true
		}
		m.replica++
	}
}
