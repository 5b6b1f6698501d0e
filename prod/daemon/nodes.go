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
	Kind  string `json:"kind"`  // star or auditor
	State string `json:"state"` // alive or dead; of a star also draining, swept (a decommission is under way) or decommissioned
	Alive bool   `json:"alive"`
	// Of a star: its chains, one an epoch.
	Classes   []string `json:"classes,omitempty"`
	Chains    int      `json:"chains"`
	Open      int      `json:"open"`      // a writer may append to it
	Cut       int      `json:"cut"`       // nobody may; what lies below the cut is being absorbed
	Swept     int      `json:"swept"`     // absorbed; its garbage goes once more
	Settled   int      `json:"settled"`   // nothing is left to do but to rewrite and trim its slots
	Unsettled int      `json:"unsettled"` // not settled, the open ones included
	ToAbsorb  uint64   `json:"to_absorb"` // slots below a published cut that are not absorbed
	ToTrim    uint64   `json:"to_trim"`   // slots that are absorbed and not deleted yet
}

// Nodes lists the auditors that are alive, and every star that is alive, has a
// chain record, or is decommissioned, at one revision.
func (c *Cluster) Nodes(ctx context.Context) ([]Node, error) {
	f := nodeFold{stars: map[string]*Node{}}
	var rev int64
	for _, r := range []func() (from, end string){keys.StarRange, keys.AuditorsRange, keys.GoneRange, keys.MintsRange, keys.ChainsRange} {
		from, end := r()
		var err error
		if rev, err = c.Rows(ctx, rev, from, end, f.row); err != nil {
			return nil, err
		}
	}
	return f.nodes(), nil
}

// nodeFold makes nodes of rows, in any order but that a chain's rows come in the
// order of keys.
type nodeFold struct {
	stars      map[string]*Node
	auditors   []Node
	checkpoint uint64 // of the head that was read last: its trim row comes next
}

func (f *nodeFold) star(name string) *Node {
	if f.stars[name] == nil {
		f.stars[name] = &Node{Name: name, Kind: "star", State: "dead"}
	}
	return f.stars[name]
}

// row takes one row. What does not parse or decode verify reports.
func (f *nodeFold) row(r core.Row) error {
	if name, err := keys.ParseStar(r.Key); err == nil {
		n := f.star(name)
		n.Alive, n.State = true, "alive"
	} else if name, err := keys.ParseAuditor(r.Key); err == nil {
		f.auditors = append(f.auditors, Node{Name: name, Kind: "auditor", State: "alive", Alive: true})
	} else if name, err := keys.ParseGone(r.Key); err == nil {
		if g, err := format.DecodeGone(r.Val); err == nil {
			f.star(name).State = [...]string{format.GoneDraining: "draining", format.GoneSwept: "swept", format.GoneDone: "decommissioned"}[g.Phase]
		}
	} else if name, class, err := keys.ParseMint(r.Key); err == nil {
		n := f.star(name)
		n.Classes = append(n.Classes, class.String())
	} else if name, _, part, err := keys.ParseChain(r.Key); err == nil {
		f.chain(f.star(name), part, r.Val)
	}
	return nil
}

func (f *nodeFold) chain(n *Node, part, val string) {
	switch part {
	case keys.PartConst:
		f.checkpoint = 0
	case keys.PartHead:
		h, err := format.DecodeChainHead(val)
		n.Chains++
		if err != nil {
			return
		}
		f.checkpoint = h.Checkpoint
		switch h.State {
		case format.ChainOpen:
			n.Open++
		case format.ChainCut:
			n.Cut++
		case format.ChainSwept:
			n.Swept++
		case format.ChainSettled:
			n.Settled++
		}
		if h.State != format.ChainSettled {
			n.Unsettled++
		}
		if h.State != format.ChainOpen && h.Cut > h.Checkpoint {
			n.ToAbsorb += h.Cut - h.Checkpoint
		}
	case keys.PartTrim:
		if t, err := format.DecodeChainTrim(val); err == nil && f.checkpoint > t.Trimmed {
			n.ToTrim += f.checkpoint - t.Trimmed
		}
	}
}

// nodes is the stars, then the auditors, by name.
func (f *nodeFold) nodes() []Node {
	all := make([]Node, 0, len(f.stars)+len(f.auditors))
	for _, n := range f.stars {
		all = append(all, *n)
	}
	all = append(all, f.auditors...)
	slices.SortFunc(all, func(a, b Node) int { return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.Name, b.Name)) })
	return all
}
