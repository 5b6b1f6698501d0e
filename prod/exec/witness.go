package exec

import "nova/core"

// Witness sees every turn of one machine (prod/journal's writes them down). The
// goroutine that runs the machine calls it, so it must be fast, must not block and
// must not fail. It reads x, which is the machine's next turn's again, and keeps
// nothing of it but what is immutable: strings, and the slices of replies and
// operations.
type Witness interface {
	// Turn is told of a turn: x holds its time, its event, unless it is the first,
	// and what the machine emitted.
	Turn(x *core.Exchange, first, done bool)
	// Fell is told of a turn that the machine did not end: it panicked, and the
	// process is about to. It alone may take its time.
	Fell(x *core.Exchange, first bool, why any)
	// Over is told, last, what Run returns.
	Over(err error)
}
