package sim

import (
	"nova/core"
	"nova/core/law"
	"nova/sim/world"
)

// Law names what a run must not break. The set is closed.
type Law uint8

const (
	LawContract  Law = iota // machines keep the contract of the core and of etcd
	LawWatched              // 1. no bytes without a watcher
	LawBytes                // 2. no ref without bytes that match it
	LawAcked                // 3. what was acknowledged is there, reads back once, in order, and goes only as asked
	LawReader               // 4. no reader inside its contract meets a missing object
	LawCursors              // 5. cursors and watermarks only rise
	LawImmutable            // 6. an object never changes; one catalog entry names it
	LawBudget               // 7. budgets hold
	LawDrains               // 8. when faults stop, work drains, and then nothing writes any more
	LawStrikes              // 9. what was drawn was seen to strike
	numLaws
)

var lawNames = [numLaws]string{"contract", "1 watched", "2 bytes", "3 acked", "4 reader", "5 cursors", "6 immutable", "7 budget", "8 drains", "9 strikes"}

func (l Law) String() string {
	if l < numLaws {
		return lawNames[l]
	}
	return "law?"
}

// Laws follows the world change by change.
type Laws interface {
	// Changed is called after everything that changed the world, before anything
	// else happens. The op is nil where time or an operator changed it.
	Changed(s *Sim, op *core.Op, cs []world.Change)
	// Acked is called when a client is told that a chunk is safe.
	Acked(s *Sim, c *Chunk)
	// Still says that from now on (or no longer) nothing may be written but clocks.
	Still(on bool)
}

// Hearer is laws that judge what clients did not ask for.
type Hearer interface {
	// Asked is called when a client asks that records of a stream go, before anything
	// of it can come true.
	Asked(a law.Ask)
}

// noLaws lets everything pass.
type noLaws struct{}

func (noLaws) Changed(*Sim, *core.Op, []world.Change) {}
func (noLaws) Acked(*Sim, *Chunk)                     {}
func (noLaws) Still(bool)                             {}
