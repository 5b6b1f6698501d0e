package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func requests() []Request {
	return []Request{
		{Verb: VerbOpen, ID: 7, Stream: 1 << 60},
		{Verb: VerbClose, ID: 1<<64 - 1},
		{Verb: VerbAppend, ID: 3, Chunks: []AppendChunk{
			{Stream: 1, Count: 1, CRC: 1<<32 - 1, Len: 1, Blob: 9, Oldest: -5, Newest: 1 << 40},
			{Stream: 2, Count: 1<<32 - 1, Len: 1 << 40},
		}},
	}
}

func answers() []Answer {
	return []Answer{
		{Outcome: Opened, ID: 1, Next: 1 << 50},
		{Outcome: Acked, ID: 2, Acks: []Ack{{First: 7}, {Reason: Deleted}, {First: 1<<64 - 1}}},
		{Outcome: Failed, ID: 3, Reason: Held},
		{Outcome: Closed, ID: 4},
	}
}

func TestRequestsRoundTrip(t *testing.T) {
	for _, r := range requests() {
		s := r.Encode()
		got, err := DecodeRequest(s)
		if err != nil || !cmp.Equal(got, r) {
			t.Errorf("%v: %s", err, cmp.Diff(r, got))
		}
		for k := range s { // strict: nothing shorter, nothing longer
			if _, err := DecodeRequest(s[:k]); err == nil {
				t.Errorf("%+v decodes from %d of %d bytes", r, k, len(s))
			}
		}
		if _, err := DecodeRequest(s + "\x00"); err == nil {
			t.Errorf("%+v decodes with a byte more", r)
		}
	}
	for _, a := range answers() {
		s := a.Encode()
		got, err := DecodeAnswer(s)
		if err != nil || !cmp.Equal(got, a) {
			t.Errorf("%v: %s", err, cmp.Diff(a, got))
		}
		for k := range s {
			if _, err := DecodeAnswer(s[:k]); err == nil {
				t.Errorf("%+v decodes from %d of %d bytes", a, k, len(s))
			}
		}
	}
	for _, r := range []Request{{}, {Verb: 9}, {Verb: VerbAppend}, {Verb: VerbAppend, Chunks: []AppendChunk{{Stream: 1, Len: 1}}}, {Verb: VerbAppend, Chunks: []AppendChunk{{Stream: 1, Count: 1}}}} {
		if _, err := DecodeRequest(r.Encode()); err == nil {
			t.Errorf("%+v decodes", r)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range requests() {
		f.Add(r.Encode())
	}
	for _, a := range answers() {
		f.Add(a.Encode())
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := DecodeRequest(s); err == nil && r.Encode() != s {
			t.Errorf("%q decodes to what encodes to %q", s, r.Encode())
		}
		if a, err := DecodeAnswer(s); err == nil && a.Encode() != s {
			t.Errorf("%q decodes to what encodes to %q", s, a.Encode())
		}
	})
}

// A request that does not decode is answered, and stops nobody.
func TestMalformedRequest(t *testing.T) {
	w := newWorld(t, 1, "a")
	c := newClient(w)
	x := w.create("x")
	p := w.star("p1", "s1")
	p.queue = append(p.queue, "", "nonsense", Request{Verb: VerbAppend, ID: 77}.Encode())
	c.mustOpen(p, x)
	if a, ok := answerTo(p, 77); !ok || a.Outcome != Failed || a.Reason != Malformed {
		t.Fatalf("%+v", p.answers)
	}
}

func TestReasonsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range reasons {
		if n := r.String(); n == "" || seen[n] {
			t.Errorf("reason %d is called %q", r, n)
		}
		seen[r.String()] = true
	}
}
