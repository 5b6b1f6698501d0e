package incident

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"sort"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/transcript"
	"nova/faults"
	"nova/sim"
	"nova/sim/world"
)

// Going says how to go on from a turn of a recording.
type Going struct {
	From    uint64 // the last turn that is replayed
	Seed    uint64
	Plan    *faults.Plan // nil: drawn from the seed
	Effects int          // replies that are delivered; 0: 4000
	Log     io.Writer    // one line an event, if not nil
	// Whole says that every process of the cluster wrote to this journal, from an
	// empty cluster on: then the world is wholly known, and laws 1 to 3 are judged too.
	Whole bool
	// Clients go on too: they append, trim, delete and read.
	Clients bool
}

// Onward is what came of going on.
type Onward struct {
	Replay  *Result
	Now     core.Ms  // when it went on
	Resumed []string // the machines that did
	Left    []string // that could not: how they stood is not known
	Rows    int
	Objects int
	Dark    int // objects that stand, and of whose bytes not enough is known
	Uploads int
	Unsure  int // writes until then of which nobody knows whether they landed: they have not
	Whole   bool
	Report  *sim.Report // nil: the replay diverged before
}

// ErrNotWhole is wrapped by GoOn's error where the world is said to be whole and
// breaks a law before anything has gone on: the journal does not hold all of it.
var ErrNotWhole = errors.New("the journal does not hold the whole world")

// ErrNothing is wrapped by GoOn's error where no machine stands at the turn.
var ErrNothing = errors.New("no machine of the journal is at work there")

// GoOn replays a journal up to a turn, and lets the simulator go on from there.
func GoOn(dir string, g Going) (*Onward, error) {
	p := newPlay(Options{To: g.From})
	p.known = newKnown()
	if err := p.read(dir); err != nil {
		return nil, err
	}
	on := &Onward{Replay: &p.res, Whole: g.Whole, Unsure: p.known.unsure}
	if p.res.Diverged != nil {
		return on, nil
	}
	if why := p.res.hole(); g.Whole && why != "" {
		return nil, fmt.Errorf("go on from turn %d: %w: %s", g.From, ErrNotWhole, why)
	}
	if p.res.Last < g.From {
		return nil, fmt.Errorf("go on from turn %d: %w: its last turn is %d", g.From, ErrBeyond, p.res.Last)
	}
	live := p.standing(on)
	if len(live) == 0 {
		return nil, fmt.Errorf("go on from turn %d: %w (its first turn is %d)", g.From, ErrNothing, p.res.First)
	}
	x := &scene{g: g, on: on, live: live, known: p.known, bodies: map[core.Obj]*world.Body{}}
	if err := x.build(); err != nil {
		return nil, err
	}
	if g.Effects == 0 {
		g.Effects = 4000
	}
	on.Report = sim.Guarded(sim.Config{Seed: g.Seed, Plan: g.Plan, Dials: &live[0].begin.Env.Dials, Effects: g.Effects, Log: g.Log, Instant: true, Scene: x.scene})
	return on, nil
}

// standing is the machines that can go on, stars and auditors first.
func (p *play) standing(on *Onward) (live []*root) {
	for _, n := range p.order {
		c := p.roots[n]
		switch {
		case c == nil || c.pending == nil || c.n == 0: // ended, or not begun
		case c.lost || c.stray:
			on.Left = append(on.Left, c.begin.String())
		default:
			live = append(live, c)
			on.Now = max(on.Now, c.now)
		}
	}
	slices.SortStableFunc(live, func(a, b *root) int { return int(a.begin.Role) - int(b.begin.Role) })
	for _, c := range live {
		on.Resumed = append(on.Resumed, fmt.Sprintf("%s, %d effects in flight", &c.begin, len(c.pending)))
	}
	return live
}

// scene is the world of a recording at one turn, and who stands in it.
type scene struct {
	g      Going
	on     *Onward
	live   []*root
	known  *known
	bodies map[core.Obj]*world.Body // nil: not known; of objects that were asked for
	w      *world.World
	stores core.Stores
	laws   *watch
}

