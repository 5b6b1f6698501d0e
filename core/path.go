package core

import "strconv"

// Slot is one step of a path: which branch, or which lane of a group.
type Slot = uint16

// MaxDepth bounds how deeply machines that run beside each other nest.
const MaxDepth = 7

// Path is the slots from the root machine down to one call: an effect's whole
// identity. The last element is the depth. Paths are comparable.
type Path struct{ s [MaxDepth + 1]Slot }

// Len is the number of slots.
func (p Path) Len() int { return int(p.s[MaxDepth]) }

// At is slot i.
func (p Path) At(i int) Slot { return p.s[i] }

// Then is the path one slot further down.
func (p Path) Then(s Slot) Path {
	d := p.s[MaxDepth]
	if d == MaxDepth {
		panic("core: path deeper than MaxDepth")
	}
	p.s[d], p.s[MaxDepth] = s, d+1
	return p
}

// Less orders paths: a total order, parents before children.
func (p Path) Less(q Path) bool {
	for i := range p.s {
		if p.s[i] != q.s[i] {
			return p.s[i] < q.s[i]
		}
	}
	return false
}

func (p Path) String() string {
	b := make([]byte, 0, 24)
	for i := range p.Len() {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, uint64(p.s[i]), 10)
	}
	if len(b) == 0 {
		return "-"
	}
	return string(b)
}
