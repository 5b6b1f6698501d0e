package core_test

import (
	"testing"

	"pgregory.net/rapid"

	"nova/core"
)

func TestPathIdentity(t *testing.T) {
	var root core.Path
	if root.Len() != 0 || root.String() != "-" {
		t.Fatalf("the root path has %d slots and prints %q", root.Len(), root)
	}
	a, b := root.Then(1).Then(2), root.Then(1).Then(2)
	if a != b || a.String() != "1.2" || a.Len() != 2 || a.At(0) != 1 || a.At(1) != 2 {
		t.Fatalf("%s and %s must be one path", a, b)
	}
	// A slot of 0 is a slot: depth is part of the identity.
	for _, c := range []core.Path{root, root.Then(1), a.Then(0), root.Then(2).Then(1), root.Then(0).Then(1).Then(2)} {
		if c == a {
			t.Errorf("%s equals %s", c, a)
		}
	}
	if root.Then(0) == root {
		t.Error("a path with slot 0 equals its parent")
	}
}

func TestPathRefusesToNestTooDeep(t *testing.T) {
	var p core.Path
	for range core.MaxDepth {
		p = p.Then(65535)
	}
	if p.Len() != core.MaxDepth {
		t.Fatalf("%d slots, want %d", p.Len(), core.MaxDepth)
	}
	defer func() {
		if recover() == nil {
			t.Fatal("a path deeper than MaxDepth must panic, not overwrite its depth")
		}
	}()
	p.Then(1)
}

func drawPath(t *rapid.T, name string) core.Path {
	var p core.Path
	for _, s := range rapid.SliceOfN(rapid.Uint16Range(0, 3), 0, core.MaxDepth).Draw(t, name) {
		p = p.Then(s)
	}
	return p
}

func TestPathOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawPath(t, "a"), drawPath(t, "b"), drawPath(t, "c")
		if a.Less(a) {
			t.Fatalf("%s is less than itself", a)
		}
		if n := btoi(a.Less(b)) + btoi(b.Less(a)); n != btoi(a != b) {
			t.Fatalf("%s and %s: %d of the two orders hold", a, b, n)
		}
		if a.Less(b) && b.Less(c) && !a.Less(c) {
			t.Fatalf("%s < %s < %s, and not the first before the last", a, b, c)
		}
		if d := a; d.Len() < core.MaxDepth && !a.Less(d.Then(0)) {
			t.Fatalf("%s does not come before its child", a)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
