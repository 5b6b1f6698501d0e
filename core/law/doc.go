// Package law holds the invariants of design section 6 as pure functions over a
// snapshot of metastore rows, objects and unfinished uploads. The simulator holds
// a run to them after every effect, nova verify holds a live cluster to them.
//
// Laws judge on a code path of their own: they read bytes and keys, and share no
// decision with the machines that they judge.
//
//	0  every row and object decodes, and stands under a key that the keyspace knows
//	1  no bytes without a watcher; no watcher where no duty looks for it
//	2  no ref without bytes that match it
//	3  no acknowledged record that is in no ref and in no committed slot, and none
//	   that went unless a client asked for it or it is older than its policy
//	4  no deletion sooner than one read grace after the last death
//	5  cursors and watermarks only rise, and not above what is absorbed
//	6  one catalog entry names an object, in standard storage
//	8  when everything has drained, nothing is left and nothing moves but clocks;
//	   and at every instant: one clock ticks for one thing, no row that served a
//	   stream outlives it, and its final walk comes a quiesce after the first
//
// (Law 7, budgets, and law 9, that faults struck, are for the hosts; Report says
// how often each law was evaluated.)
//
// What needs more than a snapshot is judged only by a judge that has it: the time
// (Judge.Now) for law 4, the quiesce and the dates of clocks; what clients asked for
// (Judge.Hear) for who trims and who deletes. Ticks follows a world at rest.
//
// Instant and Acked judge a whole snapshot. A Judge follows changes and judges
// only what they can affect; both say the same (a test holds them to it).
//
// What cannot be decoded is a breach of law 0, and whatever it may have named
// counts as named: it is nobody's to delete.
package law
