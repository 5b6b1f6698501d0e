package explore

import (
	"slices"
	"strings"

	"nova/core"
	"nova/core/law"
	"nova/sim/world"
)

// World is a small world: actors, what stands when they start, and which faults
// may strike.
type World struct {
	Name    string
	About   string // what meets whom, in a sentence
	Dials   core.Dials
	Stores  core.Stores
	Dialect world.Dialect
	Actors  []Actor
	Faults  Budget
	Subset  int  // of more effects than this in flight, a cut lands all, none, one, or all but one
	Edges   bool // time stops at the last moments at which requests that are in flight can land
	States  int  // how many there are, with reduction: tests assert it

	epoch   core.Ms
	horizon core.Ms
	made    *world.World
	acks    []law.Ack
	flying  []flying // requests on their way when the world begins
	leaves  []string // law 8: prefixes of what no actor of this world takes away
}

// flying is a request that a process sent before the world begins.
type flying struct {
	op    core.Op
	until core.Ms
}

// standing reports whether a row or object may be left at the end.
func (w *World) standing(key string) bool {
	return slices.ContainsFunc(w.leaves, func(p string) bool { return strings.HasPrefix(key, p) })
}
