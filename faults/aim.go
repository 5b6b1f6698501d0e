package faults

import (
	"fmt"
	"slices"
	"strings"

	"nova/faults/boundaries"
)

// Aim is where a run was told to cut, or to strike otherwise: at a row of the crash
// table, or at one boundary. The zero Aim is nowhere.
type Aim struct {
	Row   int    // 1 + its index in Table; 0: a boundary
	Point int    // Row 0: 1 + its index in boundaries.All; 0: nowhere
	Root  string // only of such a process ("gc"); "": of any
	Sided bool
	Side  Side // Sided: on this side; otherwise on each in turn
	Kind  Kind // of Aimable: that strikes there, instead of a cut; None: it is cut
	Every bool // of a Kind: each time, and not only the first, the second, the fourth, the eighth …
}

// Aimable are the kinds that a run can be told to strike with at a boundary, beside
// the cuts: what happens between two steps that follow each other at once needs a
// process that stands still, or an effect that is on its way for long, there, or a
// clock that is wrong there and right again a moment later. A seed's own plan draws
// from the first drawnKinds of them.
var Aimable = [...]Kind{Pause, Slow, Late, LostReply, Refusal, Jump}

const drawnKinds = 5

// everyWord begins the kind of an aim that strikes each time.
const everyWord = "every-"

// ParseAim reads an aim: the name of a row, or of a boundary, perhaps of one kind
// of process, and perhaps on one side: "put-before-commit",
// "duty.ReapCheck.Step/reapDelete:delete=silent",
// "protocol.Walk.Step/walkKill:txn@teardown"; or a kind of Aimable in its place:
// "protocol.Walk.Step/walkKill:txn@retention=pause", or "=every-pause".
func ParseAim(s string) (a Aim, err error) {
	if s == "" {
		return a, nil
	}
	if i, ok := RowNamed(s); ok {
		return Aim{Row: i + 1}, nil
	}
	place, side, sided := strings.Cut(s, "=")
	name, root, rooted := strings.Cut(place, "@")
	a.Point, a.Root = boundaries.Index(name)+1, root
	if i := slices.Index(sideNames[:], side); sided && i >= 0 {
		a.Sided, a.Side, sided = true, Side(i), false
	} else if k, ok := kindOf(strings.TrimPrefix(side, everyWord)); sided && ok && slices.Contains(Aimable[:], k) {
		a.Kind, a.Every, sided = k, strings.HasPrefix(side, everyWord), false
	}
	switch {
	case a.Point == 0:
		err = fmt.Errorf("%w: %q is no row of the crash table (%s) and no boundary (faults/boundaries/list.txt)", ErrPlan, name, strings.Join(rowNames(), ", "))
	case rooted && boundaries.PointOf(a.Point-1, root) < 0:
		err = fmt.Errorf("%w: no process for %q comes by %s; %v do", ErrPlan, root, name, boundaries.All()[a.Point-1].Roots)
	case sided:
		err = fmt.Errorf("%w: %q is no side of an effect, and strikes at none: the sides are %v, the kinds %v", ErrPlan, side, sideNames, Aimable)
	}
	if err != nil {
		return Aim{}, err
	}
	return a, nil
}

// String is the aim in the form that ParseAim reads.
func (a Aim) String() string {
	if a.Row > 0 {
		return Table[a.Row-1].Name
	}
	if a.Point == 0 {
		return ""
	}
	s := boundaries.All()[a.Point-1].Name
	if a.Root != "" {
		s += "@" + a.Root
	}
	switch {
	case a.Every:
		s += "=" + everyWord + a.Kind.String()
	case a.Kind != None:
		s += "=" + a.Kind.String()
	case a.Sided:
		s += "=" + a.Side.String()
	}
	return s
}

// AimAt is the aim at one side of a crash point, as boundaries.Points has it.
func AimAt(point int, side Side) Aim {
	p := boundaries.Points()[point]
	return Aim{Point: p.Boundary + 1, Root: p.Root, Sided: true, Side: side}
}

// AimOf is the aim at a crash point with a kind that struck there; false: a run cannot
// be told to strike so.
func AimOf(point int, k Kind) (Aim, bool) {
	if k == CutMark {
		k = CutAfter
	}
	if side, ok := SideOf(k); ok {
		return AimAt(point, side), true
	}
	p := boundaries.Points()[point]
	return Aim{Point: p.Boundary + 1, Root: p.Root, Kind: k}, slices.Contains(Aimable[:], k)
}

func rowNames() []string {
	names := make([]string, Rows)
	for i := range Table {
		names[i] = Table[i].Name
	}
	return names
}
