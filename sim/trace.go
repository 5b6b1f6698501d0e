package sim

import (
	"fmt"

	"nova/core"
	"nova/plain"
	"nova/sim/world"
)

// Event is one thing that happened in a run: a line of its log, as data.
type Event struct {
	N       int // its line in the log; 0: it has none
	At      core.Ms
	Proc    string // the process, or ""
	What    string // as in the log: "land", "reply", "FAULT", "cut", "ask", …
	Text    string
	Path    string
	Op      *core.Op    // "land", "late", "give", "reply", "FAULT"
	Reply   *core.Reply // "land", "late", "reply"
	Ask     *Asked      // "ask"
	Changes []world.Change
	Before  string // "reply": the process's state, and after; if Config.States
	After   string
}

// happens tells the watcher, if there is one.
func (s *Sim) happens(e *Event) *Event {
	if s.Watch == nil {
		return e
	}
	e.At = s.now - Epoch
	s.Watch(e)
	return e
}

// event makes the event of a log's line.
func (s *Sim) event(p *Proc, what, text string) *Event {
	e := &Event{N: s.lines, What: what, Text: text}
	if p != nil {
		e.Proc = p.Name
	}
	return e
}

// track keeps what an operation has changed for the event that tells of it.
func (s *Sim) track(op *core.Op) {
	if s.Watch == nil {
		return
	}
	if op == nil { // time, or an operator
		s.happens(&Event{What: "gone", Text: "with its session", Changes: append([]world.Change(nil), s.W.Changes...)})
		return
	}
	s.tracked = append(s.tracked, s.W.Changes...)
}

// told is the event of an operation that has landed, with what it changed.
func (s *Sim) told(p *Proc, what string, at core.Path, op *core.Op, r *core.Reply) {
	o, x := *op, *r
	e := s.event(p, what, fmt.Sprintf("%s -> %s", op, reply(r)))
	e.Path, e.Op, e.Reply, e.Changes = at.String(), &o, &x, s.tracked
	s.tracked = nil
	s.happens(e)
}

// state is a process's state as text, or "" if nobody wants it.
func (s *Sim) state(p *Proc) string {
	if s.Watch == nil || s.States == nil || !*s.States || p.machine == nil {
		return ""
	}
	if st, ok := p.machine.(Stater); ok {
		return plain.Print(st.State())
	}
	return ""
}
