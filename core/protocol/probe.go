package protocol

import (
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

type probeStep uint8

const (
	probeWindow probeStep = iota
	probeTail
	probeFooter
	probeStreams
	probeChunks
	probeTorn
	probeEnd
)

// Probe judges one settled object: one footer read, then one ref lookup a chunk,
// ProbeWidth abreast, those of deleted streams judged dead without one. It only
// reads.
//
// What it reads is no snapshot, and need not be: a settled object is named by one
// catalog entry once, when its commit lands, and never again after. So a chunk
// that was seen dead stays dead, unless the object's intent still stands; whoever
// probes such an object condemns its intent first.
type Probe struct {
	Found  plan.Finding
	Live   int64         // bytes of chunks that are live …
	Dead   int64         // … and that are not
	Spans  int           // chunks that are live
	Window format.Window // of the footer

	step    probeStep
	call    core.Call
	footer  format.Footer
	streams []uint64 // distinct, ascending
	group   core.Group[core.Call]
	judged  core.Results[chunkState] // by stream, then by chunk
	gone    []bool                   // by stream: deleted
}

// chunkState is what a lookup said of one stream or one chunk.
type chunkState uint8

const (
	chunkUnsure chunkState = iota
	chunkLive
	chunkDead
	chunkDamaged
)

// Step judges the object at obj, whose address is o. With a window of length 0
// the footer is recovered from the object's tail. It reports whether it is
// finished.
func (p *Probe) Step(t core.Turn, e *core.Env, obj core.Obj, o *keys.Settled, w format.Window) bool {
	for {
		switch p.step {
		case probeWindow: // 1. One ranged footer read, by the window that the marker carries …
			if w.Len == 0 {
				p.step = probeTail
				continue
			}
			p.Window = w
			r, ok := p.call.AwaitFunc(t, func() core.Op { return core.ReadRange(obj, w.Off, w.Len) })
			if !ok {
				return false
			}
			p.read(t, r, plan.Corrupted)
		case probeTail: // … or by the object's tail.
			r, ok := p.call.AwaitFunc(t, func() core.Op { return core.ReadTail(obj, format.TailRead) })
			if !ok {
				return false
			}
			p.tail(t, r)
		case probeFooter:
			r, ok := p.call.AwaitFunc(t, func() core.Op { return core.ReadRange(obj, p.Window.Off, p.Window.Len) })
			if !ok {
				return false
			}
			p.read(t, r, plan.Torn)
		case probeStreams: // 2. Deleted streams: their chunks are dead without a lookup.
			if p.judged.Len() == 0 {
				p.judged.Make(len(p.streams))
			}
			if !p.group.Run(t, len(p.streams), e.Dials.ProbeWidth, func(i int, c *core.Call, t core.Turn) bool {
				r, ok := c.AwaitFunc(t, func() core.Op { return core.Get(keys.Stream(p.streams[i])) })
				if ok {
					p.judged.Set(i, streamState(r))
				}
				return ok
			}) {
				return false
			}
			p.group = core.Group[core.Call]{}
			p.gather(t)
		case probeChunks: // 3. One ref lookup for every other chunk.
			if !p.group.Run(t, p.footer.Len(), e.Dials.ProbeWidth, func(i int, c *core.Call, t core.Turn) bool {
				return p.lookup(t, o, i, c)
			}) {
				return false
			}
			p.group = core.Group[core.Call]{}
			p.fold(t, e)
		case probeTorn: // A tail that does not decode: nothing of ours, unless a ref says otherwise.
			r, ok := p.call.AwaitFunc(t, func() core.Op {
				from, end := keys.RefRange(o.Stream, o.First)
				return core.Scan(from, end, 1)
			})
			if !ok {
				return false
			}
			p.torn(t, o, r)
		case probeEnd:
			return true
		}
	}
}

// tail takes the footer from the object's last bytes.
func (p *Probe) tail(t core.Turn, r *core.Reply) {
	if r.Outcome != core.OK {
		p.read(t, r, plan.Torn)
		return
	}
	tail, err := format.ParseTail(r.Val, r.Size)
	switch {
	case err != nil || tail.Kind != format.SettledObject:
		p.step = probeTorn
	case tail.Whole:
		p.Window = tail.Window
		p.decoded(t, tail.Footer)
	default:
		p.Window, p.step = tail.Window, probeFooter
	}
}

// read takes the answer to a read of the footer. What is definitely no footer is
// bad: a marker's window says that one was there once; an object that never
// became visible may be torn.
func (p *Probe) read(t core.Turn, r *core.Reply, bad plan.Finding) {
	switch r.Outcome {
	case core.OK:
		f, err := format.DecodeFooter(r.Val)
		if err == nil {
			p.decoded(t, f)
			return
		}
	case core.Absent:
		p.end(t, plan.Gone)
		return
	case core.OutOfRange, core.Damaged:
	default:
		p.end(t, plan.Failed)
		return
	}
	if bad == plan.Torn {
		p.step = probeTorn
		return
	}
	p.end(t, bad)
}

func (p *Probe) decoded(t core.Turn, f format.Footer) {
	if f.Len() > core.MaxGroup {
		p.end(t, plan.Corrupted)
		return
	}
	streams := make([]uint64, 0, 1)
	for i := range f.Len() {
		if s := f.At(i).Stream; len(streams) == 0 || streams[len(streams)-1] != s {
			streams = append(streams, s)
		}
	}
	slices.Sort(streams)
	p.footer, p.streams = f, slices.Compact(streams)
	p.step = probeStreams
}

func streamState(r *core.Reply) chunkState {
	switch r.Outcome {
	case core.OK:
		s, err := format.DecodeStream(r.Val)
		switch {
		case err != nil:
			return chunkDamaged
		case s.Deleted:
			return chunkDead
		}
		return chunkLive
	case core.Absent:
		return chunkDead
	}
	return chunkUnsure
}

// gather goes from streams to chunks, unless some stream is not certain.
func (p *Probe) gather(t core.Turn) {
	gone := make([]bool, len(p.streams))
	for i, s := range p.judged.All() {
		switch s {
		case chunkUnsure:
			p.end(t, plan.Failed)
			return
		case chunkDamaged:
			p.end(t, plan.Corrupted)
			return
		}
		gone[i] = s == chunkDead
	}
	p.gone = gone
	p.judged.Make(p.footer.Len())
	p.step = probeChunks
}

// lookup judges chunk i.
func (p *Probe) lookup(t core.Turn, o *keys.Settled, i int, c *core.Call) bool {
	chunk := p.footer.At(i)
	if k, _ := slices.BinarySearch(p.streams, chunk.Stream); p.gone[k] {
		p.judged.Set(i, chunkDead)
		return true
	}
	r, ok := c.AwaitFunc(t, func() core.Op {
		from, end := keys.RefRange(chunk.Stream, chunk.First)
		return core.Scan(from, end, 1)
	})
	if ok {
		p.judged.Set(i, refState(r, o, &chunk))
	}
	return ok
}

func refState(r *core.Reply, o *keys.Settled, c *format.Chunk) chunkState {
	switch {
	case r.Outcome != core.OK:
		return chunkUnsure
	case len(r.Rows) == 0:
		return chunkDead
	}
	row, err := format.DecodeRow(r.Rows[0].Val)
	switch {
	case err != nil:
		return chunkDamaged
	case plan.Lives(&row, o, c):
		return chunkLive
	}
	return chunkDead
}

// fold adds up the chunks. One that is not certain spoils the verdict.
func (p *Probe) fold(t core.Turn, e *core.Env) {
	unsure, damaged := false, false
	for i, s := range p.judged.All() {
		c := p.footer.At(i)
		switch s {
		case chunkLive:
			p.Live, p.Spans = p.Live+c.Len, p.Spans+1
		case chunkDead:
			p.Dead += c.Len
		case chunkDamaged:
			damaged = true
		default:
			unsure = true
		}
	}
	switch {
	case unsure:
		p.end(t, plan.Failed)
	case damaged:
		p.end(t, plan.Corrupted)
	default:
		p.end(t, plan.Fold(&e.Dials, p.Spans, p.Live, p.Dead))
	}
}

// torn judges an object without a footer by its address alone.
func (p *Probe) torn(t core.Turn, o *keys.Settled, r *core.Reply) {
	if r.Outcome != core.OK {
		p.end(t, plan.Failed)
		return
	}
	if len(r.Rows) > 0 {
		row, err := format.DecodeRow(r.Rows[0].Val)
		if err != nil {
			p.end(t, plan.Corrupted)
			return
		}
		if _, named := plan.Names(&row, o); named {
			p.end(t, plan.Corrupted)
			return
		}
	}
	p.end(t, plan.Torn)
}

// end keeps the finding and drops the rest.
func (p *Probe) end(t core.Turn, f plan.Finding) {
	t.Note(f.Note(), 1)
	*p = Probe{step: probeEnd, Found: f, Live: p.Live, Dead: p.Dead, Spans: p.Spans, Window: p.Window}
}
