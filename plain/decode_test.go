package plain_test

import (
	"errors"
	"testing"

	"nova/core"
	"nova/plain"
)

func TestDecodeIsAppendBack(t *testing.T) {
	for n := range 9 {
		m := &tree{name: "root", step: 3, at: -5, kind: core.Express, marks: []core.Mark{{Key: "k", Rev: 7}, {}}}
		drive(m, n, 1)
		enc := string(plain.Append(nil, m))
		var got tree
		if err := plain.Decode(enc, &got); err != nil || !plain.Equal(m, &got) {
			t.Fatalf("after %d replies: %v\nhave %s\nwant %s", n, err, plain.Print(&got), plain.Print(m))
		}
		for k := range len(enc) { // every cut of it is refused
			var cut tree
			if err := plain.Decode(enc[:k], &cut); !errors.Is(err, plain.ErrEncoding) {
				t.Fatalf("after %d replies, cut at %d of %d: %v", n, k, len(enc), err)
			}
		}
		if err := plain.Decode(enc+"x", new(tree)); !errors.Is(err, plain.ErrEncoding) {
			t.Fatalf("a byte too many: %v", err)
		}
	}
}

// A machine that was decoded goes on as the one that was encoded.
func TestDecodedMachineGoesOn(t *testing.T) {
	a := &tree{}
	pending := drive(a, 4, 0)
	var b tree
	if err := plain.Decode(string(plain.Append(nil, a)), &b); err != nil {
		t.Fatal(err)
	}
	for len(pending) > 0 {
		e := pending[0]
		var xa, xb core.Exchange
		a.Step(xa.Deliver(e.At, core.Reply{Val: "v"}))
		b.Step(xb.Deliver(e.At, core.Reply{Val: "v"}))
		if len(xa.Out) != len(xb.Out) || !plain.Equal(a, &b) {
			t.Fatalf("they part at %s:\n%s\n%s", e.At, plain.Print(a), plain.Print(&b))
		}
		pending = append(pending[1:], xa.Out...)
	}
}

func TestShapeTellsTypesApart(t *testing.T) {
	type one struct {
		A int32
		S []string
	}
	type renamed struct {
		B int32
		S []string
	}
	type wider struct {
		A int64
		S []string
	}
	type swapped struct {
		S []string
		A int32
	}
	seen := map[uint64]string{}
	for name, ptr := range map[string]any{"one": &one{}, "renamed": &renamed{}, "wider": &wider{}, "swapped": &swapped{}, "array": &[3]one{}, "longer": &[4]one{}, "slice": &struct{ X []one }{}} {
		h := plain.Shape(ptr)
		if was, ok := seen[h]; ok {
			t.Errorf("%s and %s have one shape", name, was)
		}
		seen[h] = name
	}
	if plain.Shape(&one{A: 1}) != plain.Shape(&one{}) {
		t.Error("the shape depends on the value")
	}
}

func FuzzDecode(f *testing.F) {
	for n := range 5 {
		m := &tree{name: "root", marks: []core.Mark{{Key: "k", Rev: 7}}}
		drive(m, n, 1)
		f.Add(string(plain.Append(nil, m)))
	}
	f.Fuzz(func(t *testing.T, b string) {
		var m tree
		if err := plain.Decode(b, &m); err == nil && string(plain.Append(nil, &m)) != b {
			t.Errorf("%q decodes, and encodes as %q", b, plain.Append(nil, &m))
		}
	})
}
