package sim

import (
	"nova/core/law"
	"nova/sim/world"
)

// LawChange is a change of a world as the laws take it.
func LawChange(c *world.Change) law.Change { return lawful(c) }
