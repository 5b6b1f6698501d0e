package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Chain names one epoch of a star, with its constants. It is handed to the
// machines that work on the chain.
type Chain struct {
	Star  string
	Epoch uint64
	Const format.ChainConst
}

// Slot is the object of a slot at one store of the set.
func (c *Chain) Slot(store int, slot uint64) core.Obj {
	return core.Obj{Store: c.Const.Stores[store], Key: keys.Slot(c.Star, c.Epoch, slot)}
}

// replica is member i of the replicas of the slots from a slot on, store by store.
func (c *Chain) replica(from uint64, i int) (core.Obj, uint64) {
	n := len(c.Const.Stores)
	slot := from + uint64(i/n)
	return c.Slot(i%n, slot), slot
}

// shard is the shard of every marker of the chain.
func (c *Chain) shard(e *core.Env) int { return keys.ShardOfChain(c.Star, c.Epoch, e.Dials.Shards) }
