// Package sim runs whole processes, machines of the core, over a simulated world
// and cuts them wherever a seed says.
//
// A run is a function of its seed: every choice (which effect lands next, what
// strikes, what a client asks for, how time goes by) is drawn through one tape,
// in order. The tape is recorded, so that a run can be replayed, and shortened,
// without its seed.
//
//	go test ./sim -seed 17 -v      replays one seed and prints what happened
//	go test ./sim -runs 1000       runs a thousand seeds
//
// An effect of any process is a choice of its own, twice: when it lands, and when
// its reply is delivered. Faults strike by plan (package faults). The laws are
// evaluated after everything that changes the world.
package sim
