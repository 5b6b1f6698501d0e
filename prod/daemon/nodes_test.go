package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func TestNodesOfRows(t *testing.T) {
	f := nodeFold{stars: map[string]*Node{}}
	put := func(key, val string) {
		if err := f.row(core.Row{Mark: core.Mark{Key: key, Rev: 1}, Val: val}); err != nil {
			t.Fatal(err)
		}
	}
	stores := []core.Store{"a"}
	gone := func(p format.GonePhase) string { return format.Gone{Phase: p, Stores: stores}.Encode() }
	put(keys.Star("live"), "p")
	put(keys.Auditor("aud"), "")
	put(keys.Gone("half"), gone(format.GoneDraining))
	put(keys.Gone("late"), gone(format.GoneSwept))
	put(keys.Gone("over"), gone(format.GoneDone))
	put(keys.Mint("dead/star", core.Express), format.EncodeNumber(5))
	put(keys.Mint("dead/star", core.Standard), format.EncodeNumber(4))
	chain := func(star string, epoch uint64, h format.ChainHead, tr format.ChainTrim) {
		put(keys.ChainConst(star, epoch), format.ChainConst{Stores: stores, Pipeline: 1}.Encode())
		put(keys.ChainHead(star, epoch), h.Encode())
		put(keys.ChainTrim(star, epoch), tr.Encode())
	}
	chain("dead/star", 1, format.ChainHead{State: format.ChainSettled, Checkpoint: 9, Cut: 9}, format.ChainTrim{Trimmed: 9, Rewritten: 9})
	chain("dead/star", 2, format.ChainHead{State: format.ChainSwept, Checkpoint: 7, Cut: 7}, format.ChainTrim{Trimmed: 2, Rewritten: 3})
	chain("dead/star", 3, format.ChainHead{State: format.ChainCut, Checkpoint: 4, Cut: 7}, format.ChainTrim{Trimmed: 4, Rewritten: 4})
	put(keys.ChainConst("dead/star", 4), "?")
	put(keys.ChainHead("dead/star", 4), "?")
	put(keys.ChainTrim("dead/star", 4), "?")
	chain("live", 6, format.ChainHead{State: format.ChainOpen, Checkpoint: 8}, format.ChainTrim{Trimmed: 5, Rewritten: 5})
	put("elsewhere", "")
	want := []Node{
		{Name: "dead/star", Kind: "star", State: "dead", Classes: []string{"express", "standard"}, Chains: 4, Cut: 1, Swept: 1, Settled: 1, Unsettled: 2, ToAbsorb: 3, ToTrim: 5},
		{Name: "half", Kind: "star", State: "draining"},
		{Name: "late", Kind: "star", State: "swept"},
		{Name: "live", Kind: "star", State: "alive", Alive: true, Chains: 1, Open: 1, Unsettled: 1, ToTrim: 3},
		{Name: "over", Kind: "star", State: "decommissioned"},
		{Name: "aud", Kind: "auditor", State: "alive", Alive: true},
	}
	if d := cmp.Diff(want, f.nodes()); d != "" {
		t.Error(d)
	}
}
