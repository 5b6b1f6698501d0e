// Package bench measures what Nova is held to: how many simulated effects a CPU
// second takes with every law checked after each of them, beside the bare
// application of the same operations to the model; and how fast an era settles,
// beside a plain copy loop over the same server. `make bench` runs it with the
// engine's own benchmarks. All of it is in benchmarks: `go test ./...` times
// nothing here.
//
// Two figures that are to be compared are taken in one run, side by side, and the
// ratio is what counts: absolute ones move with the machine.
package bench
