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
// A run that breaks a law is kept as a record: its choices, named by what they were
// about, so that it can be replayed after the code has changed, and taken apart
// (packages shrink, story and html; docs/reproduce.md).
//
// An effect of any process is a choice of its own, twice: when it lands, and when
// its reply is delivered. Faults strike by plan (package faults). The laws are
// evaluated after everything that changes the world.
package sim
