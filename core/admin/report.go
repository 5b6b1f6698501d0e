package admin

import (
	"nova/core"
	"nova/core/format"
)

// Reason says why a decommission does not go on. The set is closed; its order is
// that of the steps.
type Reason uint8

const (
	NoReason   Reason = iota
	NoSuchStar        // nothing names the star: a mistyped name must not be taken out of use for good
	NotDrained        // the star is registered: close it first, or wait until its session has ended
	Unsettled         // Key is a chain's head: the epoch is not settled; until Until where its garbage still has to go once more
	Owes              // Key is a batch marker: slots owe their rewrite; it is ripe at Until
	Parked            // Key is a batch marker that failed for good: its park row says why
	Untrimmed         // Key is a chain's cursors: slots that are rewritten are not deleted yet
	LiveIntent        // Key is a write intent of an output of one of the star's epochs: it is not judged yet
	Unswept           // Key is the irrevocable record: the second sweep is due at Until
	Damaged           // Key is a row that does not decode, or a chain that does not settle: restore it
	Unanswered        // Key is a row or a store that gave no definite answer
	Overtaken         // Key is a row that changed under the step: it is taken again

	Reasons = int(Overtaken) + 1
)

var reasonTexts = [Reasons]string{
	"none",
	"no such star",
	"the star is registered: it is not drained",
	"the epoch is not settled",
	"slots owe their rewrite",
	"a batch marker is parked, and its slots owe their rewrite",
	"slots are rewritten and not yet trimmed",
	"a write intent of an output of the chain is not judged yet",
	"the second sweep is not due yet",
	"damaged",
	"no definite answer",
	"it changed meanwhile, or is incomplete",
}

func (r Reason) String() string {
	if int(r) < len(reasonTexts) {
		return reasonTexts[r]
	}
	return "reason?"
}

// final reports whether waiting does not help.
func (r Reason) final() bool { return r == NoSuchStar || r == Damaged }

// Blocker is one thing that a decommission waits for.
type Blocker struct {
	Reason Reason
	Key    string
	Until  core.Ms // when it may be over; 0: nobody knows
	Detail string  // of what is damaged: what an operator needs to know
}

// listed is how many blockers, and foreign keys, a report names; the rest it
// counts.
const listed = 32

// Report is how far a decommission has come, and what it waits for. Counts are
// those of this run of the machine; Phase is durable.
type Report struct {
	Phase format.GonePhase // 0: no irrevocable record stands

	Blockers []Blocker // of the last pass, in the order of the steps; immutable
	Blocked  int       // how many there are, at least

	Settled  int64 // epochs that this run settled
	Ripened  int64 // batch markers
	Resolved int64 // settle and trim-check markers of chains that are through
	Reaped   int64 // chain records
	Swept    int64 // objects that the sweeps deleted

	Foreign int64      // keys under the star's prefix that are no slots, as the last sweep found them: left alone
	Named   []core.Obj // the first of them; immutable
}

func (r *Report) block(b Blocker) {
	if r.Blocked++; len(r.Blockers) < listed {
		n := len(r.Blockers)
		r.Blockers = append(r.Blockers[:n:n], b)
	}
}

func (r *Report) foreign(o core.Obj) {
	if r.Foreign++; len(r.Named) < listed {
		n := len(r.Named)
		r.Named = append(r.Named[:n:n], o)
	}
}

// waits is the earliest time at which a blocker may be over, 0 if nobody knows.
func (r *Report) waits() (at core.Ms) {
	for _, b := range r.Blockers {
		if b.Until != 0 && (at == 0 || b.Until < at) {
			at = b.Until
		}
	}
	return at
}

// stuck reports whether waiting helps no more.
func (r *Report) stuck() bool {
	for _, b := range r.Blockers {
		if b.Reason.final() {
			return true
		}
	}
	return false
}
