package transcript

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"

	"nova/core"
)

// ErrDials is wrapped by Decode's error where a machine had other dials than this
// build has: other names, not other values.
var ErrDials = errors.New("recorded by a build that has other dials")

// dialNames is a hash of the names of the dials, in their order. Dials are numbers
// in that order: a build with others must not take one for another.
var dialNames = func() uint64 {
	h := fnv.New64a()
	t := reflect.TypeFor[core.Dials]()
	for i := range t.NumField() {
		fmt.Fprint(h, t.Field(i).Name, " ", t.Field(i).Type, ";")
	}
	return h.Sum64()
}()

// eachDial calls f for every number of the dials.
func eachDial(d *core.Dials, f func(reflect.Value)) {
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		if x := v.Field(i); x.Kind() == reflect.Array {
			for k := range x.Len() {
				f(x.Index(k))
			}
		} else {
			f(x)
		}
	}
}

func (w *wire) dials(d *core.Dials) {
	w.u(dialNames)
	var n wire
	eachDial(d, func(v reflect.Value) { n.i(v.Int()) })
	w.text(string(n))
}

// dials reports whether the dials have the names that this build's have.
func (p *unwire) dials(d *core.Dials) (known bool) {
	names, in := p.u(), unwire{s: p.text()}
	if p.bad || names != dialNames {
		return false
	}
	eachDial(d, func(v reflect.Value) { v.SetInt(in.i()) })
	p.need(!in.bad && in.s == "")
	return true
}
