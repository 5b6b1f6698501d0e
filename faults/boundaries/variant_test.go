package boundaries

import (
	"testing"
	"testing/fstest"
)

// A function that stands beside another as a planted bug makes it has no boundaries of
// its own; its places are those of the other.
func TestVariantsAreNoBoundaries(t *testing.T) {
	const text = `package duty

import "nova/core"

type D struct{ call core.Call }

func (d *D) Step(t core.Turn) bool {
	if core.PlantedBug == 3 {
		return d.Step__3(t)
	}
	_, ok := d.call.Await(t, core.Get("k"))
	return ok
}

func (d *D) Step__3(t core.Turn) bool {
	core.Planted()
	_, ok := d.call.Await(t, core.Get("k"))
	return ok
}

func (d *D) Step__x(t core.Turn) bool {
	_, ok := d.call.Await(t, core.Get("x"))
	return ok
}
`
	list, variants, err := read(fstest.MapFS{"core/duty/d.go": {Data: []byte(text)}})
	if err != nil || len(list) != 2 || list[0].Name != "duty.D.Step:get" || list[1].Name != "duty.D.Step__x:get" {
		t.Errorf("%v, %v", list, err)
	}
	if len(variants) != 1 || variants[0].Name != list[0].Name || variants[0].Line == list[0].Line {
		t.Errorf("variants %v", variants)
	}
}
