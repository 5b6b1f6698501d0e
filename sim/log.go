package sim

import (
	"fmt"

	"nova/core"
	"nova/faults"
)

// silent reports whether nobody hears what happens: a line costs its digest only.
func (s *Sim) silent() bool { return s.Log == nil && s.Watch == nil }

// logf writes one line: the time, the process, what happened, and to what.
func (s *Sim) logf(p *Proc, what, format string, args ...any) {
	s.lines++
	s.digest(what)
	if s.silent() {
		return
	}
	text := fmt.Sprintf(format, args...)
	s.write(p, what, text)
	if s.Watch != nil {
		s.happens(s.event(p, what, text))
	}
}

// write writes one line of the log.
func (s *Sim) write(p *Proc, what, text string) {
	if s.Log == nil {
		return
	}
	name := "-"
	if p != nil {
		name = p.Name
	}
	fmt.Fprintf(s.Log, "%6d %9d %-14s %-8s %s\n", s.lines, s.now-Epoch, name, what, text)
}

// Logf lets a scene's clients write lines of their own.
func (s *Sim) Logf(p *Proc, what, format string, args ...any) { s.logf(p, what, format, args...) }

func (s *Sim) logOp(e *pending, what string) {
	s.lines++
	s.digest(what)
	if s.silent() {
		return
	}
	s.write(e.p, what, fmt.Sprintf("%s %s", e.at, &e.op))
	if s.Watch != nil {
		s.told(e.p, what, e.at, &e.op, &core.Reply{})
	}
}

func (s *Sim) logLand(p *Proc, at core.Path, op *core.Op, r *core.Reply) {
	s.logDone(p, "land", at, op, r)
}

func (s *Sim) logLate(p *Proc, at core.Path, op *core.Op, r *core.Reply) {
	s.logDone(p, "late", at, op, r)
}

// logDone writes that an operation has taken effect, or what came of it.
func (s *Sim) logDone(p *Proc, what string, at core.Path, op *core.Op, r *core.Reply) {
	s.mark(uint64(op.Kind)<<8 | uint64(r.Outcome))
	s.lines++
	s.digest(what)
	if s.silent() {
		return
	}
	s.write(p, what, fmt.Sprintf("%s %s -> %s", at, op, reply(r)))
	if s.Watch != nil {
		s.told(p, what, at, op, r)
	}
}

// logFault writes that a fault strikes an effect.
func (s *Sim) logFault(k faults.Kind, e *pending) {
	s.lines++
	s.digest("FAULT")
	if s.silent() {
		return
	}
	s.write(e.p, "FAULT", fmt.Sprintf("%s at %s %s", k, e.at, &e.op))
	if s.Watch != nil {
		o := e.op
		ev := s.event(e.p, "FAULT", k.String())
		ev.Path, ev.Op = e.at.String(), &o
		s.happens(ev)
	}
}

// logReply writes that a reply is delivered; the event is nil if nobody watches.
func (s *Sim) logReply(e *pending) (told *Event) {
	s.mark(e.serial)
	s.lines++
	s.digest("reply")
	if s.silent() {
		return nil
	}
	s.write(e.p, "reply", fmt.Sprintf("%s %s %s", e.at, e.op.Kind, reply(&e.reply)))
	if s.Watch == nil {
		return nil
	}
	o, r := e.op, e.reply
	told = s.event(e.p, "reply", fmt.Sprintf("%s %s", e.op.Kind, reply(&e.reply)))
	told.Path, told.Op, told.Reply, told.Before = e.at.String(), &o, &r, s.state(e.p)
	return s.happens(told)
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
		s += fmt.Sprintf(" val=%.24q", r.Val)
	}
	if r.Rows != nil {
		s += fmt.Sprintf(" %d rows", len(r.Rows))
	}
	if r.Items != nil {
		s += fmt.Sprintf(" %d items", len(r.Items))
	}
	if r.More {
		s += " more"
	}
	return s
}

// mark and digest mix an event into the run's fingerprint, which costs nothing
// beside its log and differs wherever that would.
func (s *Sim) mark(v uint64) {
	h := s.sum ^ v ^ uint64(s.now)<<32
	h *= 0x9e3779b97f4a7c15
	s.sum = h ^ h>>29
}

func (s *Sim) digest(what string) {
	v := uint64(len(what))
	for i := range len(what) {
		v = v*131 + uint64(what[i])
	}
	s.mark(v)
}

// note counts what a machine found worth counting.
func (s *Sim) note(p *Proc, n *core.Note) {
	s.Count.Notes[n.Kind]++
	if n.Kind == core.NoteDutyRun {
		s.worked(n.Key)
	}
	if s.silent() {
		s.lines++
		s.digest("note")
		return
	}
	s.logf(p, "note", "%s %d %s", n.Kind, n.N, n.Key)
}
