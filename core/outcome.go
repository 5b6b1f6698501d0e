package core

// Outcome is how an effect ended. The set is closed.
type Outcome uint8

const (
	// OK: the operation took effect; the reply's fields hold what it returned.
	OK Outcome = iota
	// Absent: definitely no such key, object or upload.
	Absent
	// Exists: a conditional create lost; an object stands at the key.
	Exists
	// Conflict: a transaction's compare failed; nothing of it was applied.
	Conflict
	// OutOfRange: the range begins at or beyond the end of the object.
	OutOfRange
	// Refused: definitely not applied, and not for any reason above
	// (access denied, expired signature, a request that the server rejects).
	Refused
	// NoSpace: the metastore is out of space and refused the write.
	NoSpace
	// Damaged: bytes arrived whole, and are not what their checksum says.
	Damaged
	// Unknown: no definite answer. A mutation may have landed, may never land,
	// or may land later; a read says nothing.
	Unknown

	Outcomes = int(Unknown) + 1 // how many there are
)

var outcomeNames = [Outcomes]string{"ok", "absent", "exists", "conflict", "out-of-range", "refused", "no-space", "damaged", "unknown"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "outcome?"
}

// Definite reports whether the answer says what happened.
func (o Outcome) Definite() bool { return o != Unknown }