// build fills the world.
func (x *scene) build() error {
	d := &x.live[0].begin.Env.Dials
	x.stores = x.live[0].begin.Env.Stores
	names := make([]core.Store, 0, len(x.known.stores))
	for s := range x.known.stores {
		names = append(names, s)
	}
	for _, of := range x.stores.Of {
		names = append(names, of...)
	}
	dialect := world.Dialect{RepeatComplete: []core.Outcome{core.Absent, core.Exists, core.OK}[x.g.Seed%3], LateParts: x.g.Seed%2 == 0}
	x.w = world.New(world.LimitsOf(d), dialect, names...)
	x.laws = &watch{whole: x.g.Whole, was: map[string]bool{}, gone: map[core.Obj]bool{}}
	x.fillRows()
	x.fillStores()
	x.w.Blob = func(p *core.Piece) world.Body { return world.Forge(p.Len, p.CRC) }
	x.w.Dark = func(o core.Obj) bool { return !x.g.Whole && !x.laws.gone[o] }
	return x.laws.begin(x, d)
}

// fillRows puts the rows that stand. What processes that are at work hold by lease
// belongs to their sessions; what others that were recorded held goes with theirs;
// of what was only read nobody knows whose it is: it stays.
func (x *scene) fillRows() {
	alive := map[string]bool{}
	for _, c := range x.live {
		alive[c.begin.Env.Process] = true
	}
	for _, f := range x.known.standing() {
		lease := ""
		if alive[f.lease] || x.known.dead[f.lease] {
			lease = sim.Session(f.lease)
			x.w.Meta.Grant(lease, x.on.Now+x.live[0].begin.Env.Dials.SessionTTL)
		}
		x.w.PutRow(f.row, lease)
		x.on.Rows++
	}
	x.w.Raise(x.known.rev)
}

// fillStores puts the objects whose bytes are known, and the unfinished uploads.
func (x *scene) fillStores() {
	objs := make([]core.Obj, 0, len(x.known.objects))
	for o := range x.known.objects {
		objs = append(objs, o)
	}
	sort.Slice(objs, func(i, j int) bool {
		return objs[i].Store < objs[j].Store || objs[i].Store == objs[j].Store && objs[i].Key < objs[j].Key
	})
	for _, o := range objs {
		if !x.known.objects[o].stands {
			x.laws.gone[o] = true
			continue
		}
		if b := x.body(o); b != nil {
			x.w.PutObject(o.Store, o.Key, *b, x.on.Now)
			x.on.Objects++
		} else {
			x.on.Dark++
		}
	}
	for id, u := range x.known.uploads {
		var parts []world.Part
		for n, p := range u.parts {
			var b world.Body
			for i := range p.body {
				b = world.Join(b, x.piece(&p.body[i]))
			}
			parts = append(parts, world.Part{Num: n, Tag: p.tag, Body: b})
		}
		sort.Slice(parts, func(i, j int) bool { return parts[i].Num < parts[j].Num })
		x.w.PutUpload(id.obj.Store, id.obj.Key, id.id, parts)
		x.on.Uploads++
	}
}

// body is the bytes of an object, with forged ones for its chunks, or nil where its
// footer is not known.
func (x *scene) body(o core.Obj) *world.Body {
	if b, ok := x.bodies[o]; ok {
		return b
	}
	var b *world.Body
	if f := x.known.objects[o]; f != nil && f.stands && f.size >= 0 {
		b = whole(f)
	}
	x.bodies[o] = b
	return b
}

// whole is the bytes of an object of which the tail is known.
func whole(f *objectFact) *world.Body {
	if f.size == int64(len(f.tail)) {
		t, err := format.ParseTail(f.tail, f.size)
		if err != nil || t.Footer.Len() == 0 { // a fence, or something foreign
			b := world.Literal(f.tail)
			return &b
		}
	}
	t, err := format.ParseTail(f.tail, f.size)
	if err != nil || !t.Whole {
		return nil
	}
	var parts []world.Body
	at := int64(0)
	for i := range t.Footer.Len() {
		c := t.Footer.At(i)
		parts = append(parts, world.Literal(strings.Repeat("\x00", int(c.Off-at))), world.Forge(c.Len, c.CRC))
		at = c.Off + c.Len
	}
	parts = append(parts, world.Literal(strings.Repeat("\x00", int(t.Window.Off-at))), world.Literal(f.tail[int64(len(f.tail))-(f.size-t.Window.Off):]))
	b := world.Join(parts...)
	return &b
}

