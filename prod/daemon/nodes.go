package daemon

import (
	"cmp"
	"context"
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Node is a star or an auditor, alive or not.
type Node struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // star or auditor
	Alive bool   `json:"alive"`
	// Of a star: its chains.
	Chains    int    `json:"chains"`
	Open      int    `json:"open"`      // a writer may append to it
	Unsettled int    `json:"unsettled"` // not settled, the open ones included
	ToAbsorb  uint64 `json:"to_absorb"` // slots below a published cut that are not absorbed
	ToTrim    uint64 `json:"to_trim"`   // slots that are absorbed and not deleted yet
}

// Nodes lists the auditors that are alive, and every star that is alive or has a
// chain record.
func (c *Cluster) Nodes(ctx context.Context) ([]Node, error) {
	stars := map[string]*Node{}
	star := func(name string) *Node {
		if stars[name] == nil {
			stars[name] = &Node{Name: name, Kind: "star"}
		}
		return stars[name]
	}
	var all []Node
	from, end := keys.StarRange()
	rev, err := c.Rows(ctx, 0, from, end, func(r core.Row) error {
		name, err := keys.ParseStar(r.Key)
		if err == nil {
			star(name).Alive = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	from, end = keys.AuditorsRange()
	if _, err = c.Rows(ctx, rev, from, end, func(r core.Row) error {
		name, err := keys.ParseAuditor(r.Key)
		if err == nil {
			all = append(all, Node{Name: name, Kind: "auditor", Alive: true})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	from, end = keys.ChainsRange()
	checkpoints := map[string]uint64{}
	if _, err = c.Rows(ctx, rev, from, end, func(r core.Row) error {
		name, _, part, err := keys.ParseChain(r.Key)
		if err != nil {
			return nil // verify reports it
		}
		n, chain := star(name), r.Key[:len(r.Key)-len(part)]
		switch part {
		case keys.PartHead: // before its trim row, in the order of keys
			n.Chains++
			h, err := format.DecodeChainHead(r.Val)
			if err != nil {
				return nil
			}
			checkpoints[chain] = h.Checkpoint
			if h.State == format.ChainOpen {
				n.Open++
			} else if h.Cut > h.Checkpoint {
				n.ToAbsorb += h.Cut - h.Checkpoint
			}
			if h.State != format.ChainSettled {
				n.Unsettled++
			}
		case keys.PartTrim:
			if t, err := format.DecodeChainTrim(r.Val); err == nil && checkpoints[chain] > t.Trimmed {
				n.ToTrim += checkpoints[chain] - t.Trimmed
			}
			delete(checkpoints, chain)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, n := range stars {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b Node) int { return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}
