package serve

import (
	"errors"
	"fmt"

	"nova/core"
)

// Queue is the process's queue that a star takes its requests from, and gives
// its answers to.
const Queue = "star"

// Verb is what a request asks for.
type Verb uint8

const (
	VerbOpen   Verb = 1 // lead a stream
	VerbAppend Verb = 2 // write one slot
	VerbClose  Verb = 3 // absorb everything, hand the streams back, end
)

// AppendChunk is consecutive records of one stream: the bytes are the host's.
type AppendChunk struct {
	Stream         uint64
	Count          uint32 // records, at least 1
	CRC            uint32 // CRC-32C of the bytes
	Len            int64
	Blob           uint64  // the host's handle
	Oldest, Newest core.Ms // record times of the first and the last record
}

// Request is one request to a star. ID is the host's: the answer names it.
type Request struct {
	Verb   Verb
	ID     uint64
	Stream uint64        // VerbOpen
	Chunks []AppendChunk // VerbAppend: at least one; the host gathers many streams' into one slot
}

// Outcome tells the answers apart.
type Outcome uint8

const (
	Opened Outcome = 1 // Next is the stream's next sequence number
	Acked  Outcome = 2 // Acks has one element for each chunk of the request, in order
	Failed Outcome = 3 // Reason says why; nothing of an append was acknowledged
	Closed Outcome = 4
)

// Ack is what became of one chunk: its first record's sequence number, or why it
// was refused.
type Ack struct {
	First  uint64
	Reason Reason
}

// Answer is a star's answer to one request.
type Answer struct {
	Outcome Outcome
	ID      uint64
	Next    uint64
	Acks    []Ack
	Reason  Reason
}

// MaxChunks is how many chunks one append, and so one slot, may have.
const MaxChunks = 1 << 13

// ErrRequest is wrapped by every error of the decoders in this file.
var ErrRequest = errors.New("no request or answer of this version")

const wireVersion = 1

// Encode is the request as a queue carries it.
func (r Request) Encode() string {
	w := wire{wireVersion, byte(r.Verb)}
	w.u(r.ID)
	switch r.Verb {
	case VerbOpen:
		w.u(r.Stream)
	case VerbAppend:
		w.u(uint64(len(r.Chunks)))
		for i := range r.Chunks {
			c := &r.Chunks[i]
			w.u(c.Stream)
			w.u(uint64(c.Count))
			w.u(uint64(c.CRC))
			w.u(uint64(c.Len))
			w.u(c.Blob)
			w.i(int64(c.Oldest))
			w.i(int64(c.Newest))
		}
	}
	return string(w)
}

// DecodeRequest decodes a request, strictly: every field in bounds, nothing left
// over. Of a request that does not decode it returns the ID as far as it is known.
func DecodeRequest(s string) (Request, error) {
	p := unwire{s: s}
	var r Request
	p.need(p.byte() == wireVersion)
	r.Verb = Verb(p.byte())
	r.ID = p.u()
	switch r.Verb {
	case VerbOpen:
		r.Stream = p.u()
	case VerbAppend:
		n := p.u()
		p.need(n > 0 && n <= MaxChunks && n <= uint64(len(p.s)/7))
		if !p.bad {
			r.Chunks = make([]AppendChunk, n)
		}
		for i := range r.Chunks {
			c := &r.Chunks[i]
			c.Stream = p.u()
			c.Count = p.u32()
			c.CRC = p.u32()
			c.Len = p.size()
			c.Blob = p.u()
			c.Oldest = core.Ms(p.i())
			c.Newest = core.Ms(p.i())
			p.need(c.Count > 0 && c.Len > 0)
		}
	case VerbClose:
	default:
		p.bad = true
	}
	if p.bad || p.s != "" {
		return Request{ID: r.ID}, fmt.Errorf("decode request %d of %d bytes: %w", r.ID, len(s), ErrRequest)
	}
	return r, nil
}

// Encode is the answer as a queue carries it.
func (a Answer) Encode() string {
	w := wire{wireVersion, byte(a.Outcome)}
	w.u(a.ID)
	switch a.Outcome {
	case Opened:
		w.u(a.Next)
	case Acked:
		w.u(uint64(len(a.Acks)))
		for _, k := range a.Acks {
			w = append(w, byte(k.Reason))
			w.u(k.First)
		}
	case Failed:
		w = append(w, byte(a.Reason))
	}
	return string(w)
}

// DecodeAnswer decodes an answer, strictly.
func DecodeAnswer(s string) (Answer, error) {
	p := unwire{s: s}
	var a Answer
	p.need(p.byte() == wireVersion)
	a.Outcome = Outcome(p.byte())
	a.ID = p.u()
	switch a.Outcome {
	case Opened:
		a.Next = p.u()
	case Acked:
		n := p.u()
		p.need(n <= MaxChunks && n <= uint64(len(p.s)/2))
		if !p.bad {
			a.Acks = make([]Ack, n)
		}
		for i := range a.Acks {
			a.Acks[i].Reason = p.reason()
			a.Acks[i].First = p.u()
		}
	case Failed:
		a.Reason = p.reason()
	case Closed:
	default:
		p.bad = true
	}
	if p.bad || p.s != "" {
		return Answer{}, fmt.Errorf("decode answer %d of %d bytes: %w", a.ID, len(s), ErrRequest)
	}
	return a, nil
}
