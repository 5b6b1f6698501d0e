package plan

import "nova/core/format"

// Match is how a standing object compares with the output that met it.
type Match uint8

const (
	Foreign Match = iota // it holds what the output does not: refuse loudly
	MidRow               // it ends inside a row: corruption
	Other                // honest, but planned from newer or more rows: derive anew
	Covers               // it is the output, or a prefix of it that ends at a row's end
)

var matchNames = [...]string{"foreign", "mid-row", "other", "covers"}

func (m Match) String() string {
	if int(m) < len(matchNames) {
		return matchNames[m]
	}
	return "match?"
}

// Cover judges an object that stands at the output's key by its footer, and says
// how many of the output's rows it covers. What the winner copied and we would
// not (it read an older watermark) is dead weight; what we would copy and the
// winner did not means that our watermark is the older one.
func (l *Layout) Cover(f format.Footer) (rows int, m Match) {
	n := f.Len()
	if n == 0 {
		return 0, Foreign
	}
	first := f.At(0)
	j := 0
	for j < len(l.All) && l.All[j].First < first.First {
		j++
	}
	if j == len(l.All) {
		return 0, Foreign
	}
	for k := 0; k < n && j+k < len(l.All); k++ {
		if !sameRecords(f.At(k), l.All[j+k]) {
			return 0, Foreign
		}
	}
	end := j + n
	switch {
	case j > l.Drop || end > len(l.All):
		return 0, Other
	case end < l.Base:
		return 0, MidRow
	case end == l.Base && l.Base > 0:
		return 0, Covers
	}
	for i, e := range l.Ends {
		if e == end {
			return i + 1, Covers
		}
	}
	return 0, MidRow
}

// sameRecords compares two chunks but for where their bytes lie.
func sameRecords(a, b format.Chunk) bool {
	a.Off, b.Off = 0, 0
	return a == b
}
