package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"nova/faults/boundaries"
)

// Million is the rate of what happens at every opportunity.
const Million = 1_000_000

// Plan says how often each kind of fault strikes: of a million opportunities, so
// many. An opportunity is, by kind: a write that goes out (the cuts, LostReply,
// Late), a delete (DeleteKey), a footer or tail read (DamagedTip), a part or a
// complete (CutUpload), a cut (the restarts), a start of a process (Skew; of a client
// that deletes or sets a policy, Ahead), and any effect that goes out for all others; of
// CutMark, a turn that notes something.
//
// At says where to cut, or to strike, besides: at each place the first, the second,
// the fourth, the eighth … time that the run comes by, or each time.
//
// The zero Plan is a run without faults.
type Plan struct {
	Rate [Kinds]uint32
	At   [2]Aim // the first comes first; zero: nowhere
}

// scale is what a kind's rate is drawn up to: rare enough for work to get done.
var scale = [Kinds]uint32{
	CutBefore: 12_000, CutAfter: 12_000, CutSilent: 12_000, CutUpload: 150_000,
	RestartLater: 600_000, RestartNever: 120_000,
	LostReply: 40_000, Dropped: 12_000, Late: 40_000, Refusal: 12_000,
	DeleteKey: 150_000, DamagedTip: 300_000, Slow: 20_000,
	Flaky: 2000, Pause: 2000, LeaseLost: 2000, Skew: 700_000,
	StoreDown: 2000, StoreSlow: 1500, MetaDown: 600, NoSpace: 600,
	CutMark: 20_000, Ahead: 400_000, Jump: 2000,
}

// Draw makes the plan of a seed. It is a swarm: a run switches most kinds off and
// draws a rate for each of the others, so that kinds which hide each other meet
// the machines apart as well as together; one run in sixteen has none at all, and
// one in four is a storm. One in four is told to cut at one crash point of the
// source, whichever it is, or to strike there with a kind of Aimable: what runs seldom
// come by is cut there, and stands still there, too.
func Draw(seed uint64) (p Plan) {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	if r.IntN(16) == 0 {
		return p
	}
	if r.IntN(4) == 0 {
		return storm(r)
	}
	on := 1 + r.IntN(9) // of ten kinds
	for _, k := range All() {
		if r.IntN(10) < on {
			// Rates spread over orders of magnitude, not evenly below the highest.
			p.Rate[k] = max(1, scale[k]>>r.IntN(4))
		}
	}
	if r.IntN(4) == 0 {
		p.At[0] = AimAt(r.IntN(len(boundaries.Points())), Side(r.IntN(Sides)))
		if r.IntN(2) == 0 {
			p.At[0].Sided, p.At[0].Side, p.At[0].Kind = false, Before, Aimable[r.IntN(drawnKinds)]
		}
	}
	return p
}

// gale is the highest rate of each kind that a storm is made of. Under the everyday
// rates a machine seldom fails twice in the same place: what only the second
// failure in a row brings about (a marker that is parked, a replica that is called
// gone because nobody answers, a request that outlives its judgement and the next
// one too) needs a day on which nearly everything of one kind goes wrong.
var gale = [Kinds]uint32{
	LostReply: 200_000, Dropped: 150_000, Late: 250_000, Refusal: 100_000,
	DamagedTip: Million, Slow: 300_000, Flaky: 8000, Pause: 6000, LeaseLost: 8000,
	StoreDown: 5000, MetaDown: 2000,
}

// storm is a plan of one to three kinds that blow, with a few of the others, at
// their everyday rates, beside them. What comes late is drawn more often than what
// is lost: most of what can go wrong is a matter of order.
func storm(r *rand.Rand) (p Plan) {
	stormy := []Kind{Slow, Slow, Late}
	for _, k := range All() {
		if gale[k] > 0 {
			stormy = append(stormy, k)
		}
		if r.IntN(10) < 4 {
			p.Rate[k] = max(1, scale[k]>>r.IntN(4))
		}
	}
	for range 1 + r.IntN(3) {
		k := stormy[r.IntN(len(stormy))]
		p.Rate[k] = gale[k] >> r.IntN(2)
	}
	return p
}

// Has reports whether a kind can strike.
func (p *Plan) Has(k Kind) bool { return p.Rate[k] > 0 }

// Without is the plan with some kinds switched off.
func (p Plan) Without(ks ...Kind) Plan {
	for _, k := range ks {
		p.Rate[k] = 0
	}
	return p
}

// CutAt adds a place to cut at; false: there is no room for another.
func (p *Plan) CutAt(a Aim) bool {
	for i := range p.At {
		if p.At[i] == (Aim{}) {
			p.At[i] = a
			return true
		}
	}
	return false
}

// Aimed reports whether the plan says where to cut.
func (p *Plan) Aimed() bool { return p.At != [2]Aim{} }

// Quiet reports whether no kind can strike, but where At says.
func (p *Plan) Quiet() bool { return p.Rate == [Kinds]uint32{} }

// String is the plan in the form that Parse reads: "cut-after=600 late=3000", or "none".
func (p Plan) String() string {
	var parts []string
	for _, k := range All() {
		if p.Rate[k] > 0 {
			parts = append(parts, k.String()+"="+strconv.FormatUint(uint64(p.Rate[k]), 10))
		}
	}
	for _, a := range p.At {
		if a != (Aim{}) {
			parts = append(parts, aimWord+a.String())
		}
	}
	if parts == nil {
		return None.String()
	}
	return strings.Join(parts, " ")
}

// aimWord begins the word of a plan that says where to cut.
const aimWord = "at="

// ErrPlan is wrapped by every error of Parse and of ParseAim.
var ErrPlan = errors.New("not a fault plan")

// Parse reads a plan as String writes it; a kind without a rate strikes at every
// opportunity.
func Parse(s string) (p Plan, err error) {
	for word := range strings.FieldsSeq(s) {
		name, num, rated := strings.Cut(word, "=")
		if name == None.String() && !rated {
			continue
		}
		if at, ok := strings.CutPrefix(word, aimWord); ok {
			a, err := ParseAim(at)
			if err == nil && a == (Aim{}) || err == nil && !p.CutAt(a) {
				err = fmt.Errorf("%w: %q is no place, or one too many", ErrPlan, word)
			}
			if err != nil {
				return Plan{}, err
			}
			continue
		}
		k, ok := kindOf(name)
		rate := uint64(Million)
		if rated {
			rate, err = strconv.ParseUint(num, 10, 32)
		}
		if !ok || err != nil || rate > Million {
			return Plan{}, fmt.Errorf("%w: %q is not kind=rate with a rate up to %d; the kinds are %v", ErrPlan, word, Million, All())
		}
		p.Rate[k] = uint32(rate)
	}
	return p, nil
}

func kindOf(name string) (Kind, bool) {
	for _, k := range All() {
		if k.String() == name {
			return k, true
		}
	}
	return None, false
}
