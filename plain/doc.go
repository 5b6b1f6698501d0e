// Package plain reads the state of machines from outside: it checks that a type
// is plain data, and clones, encodes, decodes, compares, hashes and prints its
// values. No machine writes any of this by hand: a forgotten field would merge two
// states that differ, and what merges states is what a search relies on.
//
// Reflection runs once a type: Of compiles it to a flat program over offsets.
//
// Payload slices are immutable once set, and a clone shares them. What a clone
// copies are the slices that change in place: the lanes of a core.Group and the
// values of a core.Results.
package plain
