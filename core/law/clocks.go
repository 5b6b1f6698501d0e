package law

import "nova/core"

// Clocks is how far the clocks of the processes are apart that have run: of each,
// what it was ahead of the true time, the least and the most. What one has dated
// stands after it is gone.
type Clocks struct {
	any         bool
	least, most core.Ms
}

// Run notes a process whose clock is so far ahead. One that is off by more than two
// clocks may be apart is wrong: law 4 makes no allowance for it, since nothing may go
// by it.
func (c *Clocks) Run(ahead core.Ms, d *core.Dials) {
	switch {
	case max(ahead, -ahead) > d.Skew:
	case !c.any:
		*c = Clocks{true, ahead, ahead}
	default:
		c.least, c.most = min(c.least, ahead), max(c.most, ahead)
	}
}

// Least is what the clock that is most behind is ahead of the true time.
func (c *Clocks) Least() core.Ms { return c.least }

// Spread is the most that two of them are apart.
func (c *Clocks) Spread() core.Ms { return c.most - c.least }
