package incident

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/core/transcript"
	"nova/plain"
)

// sent is an effect that waits for its reply.
type sent struct {
	op     core.Op
	serial uint64 // of the turn that emitted it
}

// root is a machine of the recording as it stands.
type root struct {
	begin   transcript.Begin
	m       transcript.Machine
	x       core.Exchange
	n       uint64 // turns that it has had
	now     core.Ms
	pending map[core.Path]sent
	lost    bool // turns of it are missing: it waits for a state
	stray   bool // its last reply found no call
}

// Divergence is the first place where a machine did not do what was recorded.
type Divergence struct {
	Place
	Machine string
	Serial  uint64 // of the turn in the recording; 0: between two turns
	N       uint64 // and in the machine's life
	Now     core.Ms
	Event   string // what the turn brought
	What    string
	Want    []string // recorded and not emitted
	Got     []string // emitted and not recorded
	State   string   // of the machine, after the turn
}

// play steps the machines of a recording.
type play struct {
	o     Options
	roots map[uint64]*root
	order []uint64        // of their beginnings
	aside map[uint64]bool // machines that are not wanted
	known *known          // or nil
	seen  map[string]bool // processes that have a machine
	res   Result
	course
}

func newPlay(o Options) *play {
	p := &play{o: o, roots: map[uint64]*root{}, aside: map[uint64]bool{}, seen: map[string]bool{}}
	p.course.res = &p.res
	return p
}

// record takes one record. It reports a divergence, or an error of the recording.
func (p *play) record(at Place, r *transcript.Record) (*Divergence, error) {
	switch r.Kind {
	case transcript.KSegment:
		p.segment(at, &r.Segment)
	case transcript.KBegin:
		p.meets(&r.Begin)
		return nil, p.begin(r.Begin)
	case transcript.KState:
		p.meets(&r.State.Begin)
		return p.stands(at, &r.State)
	case transcript.KTurn:
		p.writes(r.Turn.Root)
		return p.turn(at, &r.Turn), nil
	case transcript.KGap:
		p.gaps(r.Gap.Dropped)
		p.res.Gaps++
		p.res.Dropped += r.Gap.Dropped
	case transcript.KEnd:
		p.writes(r.End.Root)
		p.ends(&r.End)
	}
	return nil, nil
}

// meets hears of a machine, whether it is wanted or not.
func (p *play) meets(b *transcript.Begin) {
	if !p.seen[b.Env.Process] {
		p.seen[b.Env.Process] = true
		p.res.Processes = append(p.res.Processes, b.Env.Process)
	}
	p.writes(b.Root)
}

// writes hears which machine a record is of. Where it is another process's than those
// before, theirs were killed, unless the journal says that they ended: one process at a
// time writes to it.
func (p *play) writes(root uint64) {
	if !p.of(root) {
		return
	}
	killed := 0
	for n, c := range p.roots {
		if rootOf(n) >= p.writer {
			continue
		}
		killed++
		if p.known != nil {
			p.known.killed(c)
		}
		delete(p.roots, n)
	}
	if killed > 0 {
		p.res.Killed = append(p.res.Killed, Killed{Before: p.name, Turn: p.last, Machines: killed})
	}
}

func (p *play) segment(at Place, s *transcript.Segment) {
	p.course.segment(at, s)
	p.res.Segments++
	by := s.Go
	if s.Commit != "" {
		by = s.Commit + ", " + s.Go
	}
	if !slices.Contains(p.res.By, by) {
		p.res.By = append(p.res.By, by)
	}
}

// wanted reports whether a machine is to be stepped.
func (p *play) wanted(b *transcript.Begin) bool {
	n := p.o.Process
	return n == "" || n == b.Name || n == b.Env.Process || n == b.Role.String() || strings.HasPrefix(b.Env.Process, n+"-")
}

