package format

import "nova/core"

// GonePhase is how far the decommission of a star has come.
type GonePhase uint8

const (
	GoneDraining GonePhase = 1 // the star never comes back; its chains are rewritten and trimmed, and then their records go
	GoneSwept    GonePhase = 2 // no chain record is left, and its prefix was swept once, at SweptAt
	GoneDone     GonePhase = 3 // swept again, one request lifetime later: no other key names the star
)

// Gone is the value of gone/{star}: the irrevocable record. It is written once
// every epoch of the star is settled, and stays for good. Until the phase is
// GoneDone it is what watches the star's prefix: whatever stands there, or comes
// back there, is swept.
type Gone struct {
	Phase   GonePhase
	Since   core.Ms
	SweptAt core.Ms
	Stores  []core.Store // that are swept: those of the cluster, and of every chain of the star
}

// MaxGoneStores is how many stores a record names at most.
const MaxGoneStores = 256

// Encode is the value of gone/{star}.
func (g Gone) Encode() string {
	w := begin(tagGone, 24+16*len(g.Stores))
	w.b = append(w.b, byte(g.Phase))
	w.ms(g.Since)
	w.ms(g.SweptAt)
	w.stores(g.Stores)
	return w.end()
}

// DecodeGone decodes a star's irrevocable record.
func DecodeGone(v string) (Gone, error) {
	var g Gone
	r := open(tagGone, v)
	g.Phase = GonePhase(r.byte())
	g.Since = r.ms()
	g.SweptAt = r.ms()
	g.Stores = r.storesUpTo(MaxGoneStores)
	r.check(g.Phase >= GoneDraining && g.Phase <= GoneDone, "a phase that does not exist")
	r.check(len(g.Stores) > 0, "no store to sweep")
	if err := r.close(); err != nil {
		return Gone{}, err
	}
	return g, nil
}