// piece is the bytes of a part of a body that was sent.
func (x *scene) piece(p *core.Piece) world.Body {
	switch {
	case p.Kind == core.Literal:
		return world.Literal(p.Bytes)
	case p.Kind == core.Range:
		for _, from := range append([]core.Obj{p.From}, p.Also...) {
			if b := x.body(from); b != nil && p.Off >= 0 && p.Off+p.Len <= b.Size() {
				return b.Slice(p.Off, p.Len)
			}
		}
	}
	if p.NoCRC { // bytes of their own
		h := fnv.New32a()
		fmt.Fprint(h, p.From, p.Off)
		return world.Forge(p.Len, h.Sum32())
	}
	return world.Forge(p.Len, p.CRC)
}

// scene puts the machines into the run.
func (x *scene) scene(s *sim.Sim) {
	s.Found(x.on.Now, x.stores, x.w)
	s.Laws = x.laws
	s.Expire(x.on.Now + s.Dials.SessionTTL)
	asking := &clients{x: x}
	for _, c := range x.live {
		a := &actor{begin: c.begin}
		if c.begin.Role == transcript.Star {
			asking.stars = append(asking.stars, a)
		}
		flying := make([]core.Effect, 0, len(c.pending))
		for at, e := range c.pending {
			flying = append(flying, core.Effect{At: at, Op: e.op})
		}
		sort.Slice(flying, func(i, j int) bool { return flying[i].At.Less(flying[j].At) })
		s.Resume(a, c.begin.Env.Process, c.m, flying)
	}
	if x.g.Clients {
		s.SetClients(asking)
	}
}

// actor is a machine of the recording in the simulator.
type actor struct{ begin transcript.Begin }

// Name is the machine's own.
func (a *actor) Name() string { return fmt.Sprintf("%s.%d", a.begin.Role, a.begin.Root) }

// Boot makes another machine of the kind, once the recorded one was cut.
func (a *actor) Boot(p *sim.Proc) core.Machine {
	b := a.begin
	b.Env.Process = p.Name
	p.Env = b.Env
	m, err := b.Boot()
	if err != nil {
		panic(err) // it was booted before
	}
	return m
}

// Revive reports whether it is started again: a verb is its client's to repeat.
func (a *actor) Revive() bool {
	switch a.begin.Role {
	case transcript.Auditor, transcript.Star, transcript.Decommission:
		return true
	}
	return false
}

// Print writes what came of it for people.
func (on *Onward) Print(w io.Writer) error {
	if err := on.Replay.Print(w); err != nil || on.Report == nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "on from %s, with what the journal tells of the world: %d rows, %d objects (and %d that are dark), %d unfinished uploads\n", clock(on.Now), on.Rows, on.Objects, on.Dark, on.Uploads)
	if on.Unsure > 0 {
		fmt.Fprintf(&b, "note: of %d writes before nobody knows whether they landed: here they have not\n", on.Unsure)
	}
	for _, r := range on.Resumed {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	for _, r := range on.Left {
		fmt.Fprintf(&b, "  left out, for it is not known how it stood: %s\n", r)
	}
	r := on.Report
	fmt.Fprintf(&b, "judged: %s\nfaults: %s\n", judged(on.Whole), r.Plan.String())
	if r.Breach == nil {
		fmt.Fprintf(&b, "seed %d: %d effects, %d changes, no law that is judged breaks\n", r.Seed, r.Count.Effects, r.Count.Changes)
	} else {
		fmt.Fprintf(&b, "seed %d breaks law %s after %d effects: %s\n", r.Seed, r.Breach.Law, r.Count.Effects, r.Breach.What)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
