package explore

import (
	"unsafe"

	"nova/core"
)

// MaxActors is how many processes one world has at most.
const MaxActors = 4

// state is everything: what runs, the world, what is still on its way, the time,
// and how many faults may yet strike.
type state struct {
	p      [MaxActors]uint32 // processes
	w      uint32            // world
	ghosts uint32            // set of requests on their way whose senders know no more
	clock  uint16
	left   Budget
	_      uint16
}

// Budget is how many faults may strike.
type Budget struct {
	Cuts uint8 // processes cut
	Lost uint8 // effects that land, or do not, and whose sender learns nothing
	Late uint8 // requests that land after their sender was told that nothing is known, or after its cut
	// Pauses is how often time moves on while a reply waits for its process. (While
	// an effect has not landed, it may move on as it likes.)
	Pauses uint8
}

func (s *state) hash() uint64 {
	q := (*[4]uint64)(unsafe.Pointer(s))
	h := mix(q[0])
	h = mix(h ^ q[1])
	h = mix(h ^ q[2])
	return mix(h ^ q[3])
}

var _ [32]byte = [unsafe.Sizeof(state{})]byte{}

// ghost is a request on its way whose sender is gone, or was told that nothing is
// known; or the end of a cut process's session, which must come.
type ghost struct {
	op       uint32
	admitted core.Ms
	until    core.Ms // it lands by then or never
	must     bool
}
