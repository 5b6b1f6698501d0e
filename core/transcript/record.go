package transcript

import (
	"nova/core"
	"nova/core/format"
)

// Kind says what a record is. The set is closed.
type Kind uint8

const (
	KSegment Kind = iota + 1 // a segment begins
	KBegin                   // a machine begins
	KState                   // how a machine stands, for who did not see it begin
	KTurn                    // a machine was stepped
	KGap                     // turns were left out
	KEnd                     // a machine has ended
	kinds
)

var kindNames = [kinds]string{"none", "segment", "begin", "state", "turn", "gap", "end"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "kind?"
}

// Record is one record; only the field of its kind is set.
type Record struct {
	Kind    Kind
	Segment Segment
	Begin   Begin
	State   State
	Turn    Turn
	Gap     Gap
	End     End
}

// Segment says who wrote a segment, and when.
type Segment struct {
	Seq    uint64  // of the segment, in its recording
	Wall   core.Ms // when it was begun
	Serial uint64  // of the last turn that was recorded before it
	Commit string  // of the source that ran, or ""
	Go     string  // version of the toolchain
	Arch   string
}

// State is how a machine stands between two turns.
type State struct {
	Begin   Begin
	N       uint64        // turns that it has had
	Now     core.Ms       // of the last of them
	Pending []core.Effect // what it awaits
	Shape   uint64        // plain.Shape of the machine's type
	Bytes   string        // its encoding by package plain
}

// Turn is one turn of a machine.
type Turn struct {
	Root   uint64 // the machine: Begin.Root
	Serial uint64 // of the turn, in the recording, from 1
	N      uint64 // of the turn, in the machine's life, from 1
	Now    core.Ms
	First  bool // it brought no event
	At     core.Path
	Reply  core.Reply    // valid unless First
	Out    []core.Effect // what it emitted, in no order
	Done   bool          // the machine is done
	Panic  string        // it did not come to its end: why
}

// Gap says that turns were left out: the writer could not follow.
type Gap struct{ Dropped uint64 }

// End says how a machine ended: why it was dropped, or "" if it was done.
type End struct {
	Root uint64
	Why  string
}

// Blank is a reply to an operation of kind k without the bytes of records.
func Blank(k core.Kind, r core.Reply) core.Reply {
	if r.Val == "" {
		return r
	}
	switch k {
	case core.KReadTail:
		r.Val = format.BlankTail(r.Val, r.Size)
	case core.KReadRange:
		r.Val = format.BlankFooter(r.Val)
	}
	return r
}
