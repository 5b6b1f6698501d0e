package core

// Effect is an operation at a path.
type Effect struct {
	At Path
	Op Op
}

// Event is the reply to the effect that was emitted at a path.
type Event struct {
	At    Path
	Reply Reply
}

// Exchange is what one turn reads and writes. Its host keeps one and reuses it
// from turn to turn; Out and Notes are valid until the next turn.
type Exchange struct {
	Now   Ms // the process's clock
	Ev    Event
	Out   []Effect // unordered
	Notes []Note
	// Where, if the host sets it, is asked for each effect as it is emitted; what it
	// says is in Sites, beside Out. A simulator learns so which line of the source
	// emitted an effect. No machine can see either.
	Where func() uintptr
	Sites []uintptr
	has   bool
}

// Turn is one call into a machine: the time, at most one event in, effects out.
// Whoever hands a turn down narrows it with In; the event stays visible only on
// the branch that it is addressed to.
type Turn struct {
	*Exchange
	at   Path
	mine bool // the event is addressed at or below here
}

// Start begins the first turn of a machine: no event.
func (x *Exchange) Start() Turn {
	x.has, x.Out, x.Sites, x.Notes = false, x.Out[:0], x.Sites[:0], x.Notes[:0]
	return Turn{Exchange: x}
}

// Deliver begins a turn that brings one event.
func (x *Exchange) Deliver(at Path, r Reply) Turn {
	x.Ev = Event{at, r}
	x.has, x.Out, x.Sites, x.Notes = true, x.Out[:0], x.Sites[:0], x.Notes[:0]
	return Turn{Exchange: x, mine: true}
}

// Consumed reports whether the turn's event found its call. A host that sees it
// unconsumed has found a broken machine: one that dropped a branch in flight.
func (x *Exchange) Consumed() bool { return !x.has }

// In narrows the turn to branch s. Branches that are in flight at the same time
// must have different slots.
func (t Turn) In(s Slot) Turn {
	d := t.at.s[MaxDepth]
	t.mine = t.mine && t.has && t.Ev.At.s[MaxDepth] > d && t.Ev.At.s[d] == s
	t.at = t.at.Then(s)
	return t
}

// addressed is the lane that the turn's event goes to, if it goes below here.
func (t *Turn) addressed() (Slot, bool) {
	d := t.at.s[MaxDepth]
	if t.mine && t.has && t.Ev.At.s[MaxDepth] > d {
		return t.Ev.At.s[d], true
	}
	return 0, false
}

// Path is where the turn stands.
func (t Turn) Path() Path { return t.at }

// Note counts something that happened, for metrics and coverage. It is data on
// the side and never part of a machine's state.
func (t Turn) Note(k NoteKind, n int64) { t.Exchange.Notes = append(t.Exchange.Notes, Note{k, n, ""}) }

// NoteOf is Note with the key that it is about, for logs.
func (t Turn) NoteOf(k NoteKind, n int64, key string) {
	t.Exchange.Notes = append(t.Exchange.Notes, Note{k, n, key})
}

// Machine is a root: one process, or one duty run on its own.
type Machine interface{ Step(Turn) (done bool) }
