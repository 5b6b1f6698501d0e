package transcript

import (
	"fmt"

	"nova/core"
	"nova/core/duty"
	"nova/core/serve"
)

// Append appends a record, without its frame.
func Append(b []byte, r *Record) []byte {
	w := wire(b)
	w.byte(byte(r.Kind))
	switch r.Kind {
	case KSegment:
		s := &r.Segment
		w.u(s.Seq)
		w.i(int64(s.Wall))
		w.u(s.Serial)
		w.text(s.Commit)
		w.text(s.Go)
		w.text(s.Arch)
	case KBegin:
		w.begin(&r.Begin)
	case KState:
		s := &r.State
		w.begin(&s.Begin)
		w.u(s.N)
		w.i(int64(s.Now))
		w.effects(s.Pending)
		w.u(s.Shape)
		w.text(s.Bytes)
	case KTurn:
		return AppendTurn(b, &r.Turn)
	case KGap:
		w.u(r.Gap.Dropped)
	case KEnd:
		w.u(r.End.Root)
		w.text(r.End.Why)
	}
	return w
}

// AppendTurn is Append of a turn, which is what a host does all day: it allocates
// nothing but b.
func AppendTurn(b []byte, t *Turn) []byte {
	w := wire(b)
	w.byte(byte(KTurn))
	w.u(t.Root)
	w.u(t.Serial)
	w.u(t.N)
	w.i(int64(t.Now))
	if w.flag(t.First); !t.First {
		w.path(t.At)
		w.reply(&t.Reply)
	}
	w.effects(t.Out)
	w.flag(t.Done)
	w.text(t.Panic)
	return w
}

// Decode decodes a record, strictly: every field in bounds, nothing left over. Its
// texts share the bytes of s.
func Decode(s string) (r Record, err error) {
	p := unwire{s: s}
	switch r.Kind = Kind(p.byte()); r.Kind {
	case KSegment:
		r.Segment = Segment{Seq: p.u(), Wall: core.Ms(p.i()), Serial: p.u(), Commit: p.text(), Go: p.text(), Arch: p.text()}
	case KBegin:
		r.Begin, err = p.begin()
	case KState:
		r.State.Begin, err = p.begin()
		r.State.N = p.u()
		r.State.Now = core.Ms(p.i())
		r.State.Pending = p.effects()
		r.State.Shape = p.u()
		r.State.Bytes = p.text()
	case KTurn:
		r.Turn = p.turn()
	case KGap:
		r.Gap.Dropped = p.u()
	case KEnd:
		r.End = End{Root: p.u(), Why: p.text()}
	default:
		p.bad = true
	}
	if err == nil && (p.bad || p.s != "") {
		err = fmt.Errorf("%w: no record of kind %s", ErrDamaged, r.Kind)
	}
	if err != nil {
		return Record{}, err
	}
	return r, nil
}

func (p *unwire) turn() (t Turn) {
	t.Root = p.u()
	t.Serial = p.u()
	t.N = p.u()
	t.Now = core.Ms(p.i())
	if t.First = p.flag(); !t.First {
		t.At = p.path()
		t.Reply = p.reply()
	}
	t.Out = p.effects()
	t.Done = p.flag()
	t.Panic = p.text()
	return t
}

func (w *wire) begin(b *Begin) {
	w.u(b.Root)
	w.byte(byte(b.Role))
	w.dials(&b.Env.Dials)
	for _, of := range b.Env.Stores.Of {
		w.u(uint64(len(of)))
		for _, s := range of {
			w.text(string(s))
		}
	}
	w.text(b.Env.Process)
	w.u(uint64(b.Env.Generation))
	w.u(uint64(b.Queues))
	w.text(b.Name)
	w.byte(byte(b.Class))
	w.text(b.Spec.Bucket)
	w.text(b.Spec.Name)
	w.byte(byte(b.Spec.Class))
	w.i(int64(b.Spec.MaxAge))
	w.u(b.Stream)
	w.u(b.From)
	w.u(b.Limit)
	w.i(int64(b.MaxAge))
	w.u(uint64(len(b.Extents)))
	for i := range b.Extents {
		w.extent(&b.Extents[i])
	}
	w.i(int64(b.Until))
	w.i(int64(b.Sink))
	w.text(b.Order.Star)
	w.flag(b.Order.Force)
	w.flag(b.Order.CoolDown)
	w.flag(b.Order.Wait)
}

func (p *unwire) begin() (b Begin, err error) {
	b.Root = p.u()
	b.Role = Role(p.below(int(roles)))
	known := p.dials(&b.Env.Dials)
	for i := range b.Env.Stores.Of {
		b.Env.Stores.Of[i] = list(p, 1, func() core.Store { return core.Store(p.text()) })
	}
	b.Env.Process = p.text()
	b.Env.Generation = p.u32()
	q := p.u()
	p.need(q <= 1<<16-1)
	b.Queues = duty.QueueSet(q)
	b.Name = p.text()
	b.Class = core.Class(p.below(core.Classes))
	b.Spec = serve.Spec{Bucket: p.text(), Name: p.text(), Class: core.Class(p.below(core.Classes)), MaxAge: core.Ms(p.i())}
	b.Stream = p.u()
	b.From = p.u()
	b.Limit = p.u()
	b.MaxAge = core.Ms(p.i())
	b.Extents = list(p, 7, p.extent)
	b.Until = core.Ms(p.i())
	b.Sink = int(p.i32())
	b.Order.Star = p.text()
	b.Order.Force = p.flag()
	b.Order.CoolDown = p.flag()
	b.Order.Wait = p.flag()
	if p.bad {
		return Begin{}, fmt.Errorf("%w: no beginning of a machine", ErrDamaged)
	}
	if !known {
		return Begin{}, fmt.Errorf("%w (names, not values)", ErrDials)
	}
	return b, nil
}

func (w *wire) extent(x *serve.Extent) {
	w.u(x.First)
	w.u(x.Count)
	w.u(uint64(len(x.At)))
	for _, o := range x.At {
		w.obj(o)
	}
	w.i(x.Off)
	w.i(x.Len)
	w.u(uint64(x.CRC))
	w.flag(x.Lost)
}

func (p *unwire) extent() (x serve.Extent) {
	x.First = p.u()
	x.Count = p.u()
	x.At = list(p, 2, p.obj)
	x.Off = p.i()
	x.Len = p.i()
	x.CRC = p.u32()
	x.Lost = p.flag()
	return x
}
