package protocol

import (
	"nova/core"
	"nova/core/format"
)

// ReadSlot reads the footer of one slot from any replica of its bucket set:
// read-any. A fence, an absence or torn bytes at one replica mean that the next
// is tried. Used by settlement, and by whoever needs the manifest of a slot.
//
// Done: Footer and Window hold what the slot says, or Gone is set: every replica
// answered, and none holds the slot. Again: no replica has it, and at least one
// gave no definite answer. Broken: every replica answered, and what stands is no
// slot at one of them.
type ReadSlot struct {
	step    slotStep
	call    core.Call
	replica uint8
	unsure  bool        // a replica gave no definite answer
	torn    bool        // a replica holds bytes that are no slot
	tail    format.Tail // of the replica at hand, while its footer is being read

	Window format.Window
	Footer format.Footer
	Gone   bool
}

type slotStep uint8

const (
	slotNext slotStep = iota
	slotRange
	slotTail
	slotRest
	slotDone
)

// Step reads the slot at key from the stores in order. A window of length 0 is
// unknown: the tail is read for it.
func (r *ReadSlot) Step(t core.Turn, _ *core.Env, stores []core.Store, key string, window format.Window) core.Verdict {
	for {
		switch r.step {
		case slotNext:
			if int(r.replica) >= len(stores) {
				return r.nowhere()
			}
			r.step = slotRange
			if window.Len == 0 {
				r.step = slotTail
			}
		case slotRange:
			re, ok := r.call.Await(t, core.ReadRange(r.at(stores, key), window.Off, window.Len))
			if !ok {
				return core.Working
			}
			switch re.Outcome {
			case core.OK:
				if f, err := format.DecodeFooter(re.Val); err == nil {
					return r.found(f, window)
				}
				r.step = slotTail // a fence, perhaps: its own tail says what it is
			case core.OutOfRange, core.Damaged:
				r.step = slotTail
			default:
				r.miss(re.Outcome)
			}
		case slotTail:
			re, ok := r.call.Await(t, core.ReadTail(r.at(stores, key), format.TailRead))
			if !ok {
				return core.Working
			}
			if re.Outcome != core.OK {
				r.miss(re.Outcome)
				continue
			}
			tail, err := format.ParseTail(re.Val, re.Size)
			switch {
			case err != nil || tail.Kind == format.SettledObject:
				r.torn = true
				r.next()
			case tail.Kind == format.FenceObject:
				r.next()
			case tail.Whole:
				return r.found(tail.Footer, tail.Window)
			default:
				r.tail, r.step = tail, slotRest
			}
		case slotRest:
			w := r.tail.Window
			re, ok := r.call.Await(t, core.ReadRange(r.at(stores, key), w.Off, w.Len))
			if !ok {
				return core.Working
			}
			if re.Outcome != core.OK {
				r.miss(re.Outcome)
				continue
			}
			f, err := format.DecodeFooter(re.Val)
			if err == nil && format.CRC([]byte(re.Val)) == r.tail.CRC {
				return r.found(f, w)
			}
			r.torn = true
			r.next()
		case slotDone:
			return core.Done
		}
	}
}

func (r *ReadSlot) at(stores []core.Store, key string) core.Obj {
	return core.Obj{Store: stores[r.replica], Key: key}
}

func (r *ReadSlot) next() {
	r.replica++
	r.tail = format.Tail{}
	r.step = slotNext
}

// miss notes what a read that brought nothing says, and goes to the next replica.
func (r *ReadSlot) miss(o core.Outcome) {
	switch o {
	case core.Absent:
	case core.OutOfRange, core.Damaged: // an empty object, or bytes that fail their checksum
		r.torn = true
	default:
		r.unsure = true
	}
	r.next()
}

func (r *ReadSlot) found(f format.Footer, w format.Window) core.Verdict {
	*r = ReadSlot{step: slotDone, Footer: f, Window: w}
	return core.Done
}

func (r *ReadSlot) nowhere() core.Verdict {
	switch {
	case r.unsure:
		*r = ReadSlot{}
		return core.Again
	case r.torn:
		*r = ReadSlot{}
		return core.Broken
	}
	*r = ReadSlot{step: slotDone, Gone: true}
	return core.Done
}