func (p *play) begin(b transcript.Begin) error {
	if !p.wanted(&b) {
		p.aside[b.Root] = true
		return nil
	}
	if p.o.Change != nil {
		p.o.Change(&b)
	}
	c := &root{begin: b, pending: map[core.Path]sent{}}
	var err error
	if c.m, err = c.begin.Boot(); err != nil {
		return err
	}
	if p.roots[b.Root] == nil {
		p.res.Machines++
		p.order = append(p.order, b.Root)
	}
	p.roots[b.Root] = c
	return nil
}

// stands compares a machine's state with the recorded one, or takes it up.
func (p *play) stands(at Place, s *transcript.State) (*Divergence, error) {
	if !p.wanted(&s.Begin) {
		p.aside[s.Begin.Root] = true
		return nil, nil
	}
	c := p.roots[s.Begin.Root]
	if c != nil && !c.lost && c.n == s.N {
		if s.Shape != plain.Shape(c.m.State()) {
			return nil, nil // of another build: there is nothing to compare
		}
		if p.res.States++; s.Bytes == string(plain.Append(nil, c.m.State())) {
			return nil, nil
		}
		d := p.divergence(at, c, &transcript.Turn{N: s.N, Now: s.Now}, "its state is another than the recorded one")
		d.Event = "nothing: it is between two turns"
		if was, err := c.begin.Boot(); err == nil && plain.Decode(s.Bytes, was.State()) == nil {
			d.Want = []string{plain.Print(was.State())}
			d.Got = []string{d.State}
		}
		return d, nil
	}
	if err := p.begin(s.Begin); err != nil {
		return nil, err
	}
	c = p.roots[s.Begin.Root]
	if s.Shape != plain.Shape(c.m.State()) {
		// Its beginning can still be replayed, where the journal has it; its middle cannot.
		p.res.Foreign++
		c.lost = true
		return nil, nil
	}
	if err := plain.Decode(s.Bytes, c.m.State()); err != nil {
		return nil, fmt.Errorf("%s: the state of %s: %w", at, &c.begin, err)
	}
	c.n, c.now = s.N, s.Now
	for _, e := range s.Pending {
		c.pending[e.At] = sent{e.Op, 0}
	}
	return nil, nil
}

// turn steps a machine once more.
func (p *play) turn(at Place, t *transcript.Turn) *Divergence {
	if p.aside[t.Root] {
		return nil
	}
	c := p.roots[t.Root]
	if c == nil || c.lost || c.n+1 != t.N {
		if c != nil {
			c.lost = true
		}
		p.res.Skipped++
		return nil
	}
	c.n, c.now = t.N, t.Now
	p.res.span(t.Now)
	p.res.Turns++
	p.res.Effects += len(t.Out)
	if c.stray {
		return p.divergence(at, c, t, "the machine goes on, and its last reply found no call")
	}
	if c.pending == nil {
		return p.divergence(at, c, t, "the machine goes on, and had ended")
	}
	fell, done := c.step(t)
	what := c.differs(t, fell, done)
	c.take(t, p.known)
	if what != "" {
		d := p.divergence(at, c, t, what)
		d.Want, d.Got = unlike(t.Out, c.x.Out)
		return d
	}
	if fell != "" {
		c.pending = nil
		p.res.Fell = append(p.res.Fell, fmt.Sprintf("turn %d of %s: %s", t.Serial, &c.begin, fell))
	}
	c.stray = !c.x.Consumed()
	return nil
}

// step steps the machine through a recorded turn; fell is why it did not end it.
func (c *root) step(t *transcript.Turn) (fell string, done bool) {
	defer func() {
		if why := recover(); why != nil {
			fell = fmt.Sprint("panic: ", why)
		}
	}()
	c.x.Now = t.Now
	turn := c.x.Start()
	if !t.First {
		turn = c.x.Deliver(t.At, t.Reply)
	}
	return "", c.m.Step(turn)
}

