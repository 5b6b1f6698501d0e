package sim

import (
	"fmt"
	"strconv"
	"strings"

	"nova/core"
	"nova/core/serve"
)

// Asked is one request of a client as data. Streams go by the client that made
// them, for their ids depend on what else was made.
type Asked struct {
	Verb   string // a request's name, as in Count
	N      uint64 // its serial: of a client that is a process, the number in its name; of a read, which plan
	Star   string // that is asked, started again, or taken out of use
	Stream string
	Chunks []AskedChunk
	Spec   serve.Spec // create; policy: MaxAge
	To     uint64     // trim: up to; serve-read: from
	Hold   core.Ms    // serve-read: the plan is held for so long
	Part   int        // fetch: of the plan
	Lift   core.Ms    // policy: it is lifted after so long, if not 0
	LiftN  uint64     // its serial then
	Quiet  bool       // policy: and then nothing is appended for a while
	Cool   bool       // decommission
	Force  bool
	Next   string // decommission: the star that takes its place, or ""
	Class  core.Class
}

// AskedChunk is one chunk of an append; its times are relative to the request's.
type AskedChunk struct {
	Stream         string
	Count          uint32
	Len            int64
	Oldest, Newest core.Ms
	Blob           uint64 // its number among the chunks of the run
}

// String is the request as it stands in a record.
func (a *Asked) String() string {
	b := []string{strconv.FormatUint(a.N, 10), a.Verb}
	str := func(k, v string) {
		if v != "" {
			b = append(b, k+"="+v)
		}
	}
	num := func(k string, v int64) {
		if v != 0 {
			b = append(b, k+"="+strconv.FormatInt(v, 10))
		}
	}
	yes := func(k string, v bool) {
		if v {
			b = append(b, k)
		}
	}
	str("star", a.Star)
	str("stream", a.Stream)
	for _, c := range a.Chunks {
		str("chunk", fmt.Sprintf("%s:%d:%d:%d:%d:%d", c.Stream, c.Count, c.Len, c.Oldest, c.Newest, c.Blob))
	}
	str("bucket", a.Spec.Bucket)
	str("name", a.Spec.Name)
	num("class", int64(max(a.Spec.Class, a.Class)))
	num("max-age", int64(a.Spec.MaxAge))
	num("to", int64(a.To))
	num("hold", int64(a.Hold))
	num("part", int64(a.Part))
	num("lift", int64(a.Lift))
	num("lift-serial", int64(a.LiftN))
	yes("quiet", a.Quiet)
	yes("cool", a.Cool)
	yes("force", a.Force)
	str("next", a.Next)
	return strings.Join(b, " ")
}

// parseAsked reads what String wrote.
func parseAsked(words []string) (*Asked, error) {
	bad := fmt.Errorf("%s is no request", clipped(strings.Join(words, " ")))
	if len(words) < 2 {
		return nil, bad
	}
	n, err := strconv.ParseUint(words[0], 10, 64)
	a := &Asked{N: n, Verb: words[1]}
	if _, ok := requestNamed(a.Verb); err != nil || !ok {
		return nil, bad
	}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		var num int64
		switch k {
		case "star":
			a.Star = v
		case "stream":
			a.Stream = v
		case "bucket":
			a.Spec.Bucket = v
		case "name":
			a.Spec.Name = v
		case "next":
			a.Next = v
		case "quiet":
			a.Quiet = true
		case "cool":
			a.Cool = true
		case "force":
			a.Force = true
		case "chunk":
			var c AskedChunk
			fs := strings.Split(v, ":")
			if len(fs) != 6 {
				return nil, bad
			}
			c.Stream = fs[0]
			if _, err := fmt.Sscanf(strings.Join(fs[1:], " "), "%d %d %d %d %d", &c.Count, &c.Len, &c.Oldest, &c.Newest, &c.Blob); err != nil || c.Count == 0 || c.Len <= 0 || c.Blob > 1<<20 {
				return nil, bad
			}
			a.Chunks = append(a.Chunks, c)
		default:
			if num, err = strconv.ParseInt(v, 10, 64); err != nil || num < 0 {
				return nil, bad
			}
			switch k {
			case "class":
				if num >= int64(core.Classes) {
					return nil, bad
				}
				a.Spec.Class, a.Class = core.Class(num), core.Class(num)
			case "max-age":
				a.Spec.MaxAge = core.Ms(num)
			case "to":
				a.To = uint64(num)
			case "hold":
				a.Hold = core.Ms(num)
			case "part":
				a.Part = int(num)
			case "lift":
				a.Lift = core.Ms(num)
			case "lift-serial":
				a.LiftN = uint64(num)
			default:
				return nil, bad
			}
		}
	}
	return a, nil
}

