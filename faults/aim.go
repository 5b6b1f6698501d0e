package faults

import (
	"fmt"
	"strings"

	"nova/faults/boundaries"
)

// Aim is where a run was told to cut: at a row of the crash table, or at one
// boundary. The zero Aim is nowhere.
type Aim struct {
	Row   int // 1 + its index in Table; 0: a boundary
	Point int // Row 0: 1 + its index in boundaries.All; 0: nowhere
	Sided bool
	Side  Side // Sided: on this side; otherwise on each in turn
}

// ParseAim reads an aim: the name of a row, or of a boundary, and perhaps a side of
// it: "put-before-commit", "duty.ReapCheck.Step/reapDelete:delete=silent".
func ParseAim(s string) (a Aim, err error) {
	if s == "" {
		return a, nil
	}
	if i, ok := RowNamed(s); ok {
		return Aim{Row: i + 1}, nil
	}
	name, side, sided := strings.Cut(s, "=")
	a.Point, a.Sided = boundaries.Index(name)+1, sided
	for i, n := range sideNames {
		if n == side {
			a.Side, sided = Side(i), false
		}
	}
	switch {
	case a.Point == 0:
		err = fmt.Errorf("%w: %q is no row of the crash table (%s) and no boundary (faults/boundaries/list.txt)", ErrPlan, name, strings.Join(rowNames(), ", "))
	case sided:
		err = fmt.Errorf("%w: %q is no side of an effect; the sides are %v", ErrPlan, side, sideNames)
	}
	if err != nil {
		return Aim{}, err
	}
	return a, nil
}

// String is the aim in the form that ParseAim reads.
func (a Aim) String() string {
	switch {
	case a.Row > 0:
		return Table[a.Row-1].Name
	case a.Point == 0:
		return ""
	case a.Sided:
		return boundaries.All()[a.Point-1].Name + "=" + a.Side.String()
	}
	return boundaries.All()[a.Point-1].Name
}

func rowNames() []string {
	names := make([]string, Rows)
	for i := range Table {
		names[i] = Table[i].Name
	}
	return names
}
