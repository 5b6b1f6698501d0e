// Package format holds Nova's bytes: objects (chunks, footer, trailer) and the
// values of metastore rows and markers. Every value starts with a version byte.
// Decoders never panic and never allocate by a length that they have not
// checked; what they refuse wraps ErrDamaged.
package format

import "nova/core"

// Window is where a footer lies in its object. It travels with refs and markers,
// so that a probe costs one ranged GET.
type Window struct{ Off, Len int64 }

// Chunk is one entry of a footer: consecutive records of one stream, as bytes
// [Off, Off+Len) of the object. Times are record times in ms.
type Chunk struct {
	Stream   uint64
	First    uint64 // sequence number of the first record
	Count    uint32
	CRC      uint32 // CRC-32C of the bytes
	Off, Len int64
	Oldest   core.Ms // first record's time
	Newest   core.Ms // last record's time
}

// End is the sequence number after the chunk's last.
func (c *Chunk) End() uint64 { return c.First + uint64(c.Count) }

// RowKind tells a stream's rows apart.
type RowKind uint8

const (
	SpanRow    RowKind = 1 // refs into chain slots: one stream's chunks of one span commit
	CatalogRow RowKind = 2 // entries that each name one settled object
)

// Span is one entry of a span row: one chunk in one slot.
type Span struct {
	Slot   uint64
	Footer Window // of the slot
	Chunk  Chunk  // as the slot's footer has it; Chunk.Stream is the row's stream
}

// Entry is one entry of a catalog row: it names exactly one settled object.
type Entry struct {
	Epoch      uint64 // of the first chunk of the first output at this key
	First      uint64 // first sequence number that the object's key carries
	Count      uint64 // records covered, from First
	LiveFrom   uint64 // records below it are dead (retention raises it to a chunk boundary)
	Revision   uint32
	Generation uint32 // with Created: the incarnation
	Created    int64
	Class      core.Class
	Footer     Window
	Bytes      int64 // size of the object
	Oldest     core.Ms
	Newest     core.Ms
	Lost       bool // the range is truly lost: reads return an error that names it
}

// End is the sequence number after the entry's last.
func (e *Entry) End() uint64 { return e.First + e.Count }

// Row is the value of ref/{id}/{last}. It covers [First, last]; entries ascend
// and touch. A span row carries Star, Epoch, Class and Spans; a catalog row Entries.
type Row struct {
	Kind    RowKind
	First   uint64
	End     uint64 // last+1
	Star    string
	Epoch   uint64
	Class   core.Class
	Stores  []core.Store // the epoch's bucket set
	Spans   []Span
	Entries []Entry
}

// ChainState is how far an epoch has come.
type ChainState uint8

const (
	ChainOpen    ChainState = 1 // a writer may append
	ChainCut     ChainState = 2 // the cut is published; [Checkpoint, Cut) is being absorbed
	ChainSwept   ChainState = 3 // absorbed to the cut; garbage was deleted once, at SweptAt
	ChainSettled ChainState = 4 // garbage was deleted twice, one request lifetime apart
)

// ChainConst is the value of chain/{star}/{epoch}/const.
type ChainConst struct {
	Class    core.Class
	Stores   []core.Store // 1 to 3: write-all, read-any, fence-any
	Pipeline uint32       // slots that may be in flight
	Born     core.Ms
}

// ChainHead is the value of chain/{star}/{epoch}/head: Checkpoint ≤ Cut, and Cut
// counts only from ChainCut on.
type ChainHead struct {
	State      ChainState
	Checkpoint uint64  // slots below it are absorbed
	Cut        uint64  // slots at or above it are garbage
	CutAt      core.Ms // when the cut was sent, for the operator
	SweptAt    core.Ms // stamped once the cut was seen to stand: nothing sent before it lands one request lifetime later
}

// ChainTrim is the value of chain/{star}/{epoch}/trim: Trimmed ≤ Rewritten ≤ Checkpoint.
type ChainTrim struct {
	Trimmed     uint64
	Rewritten   uint64
	RewrittenAt core.Ms // when Rewritten last rose; slots below it go one read grace later
}

// Stream is the value of stream/{id}: the descriptor, and once Deleted the tombstone.
type Stream struct {
	Bucket, Name string
	Class        core.Class
	MaxAge       core.Ms // 0: no age policy
	Born         core.Ms
	Policy       uint32 // counts the changes of MaxAge: a retention marker of an earlier one is superseded
	Deleted      bool
	DeletedAt    core.Ms
}

// Writer is the value of writer/{id}: whose slots may still hold records of the
// stream that are not absorbed, and how far it is absorbed.
type Writer struct {
	Star  string
	Epoch uint64
	End   uint64 // sequence number after the last that is absorbed
	Total int64  // bytes absorbed, ever
	Base  int64  // Total when the size trigger was last crossed
}

// Attempts travels in every marker: how often it failed and was moved on.
type Attempts uint16

// SettleMark is the value of due/settle, and of a schedule row of due/orphan that
// failed.
type SettleMark struct{ Attempts Attempts }

// RetentionMark is the value of due/retention. Of two policies' clocks only the
// later one's goes on: a marker whose Policy is not the descriptor's resolves.
type RetentionMark struct {
	Attempts Attempts
	Policy   uint32
}

// ReapMark is the value of due/reap and due/gc.
type ReapMark struct {
	Attempts  Attempts
	Class     core.Class
	Footer    Window
	Confirmed bool
	Dead      int64   // due/gc: dead bytes
	NotBefore core.Ms // due/gc: it failed, and comes back then (its key is no time)
}

// TrimMark is the value of due/trimcheck.
type TrimMark struct{ Attempts Attempts }

// TeardownMark is the value of due/teardown.
type TeardownMark struct {
	Attempts  Attempts
	DeletedAt core.Ms
}

// Inventory is one slot of a batch marker.
type Inventory struct {
	Slot   uint64
	Footer Window
}

// BatchMark is the value of due/denorm/{shard}/{star}~{epoch}~{firstSlot}.
type BatchMark struct {
	Attempts Attempts
	Class    core.Class
	Birth    core.Ms
	Ready    core.Ms     // also in the key of its schedule row
	Crossing bool        // one of its span commits saw a stream cross the size trigger
	Parked   bool        // it failed for good: no schedule row stands, the flag does
	Slots    []Inventory // ascending
}

// End is the slot after the last of the inventory.
func (b *BatchMark) End() uint64 { return b.Slots[len(b.Slots)-1].Slot + 1 }

// Intent is the value of due/orphan/{shard}/{objectKey}: a write intent at the
// derived key, or, condemned, at the key that names the incarnation.
type Intent struct {
	Attempts   Attempts
	Class      core.Class
	Store      core.Store
	Birth      core.Ms
	Attempt    string // who announced: tells "it was I" after a lost reply
	Shared     bool   // another attempt works under it too: only the judge resolves it
	Generation uint32 // shared or condemned: with Created, the incarnation
	Created    int64
	Condemned  bool
	Since      core.Ms // condemned: when
	Look       Look    // condemned: what the first look found
}

// Look is what the orphan duty's first look at a condemned intent found.
type Look uint8

const (
	LookNone    Look = iota // it has not looked yet (it was cut in between)
	LookNothing             // no object stood at the key
	LookDead                // bytes stood, and no ref named any of their chunks
	LookVisible             // a ref named a chunk: the normal lifecycle owns the object
)

// Parked is the value of park/{duty}/{marker key}.
type Parked struct {
	Reason string
	At     core.Ms
	Value  string // the marker's value
}
