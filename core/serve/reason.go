package serve

// Reason says why a request, or one chunk of it, was refused. The set is closed;
// the numbers are in answers on the wire and never change.
type Reason uint8

const (
	None      Reason = iota
	NoStream         // no such stream
	Deleted          // the stream is deleted; it never comes back under this id (C19)
	NotOpen          // the star does not lead the stream: open it first
	Held             // another star leads the stream
	Undecided        // nothing definite: it may have been done, or may be done later; ask again
	Closing          // the star is closing
	Busy             // too many requests wait
	Damaged          // a row, a footer or bytes are not what they should be
	Malformed        // the request does not decode, or names what cannot be
	NameTaken        // create: the address is in use
	BadName          // create: the name cannot be a key
	BadPolicy        // the age policy is below zero, or longer than a marker can be ahead
	BeyondEnd        // trim: past what is absorbed
	Trimmed          // read: below the watermark
	Lost             // read: the range is truly lost
	Missing          // read: an object is not there; the plan is too old, or the promise is broken
	Expired          // read: the plan has outlived its time
	Gone             // the star was decommissioned: its name never serves again

	reasons
)

var reasonNames = [reasons]string{"none", "no such stream", "the stream is deleted", "the stream is not open here", "another star leads the stream",
	"undecided", "the star is closing", "the star is busy", "damaged", "malformed", "the address is taken", "the name cannot be a key",
	"the age policy is out of bounds", "beyond the end", "trimmed", "lost", "missing", "the plan has expired",
	"the star was decommissioned: start it under another name"}

func (r Reason) String() string {
	if r < reasons {
		return reasonNames[r]
	}
	return "reason?"
}
