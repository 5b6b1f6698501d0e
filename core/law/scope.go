package law

import "nova/core"

// Scope says which part of a world a judge is given. What two judges of Streams and
// Chains say of the parts of a world is together what one says of the whole of it:
// so a world that does not fit into memory can be judged part by part. Only nova
// verify judges parts; law 3 on what was acknowledged needs the whole.
type Scope uint8

const (
	Whole Scope = iota
	// Streams is some streams, each with everything that stands or is said about it
	// and its settled objects: its rows, markers, intents, objects and uploads. Whether
	// the slots stand that its rows name is not judged.
	Streams
	// Chains is some chains, each with its rows, markers and slots; and as guests the
	// rows that name their slots, with their streams' descriptors and watermarks.
	// Of those it is judged whether the slots stand, and nothing else.
	Chains
)

// Narrow says what a judge that has been given nothing yet will be given.
func (j *Judge) Narrow(s Scope) { j.scope = s }

// Guest takes a row that another judge has as well: it bears on what this one
// judges, and is not counted again.
func (j *Judge) Guest(r core.Row) {
	counted := j.report
	j.putRow(r)
	j.report = counted
}
