package s3store_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nova/core"
	"nova/prod/exec"
	"nova/prod/s3store"
)

// fake is a store whose server is a function.
func fake(t *testing.T, h http.HandlerFunc) *s3store.Store {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return at(t, srv.URL, nil, false)
}

func at(t *testing.T, url string, tr http.RoundTripper, express bool) *s3store.Store {
	t.Helper()
	e, err := s3store.Connect(s3store.Config{URL: url, AccessKey: "a", SecretKey: "s", Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s, err := e.Store("st", s3store.Bucket{Name: "bucket", Express: express})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func problem(w http.ResponseWriter, r *http.Request, status int, code string) {
	if code != "" {
		w.Header().Set("Content-Type", "application/xml")
	}
	w.WriteHeader(status)
	if code != "" && r.Method != http.MethodHead {
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>m</Message></Error>`, code)
	}
}

var obj = core.Obj{Store: "st", Key: "data/b/1"}

func soon() core.Ms { return core.Ms(time.Now().Add(time.Minute).UnixMilli()) }

var source = core.Piece{Kind: core.Range, From: core.Obj{Store: "st", Key: "source"}, Off: 5, Len: 10}

// every operation of a store.
func ops() []core.Op {
	return []core.Op{
		core.Stat(obj), core.ReadRange(obj, 0, 8), core.ReadTail(obj, 8),
		core.Create(obj, nil, soon()), core.CreateUpload(obj, soon()), core.UploadPart(obj, "u", 1, nil, soon()),
		core.CopyPart(obj, "u", 1, source, soon()), core.Complete(obj, "u", []string{`"t"`}, soon()),
		core.Abort(obj, "u"), core.ListUploads(obj), core.List("st", "data/", "", 10), core.Delete(obj),
	}
}

func body(b string) *exec.Body { return bodyFrom(b, nil) }

// short names for the table.
const (
	ok, ab, ex, rng, ref, dam, unk = core.OK, core.Absent, core.Exists, core.OutOfRange, core.Refused, core.Damaged, core.Unknown
	nil_                           = core.Outcome(255) // the answer is a success, or the operation does not look at its body
)

// Every kind of answer × every operation (C5, C10 to C13, C39, C41).
func TestOutcomes(t *testing.T) {
	table := []struct {
		status int
		code   string
		want   [12]core.Outcome // in the order of ops
	}{
		//                                 stat range tail create upload part copy complete abort uploads list delete
		{404, "NoSuchKey", [12]core.Outcome{ab, ab, ab, unk, unk, unk, ref, unk, unk, unk, unk, ok}},
		{404, "NoSuchUpload", [12]core.Outcome{unk, unk, unk, unk, unk, ab, ab, ab, ok, ok, unk, unk}},
		{404, "NoSuchBucket", [12]core.Outcome{ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}},
		{404, "", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{412, "PreconditionFailed", [12]core.Outcome{ref, ref, ref, ex, ref, ref, ref, ex, ref, ref, ref, ref}},
		{412, "", [12]core.Outcome{ref, ref, ref, ex, ref, ref, ref, ex, ref, ref, ref, ref}},
		{409, "ConditionalRequestConflict", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{416, "InvalidRange", [12]core.Outcome{ref, rng, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}},
		{403, "AccessDenied", [12]core.Outcome{ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}},
		{403, "", [12]core.Outcome{ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}},
		{400, "RequestTimeout", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{400, "BadDigest", [12]core.Outcome{unk, ref, ref, dam, ref, dam, ref, ref, ref, ref, ref, ref}},
		{400, "EntityTooSmall", [12]core.Outcome{unk, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}},
		{400, "", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{408, "", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{429, "", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{500, "InternalError", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{500, "", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{502, "", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{503, "SlowDown", [12]core.Outcome{unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk, unk}},
		{501, "NotImplemented", [12]core.Outcome{ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}},
		{301, "PermanentRedirect", [12]core.Outcome{unk, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}},
		// An error inside a 200.
		{200, "InternalError", [12]core.Outcome{nil_, nil_, nil_, nil_, unk, unk, unk, unk, nil_, unk, unk, nil_}},
		{200, "AccessDenied", [12]core.Outcome{nil_, nil_, nil_, nil_, ref, ref, ref, ref, nil_, ref, ref, nil_}},
		// A 200 with nothing in it.
		{200, "", [12]core.Outcome{nil_, nil_, nil_, nil_, unk, unk, unk, unk, nil_, nil_, nil_, nil_}},
	}
	for _, c := range table {
		s := fake(t, func(w http.ResponseWriter, r *http.Request) { problem(w, r, c.status, c.code) })
		for i, op := range ops() {
			if c.want[i] == nil_ {
				continue
			}
			r, err := s.Do(t.Context(), op, body("0123456789"))
			if r.Outcome != c.want[i] {
				t.Errorf("%d %q to %s: %s, not %s (%v)", c.status, c.code, op.Kind, r.Outcome, c.want[i], err)
			}
			if r.Outcome != core.OK && r.Outcome != core.Exists && err == nil {
				t.Errorf("%d %q to %s: no reason given", c.status, c.code, op.Kind)
			}
		}
	}
}

// C13: a 200 whose body is an error, or no result at all, is no success.
func TestNoAnswerAtAll(t *testing.T) {
	s := fake(t, func(w http.ResponseWriter, r *http.Request) {
		c, _, _ := w.(http.Hijacker).Hijack()
		c.Close()
	})
	for _, op := range ops() {
		if r, err := s.Do(t.Context(), op, body("x")); r.Outcome != core.Unknown || err == nil {
			t.Errorf("%s: %s %v", op.Kind, r.Outcome, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	held := make(chan struct{})
	s = fake(t, func(w http.ResponseWriter, r *http.Request) { <-held })
	defer close(held)
	for _, op := range ops() {
		if r, err := s.Do(ctx, op, body("x")); r.Outcome != core.Unknown || err == nil {
			t.Errorf("%s: %s %v", op.Kind, r.Outcome, err)
		}
	}
}

// A copy whose source is gone says so; the upload's absence is another matter.
func TestCopySourceAbsent(t *testing.T) {
	s := fake(t, func(w http.ResponseWriter, r *http.Request) { problem(w, r, 404, "NoSuchKey") })
	r, _ := s.Do(t.Context(), core.CopyPart(obj, "u", 1, source, soon()), nil)
	if r.Outcome != core.Refused || r.Val != exec.SourceAbsent {
		t.Errorf("%+v", r)
	}
	far := source
	far.From.Store = "elsewhere"
	if r, err := s.Do(t.Context(), core.CopyPart(obj, "u", 1, far, soon()), nil); r.Outcome != core.Refused || r.Val != "" {
		t.Errorf("%+v %v", r, err)
	}
}

// C12: 409 twice, then 200; 409 for ever; 409 then a lost race.
func TestConditionalConflicts(t *testing.T) {
	for _, op := range []core.Op{core.Create(obj, nil, soon()), core.Complete(obj, "u", []string{`"t"`}, soon())} {
		for want, last := range map[core.Outcome]func(w http.ResponseWriter, r *http.Request){
			core.OK: func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>`)
			},
			core.Exists:  func(w http.ResponseWriter, r *http.Request) { problem(w, r, 412, "PreconditionFailed") },
			core.Unknown: func(w http.ResponseWriter, r *http.Request) { problem(w, r, 409, "ConditionalRequestConflict") },
		} {
			n := 0
			s := fake(t, func(w http.ResponseWriter, r *http.Request) {
				if n++; n <= 2 {
					problem(w, r, 409, "ConditionalRequestConflict")
					return
				}
				last(w, r)
			})
			if r, err := s.Do(t.Context(), op, body("x")); r.Outcome != want {
				t.Errorf("%s: %s, not %s (%v)", op.Kind, r.Outcome, want, err)
			}
			if want != core.Unknown && n != 3 || want == core.Unknown && n != 5 {
				t.Errorf("%s → %s: sent %d times", op.Kind, want, n)
			}
		}
	}
}

