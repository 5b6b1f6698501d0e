package protocol

import (
	"errors"

	"nova/core"
	"nova/core/format"
	"nova/core/plan"
)

// Fault says why a publish ended Broken.
type Fault uint8

const (
	NoFault       Fault = iota
	SourceGone          // source Source stands in none of its replicas: its range is lost
	SourceDamaged       // bytes of a source are not what their checksum says, in no replica; Source is -1 where it is not known which
	Contradiction       // rows, footers and intent do not agree
	ForeignObject       // something else stands at the output's key
	MidRow              // an output that ends inside a row stands at the key
	NothingLives        // no chunk outlives the watermark: there is nothing to publish
)

var faultNames = [...]string{"none", "source-gone", "source-damaged", "contradiction", "foreign-object", "mid-row", "nothing-lives"}

func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return "fault?"
}

type publishStep uint8

const (
	pubSources publishStep = iota
	pubAnnounce
	pubRead
	pubAdopt
	pubShare
	pubConfirm
	pubCreate
	pubUpload
	pubParts
	pubComplete
	pubStanding
	pubFooter
	pubAbort
	pubEnd
)

// maxAnnounce bounds how often one publish begins the announce anew: each time
// somebody else's intent came or went in between.
const maxAnnounce = 4

// Publish makes one output durable under an intent: steps 1 to 4 of the rewrite
// commit protocol. Its caller passes the same output at every step.
//
// It ends Done with Durable, whatever stands at the key then: its own object, or
// the winner's; Again where an answer was missing, the right was lost or others
// were faster; Broken with Fault. In no case does it delete anything or resolve
// its intent: the intent watches the object and every upload until the orphan
// duty, or the caller by Resolve, takes it away.
type Publish struct {
	Durable plan.Durable
	Owned   bool // it created its intent itself, alone, and had a definite answer to everything it sent: Resolve may be called after the commit
	Fault   Fault
	Source  int // SourceGone, SourceDamaged: index into the output's sources

	step      publishStep
	then      publishStep // after pubConfirm
	out       core.Verdict
	call      core.Call
	asked     core.Ms // when the confirming operation in flight was emitted
	confirmed core.Ms // when the last definite confirmation of the right was emitted
	tries     uint8
	shared    bool // another attempt may work under the intent too
	unsure    bool // a mutation of the store had no definite answer
	intent    format.Intent
	sources   core.Group[sourceRead]
	reads     core.Results[sourceFound]
	layout    plan.Layout
	assembly  plan.Assembly
	upload    string
	parts     core.Group[partSend]
	tags      core.Results[string]
	tail      format.Tail
}

