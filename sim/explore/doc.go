// Package explore searches small worlds exhaustively: a handful of the real
// machines over the model of the metastore and the stores, in every interleaving
// of their effects, with up to so many cuts, lost replies and late requests, and
// time moving on at any point between. States are merged by hash, so that what
// can be reached in a thousand ways is looked at once. The laws that a world alone can
// break are judged on every world that is reached; of those that a change breaks,
// law 4 (deletions and readers) and law 5 on every write that leads to it.
//
// What takes a history is the seeds': that an object stays what it was (law 6), who
// asked that records go (law 3), the dates of clocks and the quiesce (law 8), widths
// (law 7), and what reads back in the end.
//
// What makes it fast: the machines and the world are pure, so a step is a
// function of (machine, effect, reply, clock) and a landing one of (world,
// operation, clock). Processes, worlds, operations and replies are interned as
// small integers, both functions are memoised, and a whole state is 32 bytes. The
// machines' code, the codec and the laws run once for each distinct input.
//
// What keeps it finite: revisions are counted by key (world.Local), so that
// independent writes commute; time moves only to instants at which something
// becomes due; and each world bounds its faults.
//
// The same tables serve the other strategies: random walks, walks with few
// preemptions (PCT), and walks that are steered to what is new.
package explore
