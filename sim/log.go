package sim

import (
	"fmt"

	"nova/core"
)

// logf writes one line: the time, the process, what happened, and to what.
func (s *Sim) logf(p *Proc, what, format string, args ...any) {
	s.lines++
	s.digest(what)
	if s.Log == nil {
		return
	}
	name := "-"
	if p != nil {
		name = p.Name
	}
	fmt.Fprintf(s.Log, "%6d %9d %-14s %-8s %s\n", s.lines, s.now-Epoch, name, what, fmt.Sprintf(format, args...))
}

// Logf lets a scene's clients write lines of their own.
func (s *Sim) Logf(p *Proc, what, format string, args ...any) { s.logf(p, what, format, args...) }

func (s *Sim) logOp(e *pending, what string) {
	if s.Log == nil {
		s.lines++
		s.digest(what)
		return
	}
	s.logf(e.p, what, "%s %s", e.at, &e.op)
}

func (s *Sim) logLand(p *Proc, at core.Path, op *core.Op, r *core.Reply) {
	s.mark(uint64(op.Kind)<<8 | uint64(r.Outcome))
	if s.Log == nil {
		s.lines++
		s.digest("land")
		return
	}
	s.logf(p, "land", "%s %s -> %s", at, op, reply(r))
}

func (s *Sim) logLate(p *Proc, at core.Path, op *core.Op, r *core.Reply) {
	s.mark(uint64(op.Kind)<<8 | uint64(r.Outcome))
	if s.Log == nil {
		s.lines++
		s.digest("late")
		return
	}
	s.logf(p, "late", "%s %s -> %s", at, op, reply(r))
}

func (s *Sim) logReply(e *pending) {
	s.mark(e.serial)
	if s.Log == nil {
		s.lines++
		s.digest("reply")
		return
	}
	s.logf(e.p, "reply", "%s %s %s", e.at, e.op.Kind, reply(&e.reply))
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
	if s.Log == nil {
		s.lines++
		s.digest("note")
		return
	}
	s.logf(p, "note", "%s %d %s", n.Kind, n.N, n.Key)
}