func TestThrottled(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
	}{{503, "SlowDown"}, {503, ""}, {429, ""}, {500, "InternalError"}} {
		s := fake(t, func(w http.ResponseWriter, r *http.Request) { problem(w, r, c.status, c.code) })
		_, err := s.Do(t.Context(), core.Stat(obj), nil)
		f, ok := err.(*s3store.Fault)
		if !ok || f.Throttled() != (c.status != 500) {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
	}
}

// What was not sent: past its time, or within the second that no signature tells.
func TestTooLate(t *testing.T) {
	sent := 0
	s := fake(t, func(w http.ResponseWriter, r *http.Request) { sent++ })
	now := core.Ms(time.Now().UnixMilli())
	for _, until := range []core.Ms{0, now - 1, now, now/1000*1000 + 999} {
		for _, op := range []core.Op{core.Create(obj, nil, until), core.CreateUpload(obj, until), core.UploadPart(obj, "u", 1, nil, until),
			core.CopyPart(obj, "u", 1, source, until), core.Complete(obj, "u", nil, until)} {
			if r, err := s.Do(t.Context(), op, body("x")); r.Outcome != core.Refused || err == nil {
				t.Errorf("%s until %d at %d: %s", op.Kind, until, now, r.Outcome)
			}
		}
	}
	if sent != 0 {
		t.Errorf("%d were sent", sent)
	}
}

// How requests go: signed in the query with an expiry, no chunked framing.
func TestRequestsOnTheWire(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		mutation := (r.Method == http.MethodPut || r.Method == http.MethodPost) && !q.Has("delete")
		if mutation != q.Has("X-Amz-Expires") || mutation == (r.Header.Get("Authorization") != "") {
			t.Errorf("%s %s: expiry %q, authorization %q", r.Method, r.URL, q.Get("X-Amz-Expires"), r.Header.Get("Authorization"))
		}
		if enc := r.Header.Get("Content-Encoding") + r.Header.Get("X-Amz-Trailer") + r.Header.Get("X-Amz-Decoded-Content-Length"); enc != "" || len(r.TransferEncoding) > 0 {
			t.Errorf("%s %s: framed as %q %q", r.Method, r.URL, enc, r.TransferEncoding)
		}
		problem(w, r, 403, "AccessDenied")
	}
	plain := httptest.NewServer(http.HandlerFunc(h))
	defer plain.Close()
	tls := httptest.NewTLSServer(http.HandlerFunc(h))
	defer tls.Close()
	for _, srv := range []*httptest.Server{plain, tls} {
		s := at(t, srv.URL, srv.Client().Transport, false)
		for _, op := range ops() {
			b := body(strings.Repeat("x", 1000))
			b.CRC, b.HasCRC = 7, true
			if r, err := s.Do(t.Context(), op, b); r.Outcome != core.Refused {
				t.Errorf("%s: %s %v", op.Kind, r.Outcome, err)
			}
		}
		if rs, err := s.Delete(t.Context(), []string{"a", "b"}); rs[0].Outcome != core.Refused || rs[1].Outcome != core.Refused {
			t.Error(rs, err)
		}
	}
}