func requestNamed(name string) (request, bool) {
	for q := range requests {
		if q.String() == name {
			return q, true
		}
	}
	return 0, false
}

// asks notes a request.
func (s *Sim) asks(a *Asked) *Asked {
	if s.Watch != nil {
		s.happens(&Event{What: "ask", Text: a.String(), Ask: a})
	}
	if s.rec != nil {
		s.rec.add(s, &Line{Do: DoAsk, Ask: a})
	}
	return a
}

// asksStar notes a request to a star.
func (w *Workload) asksStar(p *Proc, r *serve.Request, a *ask) {
	s := p.Sim
	if s.rec == nil || w.stopped {
		return
	}
	x := &Asked{N: r.ID, Star: p.Actor.Name()}
	switch r.Verb {
	case serve.VerbOpen:
		x.Verb, x.Stream = reqOpen.String(), s.rec.made[r.Stream]
	case serve.VerbClose:
		x.Verb = reqClose.String()
	default:
		x.Verb = reqAppend.String()
		for i := range r.Chunks {
			c := &r.Chunks[i]
			x.Chunks = append(x.Chunks, AskedChunk{s.rec.made[c.Stream], c.Count, c.Len, c.Oldest - s.now, c.Newest - s.now, c.Blob})
		}
	}
	s.asks(x)
}

// asksVerb notes a request that a client makes itself.
func (w *Workload) asksVerb(s *Sim, v *verb) {
	if s.rec == nil {
		return
	}
	if v.lifts != nil {
		v.lifts.LiftN = w.serial
		return
	}
	a := v.lift
	if a == nil {
		a = &Asked{}
	}
	a.Verb, a.N, a.Stream, a.Spec, a.To, a.Hold = v.kind.String(), w.serial, s.rec.made[v.stream], v.spec, v.to, v.read.hold
	s.asks(a)
}

// lifts lifts a policy after a while, unless the stream is deleted by then.
func (w *Workload) lifts(s *Sim, st *streamOf, v *verb) {
	lift := v.lift
	s.After(lift.Lift, func() {
		if w.stopped || s.breach != nil || st.deleted {
			return
		}
		st.aged, st.quiet = false, lift.Quiet
		s.After(2*s.Dials.ReadGrace, func() { st.quiet = false })
		s.serially(w, lift)
		w.run(s, &verb{kind: reqPolicy, stream: st.id, lifts: lift})
	})
}

// serially gives a request that comes by itself the serial that it had.
func (s *Sim) serially(w *Workload, a *Asked) {
	if s.script != nil && a.LiftN > 0 {
		w.serial = a.LiftN - 1
	}
}

// mourns draws whether a client deletes what a star led that has died, and after
// how long; nil: it does not.
func (w *Workload) mourns(p *Proc, st *streamOf, cut bool) (d *Asked) {
	s := p.Sim
	switch {
	case !cut:
	case s.script != nil:
		for _, a := range s.script.mourned[p.id] {
			if id, ok := s.script.streams[a.Stream]; ok && id == st.id {
				d = &Asked{Lift: a.Lift, LiftN: a.LiftN}
			}
		}
	case w.ruin:
		if s.rec != nil {
			defer s.tape.lend(nil, nil)()
		}
		if s.tape.Choose(3) == 2 {
			d = &Asked{Lift: core.Ms(s.tape.Choose(300))}
		}
	}
	if d != nil && s.rec != nil {
		d.Verb, d.Stream = reqDelete.String(), s.rec.made[st.id]
		s.rec.add(s, &Line{Do: DoMourn, Proc: p.id, Ask: d})
	}
	return d
}

// made notes which client made a stream.
func (s *Sim) made(client string, id uint64) {
	if s.rec != nil && s.rec.made[id] == "" {
		s.rec.made[id] = client
	}
	if s.script != nil {
		s.script.streams[client] = id
	}
}

// planMade notes a read's plan; nil: it has nothing to read.
func (s *Sim) planMade(st uint64, p *plan) {
	if s.rec == nil {
		return
	}
	s.rec.reads++
	s.asks(&Asked{Verb: reqRead.String(), N: uint64(s.rec.reads), Stream: s.rec.made[st]})
	if p != nil {
		s.rec.plans[p] = s.rec.reads
	}
}

func (s *Sim) planUsed(p *plan, part int) {
	if s.rec != nil {
		s.asks(&Asked{Verb: reqFetch.String(), N: uint64(s.rec.plans[p]), Part: part})
	}
}
