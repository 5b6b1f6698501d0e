// Package faults says what can go wrong: the kinds of fault, how often each may
// strike in a run, and a plan that is drawn from a seed, prints and parses.
//
// What a fault does to the world is the host's affair (package sim; a chaos
// wrapper over real stores). What may be asked of the machines under it is the
// contract of package core.
package faults

// Kind is a kind of fault. The set is closed.
type Kind uint8

const (
	None Kind = iota

	// Cuts: a process ends at an effect. Whatever else it has in flight lands at
	// once, lands later, or never lands: each on its own.
	CutBefore // the effect does not land
	CutAfter  // the effect lands, its reply is taken, and what the turn emits is in flight
	CutSilent // the effect lands, and its reply is never delivered
	CutUpload // a cut between the parts of a multipart upload: it stays unfinished

	// After a cut. Without either, the process starts again at once.
	RestartLater
	RestartNever

	// One effect.
	LostReply  // it lands; the answer is Unknown
	Dropped    // it never lands; the answer is Unknown
	Late       // the answer is Unknown, and it lands after it
	Refusal    // it definitely does not land: 403, 503, a server that rejects
	DeleteKey  // a per-key error inside a multi-delete that succeeded
	DamagedTip // a read of a footer or tail: told that its bytes are damaged, or given one that is another, or too few
	Slow       // it takes long, and is answered well

	// A process.
	Flaky     // for a while every third of its effects is lost, refused, or not answered
	Pause     // it stands still, sessions and all, and then goes on: a zombie
	LeaseLost // its session ends while it lives
	Skew      // its clock is off, by no more than the skew that the dials allow

	// A store, or the metastore.
	StoreDown // every request to one store is lost for a while
	StoreSlow // one store is slow for a while
	MetaDown  // every request to the metastore is lost for a while
	NoSpace   // the metastore is out of space for a while

	// A cut as a turn that passes a mark is over: it notes something worth counting.
	// What the turn emits is in flight.
	CutMark

	// A client's clock is ten years ahead: what it arms in the metastore is dated so
	// (gap 11). The stores would let no request of such a process in.
	Ahead

	// A process's clock jumps while it lives: to another time that is within the skew;
	// an auditor's by hours or years besides, for a while (C7).
	Jump

	Kinds = int(Jump) + 1
)

var kindNames = [Kinds]string{"none",
	"cut-before", "cut-after", "cut-silent", "cut-upload", "restart-later", "restart-never",
	"lost-reply", "dropped", "late", "refusal", "delete-key", "damaged-tip", "slow",
	"flaky", "pause", "lease-lost", "skew",
	"store-down", "store-slow", "meta-down", "no-space", "cut-mark", "ahead", "jump"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "fault?"
}

// All is every kind but None, in order.
func All() []Kind {
	ks := make([]Kind, 0, Kinds-1)
	for k := None + 1; int(k) < Kinds; k++ {
		ks = append(ks, k)
	}
	return ks
}

// Cut reports whether the kind ends a process.
func (k Kind) Cut() bool { return k >= CutBefore && k <= CutUpload || k == CutMark }
