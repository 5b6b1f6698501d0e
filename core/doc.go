// Package core is the engine of Nova and its vocabulary: pure step machines,
// events in, effects out, and nothing else.
//
// A duty, a protocol and the whole of a process are each a machine: a plain
// struct with a step enum and a method
//
//	Step(t Turn, …) bool
//
// that is one switch over the step, its cases in the order of the specification.
// A turn carries the time and at most one event; the machine answers with a set
// of effects. It performs no I/O, reads no clock and starts nothing. The same
// machines run in two hosts: a driver over a real object store and a real etcd,
// and a simulator that cuts them at every effect.
//
// # Contracts
//
// For the machines:
//
//   - State is plain values: no pointer, map, func, chan or interface, so that a
//     machine can be cloned, compared, hashed and printed by code outside the
//     core (a test walks every machine's type). Sub-machines are embedded by
//     value. Payload slices and strings are immutable once set: replace them, or
//     extend with s[:n:n]. Only Group and Results own slices that change.
//   - The effects of one turn are an unordered set; order comes only from
//     awaiting. A cut may land any subset of what is pending.
//   - An effect's whole identity is its path. At most one effect is pending at a
//     path. Branches that are in flight together are stepped with Turn.In.
//   - A group drains: it is never abandoned with effects in flight. So is every
//     other branch: a machine is finished only when nothing of it is pending.
//   - Results are stored by index, not by arrival.
//   - Dropping the value is the crash. There is no code that a crash would skip.
//   - Zero a child when it is spent; it merges states and keeps prints readable.
//   - Everything is bounded by a named constant of Dials; what can be long is
//     walked in pages.
//   - A machine never deletes, resolves or condemns on Unknown.
//
// For the hosts:
//
//   - Every effect gets exactly one event, whatever happened to the request.
//     Unknown is an outcome: the effect may have landed, may never land, or may
//     land later, even after a restart of the process, but a mutation of the
//     object store never lands later than its NotAfter plus the time in service.
//   - Absent, Exists, Conflict, OutOfRange, Refused and NoSpace are said only
//     when the answer was definite; each means that the operation did not and
//     will not take effect.
//   - One effect names one key. A host may gather effects into larger requests,
//     but answers each of them on its own.
//   - The Reply that Await returns is valid during the turn only.
//   - Turn.Now is the process's own clock; it may be skewed against others.
package core
