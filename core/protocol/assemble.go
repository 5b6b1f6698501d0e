package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/plan"
)

// sourceRead reads one source's footer, from the first replica that has it.
type sourceRead struct {
	call    core.Call
	replica uint8
}

// sourceFound is what it found: a footer, or why there is none.
type sourceFound struct {
	read   plan.Read
	unsure bool  // a replica gave no definite answer
	fault  Fault // the worst that a definite answer said
}

func (m *sourceRead) step(t core.Turn, s *plan.Source, f *sourceFound) bool {
	if s.Known != "" {
		f.read = plan.Read{Footer: s.Known}
		return true
	}
	for int(m.replica) < len(s.At) {
		r, ok := m.call.AwaitFunc(t, func() core.Op { return core.ReadRange(s.At[m.replica], s.Footer.Off, s.Footer.Len) })
		if !ok {
			return false
		}
		if f.take(r, int(m.replica)) {
			return true
		}
		m.replica++
	}
	return true
}

// take judges one replica's answer, and reports whether it is the footer.
// Absence in one replica means: try the next.
func (f *sourceFound) take(r *core.Reply, replica int) bool {
	switch r.Outcome {
	case core.OK:
		foot, err := format.DecodeFooter(r.Val)
		if err == nil {
			f.read = plan.Read{Footer: foot, Replica: replica}
			return true
		}
		f.fault = SourceDamaged
	case core.Damaged, core.OutOfRange:
		f.fault = SourceDamaged
	case core.Absent:
		if f.fault == NoFault {
			f.fault = SourceGone
		}
	default:
		f.unsure = true
	}
	return false
}

type partStep uint8

const (
	partConfirm partStep = iota
	partPut
)

// partSend sends one part, under a right that is fresh.
type partSend struct {
	at    partStep
	call  core.Call
	asked core.Ms
}

func (m *partSend) step(t core.Turn, e *core.Env, p *Publish, i int) bool {
	for {
		if !m.call.Sent() && p.out != core.Working {
			return true // another part failed: nothing more is sent
		}
		switch m.at {
		case partConfirm:
			if !m.call.Sent() && !e.Dials.Stale(p.confirmed, t.Now) {
				m.at = partPut
				continue
			}
			r, ok := m.call.AwaitFunc(t, func() core.Op { m.asked = t.Now; return core.Get(p.Durable.Intent.Key) })
			if !ok {
				return false
			}
			if !p.confirm(r, m.asked) {
				p.worse(core.Again)
				return true
			}
			m.at = partPut
		case partPut:
			r, ok := m.call.AwaitFunc(t, func() core.Op { return p.part(e, i) })
			if !ok {
				return false
			}
			p.sent(i, r)
			return true
		}
	}
}

// part is the operation that sends part i (from 0).
func (p *Publish) part(e *core.Env, i int) core.Op {
	part, until := &p.assembly.Parts[i], e.Dials.Horizon(p.confirmed)
	if part.Copy {
		return core.CopyPart(p.Durable.Obj, p.upload, i+1, part.Pieces[0], until)
	}
	return core.UploadPart(p.Durable.Obj, p.upload, i+1, part.Pieces, until)
}

// sent takes the answer to a part.
func (p *Publish) sent(i int, r *core.Reply) {
	switch r.Outcome {
	case core.OK:
		p.tags.Set(i, r.Val)
	case core.Damaged, core.OutOfRange:
		p.Fault, p.Source = SourceDamaged, -1
		p.worse(core.Broken)
	case core.Unknown: // It may land after the abort.
		p.unsure = true
		p.worse(core.Again)
	default: // Absent: the upload, or a source, is gone. Either way: anew.
		p.worse(core.Again)
	}
}

// worse keeps the most definite of the parts' failures.
func (p *Publish) worse(v core.Verdict) {
	if v > p.out {
		p.out = v
	}
}