// Step advances the publish of o.
func (p *Publish) Step(t core.Turn, e *core.Env, o *plan.Output) core.Verdict {
	for {
		switch p.step {
		// 2. Read the footers of the distinct sources, before the announce: neither
		// an intent nor a right should age while they are fetched, and what cannot
		// be made then leaves no intent.
		case pubSources:
			if p.reads.Len() != len(o.Sources) {
				p.reads.Make(len(o.Sources))
			}
			if !p.sources.Run(t, len(o.Sources), e.Dials.FootersAbreast, func(i int, m *sourceRead, t core.Turn) bool {
				return m.step(t, &o.Sources[i], p.reads.At(i))
			}) {
				return core.Working
			}
			p.sources = core.Group[sourceRead]{}
			p.lay(e, o)
		case pubAnnounce: // 1. Announce the output, before anything exists.
			r, ok := p.call.AwaitFunc(t, func() core.Op { return p.announce(t, e, o) })
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
				t.Note(core.NoteAnnounced, 1)
				p.adopt(o, r.Rev)
				p.announced()
			case core.Conflict, core.Unknown:
				p.step = pubRead
			default:
				p.end(core.Again)
			}
		case pubRead: // 1. An intent stands, or may stand: read it.
			r, ok := p.call.AwaitFunc(t, func() core.Op { p.asked = t.Now; return core.Get(p.Durable.Intent.Key) })
			if !ok {
				return core.Working
			}
			p.found(o, r)
		case pubShare: // 1. Adopt it: from now on its creator leaves it to the judge.
			r, ok := p.call.AwaitFunc(t, func() core.Op {
				p.asked = t.Now
				return core.Txn(core.If(p.Durable.Intent), core.Put(p.Durable.Intent.Key, p.intent.Encode()))
			})
			if !ok {
				return core.Working
			}
			switch r.Outcome {
			case core.OK:
				p.Durable.Intent.Rev = r.Rev
				p.step = pubAdopt
			case core.Conflict, core.Unknown:
				p.retry(pubRead)
			default:
				p.end(core.Again)
			}
		case pubAdopt:
			t.Note(core.NoteAdopted, 1)
			p.shared = true
			p.adopt(o, p.intent.Created)
			p.announced()
		case pubConfirm: // The right must be fresh when a mutation is sent under it.
			if !p.call.Sent() && !e.Dials.Stale(p.confirmed, t.Now) {
				p.step = p.then
				continue
			}
			r, ok := p.call.AwaitFunc(t, func() core.Op { p.asked = t.Now; return core.Get(p.Durable.Intent.Key) })
			if !ok {
				return core.Working
			}
			if !p.confirm(r, p.asked) {
				p.fail(core.Again)
				continue
			}
			p.step = p.then
		case pubCreate: // 4. Publish create-once: one request.
			r, ok := p.call.AwaitFunc(t, func() core.Op {
				return core.Create(p.Durable.Obj, p.assembly.Parts[0].Pieces, e.Dials.Horizon(p.confirmed))
			})
			if !ok {
				return core.Working
			}
			p.created(t, o, r.Outcome)
		case pubUpload: // 3. Assemble the output: begin its upload …
			r, ok := p.call.AwaitFunc(t, func() core.Op { return core.CreateUpload(p.Durable.Obj, e.Dials.Horizon(p.confirmed)) })
			if !ok {
				return core.Working
			}
			p.unsure = p.unsure || !r.Outcome.Definite()
			if r.Outcome != core.OK || r.Val == "" {
				p.fail(core.Again)
				continue
			}
			p.upload, p.step = r.Val, pubParts
			p.tags.Make(len(p.assembly.Parts))
		case pubParts: // 3. … and send its parts, some abreast.
			if !p.parts.Run(t, len(p.assembly.Parts), e.Dials.PartWidth, func(i int, m *partSend, t core.Turn) bool {
				return m.step(t, e, p, i)
			}) {
				return core.Working
			}
			p.parts = core.Group[partSend]{}
			if p.out != core.Working {
				p.fail(p.out)
				continue
			}
			p.step, p.then = pubConfirm, pubComplete
		case pubComplete: // 4. Publish create-once: complete the upload.
			r, ok := p.call.AwaitFunc(t, func() core.Op {
				return core.Complete(p.Durable.Obj, p.upload, p.tags.All(), e.Dials.Horizon(p.confirmed))
			})
			if !ok {
				return core.Working
			}
			p.completed(t, o, r.Outcome)
		case pubStanding: // 4. Whose object is it? Its own trailer and footer say.
			r, ok := p.call.AwaitFunc(t, func() core.Op {
				return core.ReadTail(p.Durable.Obj, max(format.TailRead, p.layout.Where.Len+format.TrailerSize))
			})
			if !ok {
				return core.Working
			}
			p.standing(t, o, r)
		case pubFooter:
			r, ok := p.call.AwaitFunc(t, func() core.Op {
				return core.ReadRange(p.Durable.Obj, p.tail.Window.Off, p.tail.Window.Len)
			})
			if !ok {
				return core.Working
			}
			p.footer(t, o, r)
		case pubAbort: // Its own upload, which nobody will complete any more.
			r, ok := p.call.AwaitFunc(t, func() core.Op { return core.Abort(p.Durable.Obj, p.upload) })
			if !ok {
				return core.Working
			}
			p.unsure = p.unsure || r.Outcome != core.OK
			p.upload = ""
			if p.out == core.Working {
				p.step = pubStanding
				continue
			}
			p.end(p.out)
		case pubEnd:
			return p.out
		}
	}
}