// differs says in what the turn is not the recorded one.
func (c *root) differs(t *transcript.Turn, fell string, done bool) string {
	switch {
	case fell != "" && t.Panic == "":
		return "it panics: " + fell
	case fell != t.Panic:
		return fmt.Sprintf("it panicked (%s), and now: %q", t.Panic, fell)
	case fell != "":
		return ""
	case !same(t.Out, c.x.Out):
		return "it asks for something else"
	case done && !t.Done:
		return "it is done, and went on"
	case !done && t.Done:
		return "it goes on, and was done"
	}
	return ""
}

// take keeps what is in flight, and what the reply told of the world.
func (c *root) take(t *transcript.Turn, k *known) {
	if !t.First {
		if e, ok := c.pending[t.At]; ok && k != nil {
			k.learn(&c.begin, &e, &t.Reply, t.Serial)
		}
		delete(c.pending, t.At)
	}
	for i := range t.Out {
		c.pending[t.Out[i].At] = sent{t.Out[i].Op, t.Serial}
	}
	if t.Done {
		c.pending = nil
	}
}

func (p *play) ends(e *transcript.End) {
	c := p.roots[e.Root]
	if c == nil {
		return
	}
	if c.stray {
		p.res.Fell = append(p.res.Fell, fmt.Sprintf("%s broke its contract in turn %d of its life: %s", &c.begin, c.n, e.Why))
	}
	if p.known != nil {
		p.known.ended(&c.begin, c.now)
	}
	delete(p.roots, e.Root)
}

func (p *play) divergence(at Place, c *root, t *transcript.Turn, what string) *Divergence {
	d := &Divergence{Place: at, Machine: c.begin.String(), Serial: t.Serial, N: t.N, Now: t.Now, What: what, State: plain.Print(c.m.State())}
	if d.Event = "nothing: it is the first"; !t.First {
		op := "?"
		if e, ok := c.pending[t.At]; ok {
			op = e.op.String()
		}
		d.Event = fmt.Sprintf("%s to %s at %s", reply(&t.Reply), op, t.At)
	}
	return d
}

// reply is a reply in a few words.
func reply(r *core.Reply) string {
	s := r.Outcome.String()
	if r.Rev != 0 {
		s += fmt.Sprintf(" rev=%d", r.Rev)
	}
	if r.Size != 0 {
		s += fmt.Sprintf(" size=%d", r.Size)
	}
	if r.Val != "" {
		s += fmt.Sprintf(" val=%.40q", r.Val)
	}
	for i := range r.Rows {
		s += fmt.Sprintf(" %s@%d", r.Rows[i].Key, r.Rows[i].Rev)
	}
	for i := range r.Items {
		s += " " + r.Items[i].Key + r.Items[i].Upload
	}
	if r.More {
		s += " more"
	}
	return s
}

// same reports whether two sets of effects are equal.
func same(a, b []core.Effect) bool {
	if len(a) != len(b) {
		return false
	}
	inOrder := true
	for i := 0; inOrder && i < len(a); i++ {
		inOrder = plain.Equal(&a[i], &b[i])
	}
	if inOrder {
		return true
	}
	want, got := unlike(a, b)
	return len(want) == 0 && len(got) == 0
}

// unlike is what only one of two sets of effects has.
func unlike(a, b []core.Effect) (onlyA, onlyB []string) {
	left := map[string][]int{}
	for i := range b {
		k := string(plain.Append(nil, &b[i]))
		left[k] = append(left[k], i)
	}
	for i := range a {
		k := string(plain.Append(nil, &a[i]))
		if of := left[k]; len(of) > 0 {
			left[k] = of[1:]
		} else {
			onlyA = append(onlyA, show(&a[i]))
		}
	}
	for i := range b {
		if slices.Contains(left[string(plain.Append(nil, &b[i]))], i) {
			onlyB = append(onlyB, show(&b[i]))
		}
	}
	return onlyA, onlyB
}

// show is an effect with everything that two can differ in.
func show(e *core.Effect) string {
	return e.At.String() + " " + e.Op.String() + " " + plain.Print(&e.Op)
}