// lay plans the output's bytes once every footer is here.
func (p *Publish) lay(e *core.Env, o *plan.Output) {
	reads := make([]plan.Read, len(o.Sources))
	fault, source := NoFault, 0
	for i := range reads {
		switch f := p.reads.At(i); {
		case f.unsure && f.read.Footer == "":
			p.fail(core.Again)
			return
		case f.read.Footer == "" && fault == NoFault:
			fault, source = f.fault, i
		default:
			reads[i] = f.read
		}
	}
	if fault != NoFault {
		p.broken(fault, source)
		return
	}
	l, err := plan.Lay(o, o.Home, reads)
	switch {
	case errors.Is(err, plan.ErrEmpty):
		p.broken(NothingLives, -1)
		return
	case err != nil:
		p.broken(Contradiction, -1)
		return
	}
	p.assembly = plan.Assemble(&e.Dials, l.Body)
	l.Body = nil
	p.layout, p.step = l, pubAnnounce
}

// announced goes on to the first mutation of the store.
func (p *Publish) announced() {
	p.step, p.then = pubConfirm, pubUpload
	if p.assembly.Single {
		p.then = pubCreate
	}
}

// created takes the answer to a Create.
func (p *Publish) created(t core.Turn, o *plan.Output, out core.Outcome) {
	switch out {
	case core.OK:
		t.Note(core.NotePublishPut, 1)
		p.own(o)
	case core.Exists:
		p.lost(t)
	case core.Unknown: // It may have landed, or land later: what stands decides, never a second blind try.
		p.unsure = true
		p.step = pubStanding
	case core.Damaged, core.OutOfRange:
		p.broken(SourceDamaged, -1)
	default: // Absent: a source went between its footer and its bytes; its footer will say so next time.
		p.fail(core.Again)
	}
}

// completed takes the answer to a Complete.
func (p *Publish) completed(t core.Turn, o *plan.Output, out core.Outcome) {
	switch out {
	case core.OK:
		t.Note(core.NotePublishMultipart, 1)
		p.upload = ""
		p.own(o)
	case core.Exists: // Lost the race; the parts are of no use to anybody.
		p.lost(t)
		p.step = pubAbort
	case core.Absent: // Completed by a request whose answer was lost, or aborted: what stands decides.
		p.upload = ""
		p.unsure = true
		p.step = pubStanding
	case core.Unknown:
		p.unsure = true
		p.step = pubStanding
	default:
		p.fail(core.Again)
	}
}

// lost goes on to whoever won the key.
func (p *Publish) lost(t core.Turn) {
	t.Note(core.NotePublishLostRace, 1)
	p.shared = true
	p.step = pubStanding
}

// own ends a publish that had its own object acknowledged.
func (p *Publish) own(o *plan.Output) {
	p.Durable.Footer, p.Durable.Window, p.Durable.Size = p.layout.Foot, p.layout.Where, p.layout.Size
	p.Durable.Rows, p.Durable.LiveFrom = len(o.Rows), p.layout.Live()
	p.fail(core.Done)
}

// broken ends the publish for good, once its upload is dropped.
func (p *Publish) broken(f Fault, source int) {
	p.Fault, p.Source = f, source
	p.fail(core.Broken)
}

// fail ends the publish with a verdict, once an upload that it began and that is
// not completed has been aborted.
func (p *Publish) fail(v core.Verdict) {
	if p.out = v; p.upload != "" {
		p.step = pubAbort
		return
	}
	p.end(v)
}

// end drops what is spent and keeps the result.
func (p *Publish) end(v core.Verdict) {
	*p = Publish{
		step: pubEnd, out: v, Durable: p.Durable, Fault: p.Fault, Source: p.Source,
		Owned: v == core.Done && !p.shared && !p.unsure,
	}
}
