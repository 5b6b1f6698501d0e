package s3store_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"nova/core"
	"nova/prod/exec"
	"nova/prod/s3store"
)

func bodyFrom(b string, wrap func(io.Reader) io.Reader) *exec.Body {
	return &exec.Body{N: int64(len(b)), Open: func() io.ReadCloser {
		var r io.Reader = strings.NewReader(b)
		if wrap != nil {
			r = wrap(r)
		}
		return io.NopCloser(r)
	}}
}

// dialect is gofakes3 behind a handler that answers first where it wants to.
func dialect(t *testing.T, first func(w http.ResponseWriter, r *http.Request) (done bool)) *s3store.Store {
	t.Helper()
	b := s3mem.New()
	if err := b.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	real := gofakes3.New(b, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	return fake(t, func(w http.ResponseWriter, r *http.Request) {
		if first == nil || !first(w, r) {
			real.ServeHTTP(w, r)
		}
	})
}

func put(t *testing.T, s *s3store.Store, key, val string) {
	t.Helper()
	if r, err := s.Do(t.Context(), core.Create(core.Obj{Store: s.Name(), Key: key}, nil, soon()), body(val)); r.Outcome != core.OK {
		t.Fatal(r.Outcome, err)
	}
}

// Stores that the probe must refuse, and what it must name (gap 12, C40).
func TestProbeRefuses(t *testing.T) {
	isComplete := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }
	isPut := func(r *http.Request) bool { return r.Method == http.MethodPut && !r.URL.Query().Has("uploadId") }
	cases := []struct {
		name, names string
		first       func(w http.ResponseWriter, r *http.Request) bool
	}{
		{"gofakes3", "expiry of signed requests", nil},
		{"conditions ignored", "create-once on put", func(w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("If-None-Match")
			return false
		}},
		{"conditions unknown", "create-once on put", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("If-None-Match") != "" && isPut(r) {
				problem(w, r, 501, "NotImplemented")
				return true
			}
			return false
		}},
		{"expiry enforced", "create-once on complete", expiring(t, nil)},
		{"complete unconditional", "create-once on complete", expiring(t, func(w http.ResponseWriter, r *http.Request) bool {
			if isComplete(r) {
				r.Header.Del("If-None-Match")
			}
			return false
		})},
		{"no ranges", "suffix reads", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
				problem(w, r, 501, "NotImplemented")
				return true
			}
			return false
		}},
		{"no bucket", "no such bucket", func(w http.ResponseWriter, r *http.Request) bool {
			problem(w, r, 404, "NoSuchBucket")
			return true
		}},
		{"versions", "versioning is on", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Has("versioning") {
				fmt.Fprint(w, `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`)
				return true
			}
			return false
		}},
		{"absence without a code", "absent", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/absent") && r.Method != http.MethodDelete {
				w.WriteHeader(404)
				return true
			}
			return false
		}},
		{"down", "no definite answer", func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(500)
			return true
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := dialect(t, c.first).Probe(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), "bucket") {
				t.Errorf("%v", err)
			}
			if lacks := errors.Is(err, s3store.ErrAbility); lacks == (c.name == "down" || c.name == "absence without a code") {
				t.Errorf("%v: wraps ErrAbility: %v", err, lacks)
			}
		})
	}
}

// expiring refuses requests whose signature has expired, as S3 does.
func expiring(t *testing.T, then func(w http.ResponseWriter, r *http.Request) bool) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if q := r.URL.Query(); q.Has("X-Amz-Expires") {
			at, err := time.Parse("20060102T150405Z", q.Get("X-Amz-Date"))
			if err != nil {
				t.Error(err)
			}
			life, err := time.ParseDuration(q.Get("X-Amz-Expires") + "s")
			if err != nil {
				t.Error(err)
			}
			if time.Now().After(at.Add(life)) {
				problem(w, r, 403, "AccessDenied")
				return true
			}
		}
		return then != nil && then(w, r)
	}
}

// C38: a server that demands Content-MD5, one without multi-delete.
func TestDeleteDialects(t *testing.T) {
	var multi, single atomic.Int32
	demand := func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Query().Has("delete"):
			multi.Add(1)
			b, _ := io.ReadAll(r.Body)
			sum := md5.Sum(b)
			if r.Header.Get("Content-MD5") != base64.StdEncoding.EncodeToString(sum[:]) {
				problem(w, r, 400, "MissingContentMD5")
				return true
			}
			r.Body = io.NopCloser(bytes.NewReader(b))
		case r.Method == http.MethodDelete:
			single.Add(1)
		}
		return false
	}
	lack := func(status int, code string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Has("delete") {
				multi.Add(1)
				problem(w, r, status, code)
				return true
			}
			if r.Method == http.MethodDelete {
				single.Add(1)
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		first         func(w http.ResponseWriter, r *http.Request) bool
		multi, single int32
	}{"md5": {demand, 2, 0}, "501": {lack(501, "NotImplemented"), 1, 240}, "405": {lack(405, "MethodNotAllowed"), 1, 240}} {
		t.Run(name, func(t *testing.T) {
			multi.Store(0)
			single.Store(0)
			s := dialect(t, c.first)
			put(t, s, "k7", "x")
			keys := make([]string, 1200)
			for i := range keys {
				keys[i] = fmt.Sprint("k", i)
			}
			times := 1
			if name != "md5" {
				keys, times = keys[:120], 2
			}
			for range times {
				rs, err := s.Delete(t.Context(), keys)
				for i, r := range rs {
					if r.Outcome != core.OK {
						t.Fatal(keys[i], r.Outcome, err)
					}
				}
			}
			if r, _ := s.Do(t.Context(), core.Stat(core.Obj{Store: "st", Key: "k7"}), nil); r.Outcome != core.Absent {
				t.Error("k7 still stands:", r.Outcome)
			}
			if multi.Load() != c.multi || single.Load() != c.single {
				t.Errorf("%d multi-deletes, %d deletes", multi.Load(), single.Load())
			}
		})
	}
}

// C39: ten keys, three per-key errors inside a 200: eight are gone; and what the
// answer leaves out was not answered.
func TestPerKeyErrors(t *testing.T) {
	s := fake(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if !r.URL.Query().Has("delete") || strings.Contains(string(b), "<Quiet>true") {
			t.Errorf("%s %s", r.URL, b)
		}
		fmt.Fprint(w, `<DeleteResult>`)
		for _, k := range []string{"a", "b", "c", "d", "e", "f", "&amp;"} {
			fmt.Fprintf(w, `<Deleted><Key>%s</Key></Deleted>`, k)
		}
		for k, code := range map[string]string{"denied": "AccessDenied", "error": "InternalError", "gone": "NoSuchKey"} {
			fmt.Fprintf(w, `<Error><Key>%s</Key><Code>%s</Code><Message>m</Message></Error>`, k, code)
		}
		fmt.Fprint(w, `</DeleteResult>`)
	})
	keys := []string{"a", "b", "c", "d", "e", "f", "&", "denied", "error", "gone", "forgotten", "a"}
	rs, err := s.Delete(t.Context(), keys)
	var got []core.Outcome
	for _, r := range rs {
		got = append(got, r.Outcome)
	}
	if d := cmp.Diff([]core.Outcome{ok, ok, ok, ok, ok, ok, ok, ref, unk, ok, unk, ok}, got); d != "" || err == nil {
		t.Error(d, err)
	}
}

// Bodies that end early, or are longer than they may be; servers that ignore
// ranges.
func TestShortBodies(t *testing.T) {
	send := func(header map[string]string, status int, body string, announce int) *s3store.Store {
		return fake(t, func(w http.ResponseWriter, r *http.Request) {
			for k, v := range header {
				w.Header().Set(k, v)
			}
			w.Header().Set("Content-Length", fmt.Sprint(announce))
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
	for name, c := range map[string]struct {
		s    *s3store.Store
		op   core.Op
		want core.Reply
	}{
		"range":             {send(map[string]string{"Content-Range": "bytes 2-5/10"}, 206, "cdef", 4), core.ReadRange(obj, 2, 4), core.Reply{Val: "cdef", Size: 10}},
		"range at the end":  {send(map[string]string{"Content-Range": "bytes 8-9/10"}, 206, "ij", 2), core.ReadRange(obj, 8, 4), core.Reply{Val: "ij", Size: 10}},
		"range, short":      {send(map[string]string{"Content-Range": "bytes 2-5/10"}, 206, "cd", 4), core.ReadRange(obj, 2, 4), core.Reply{Outcome: unk}},
		"range, fewer":      {send(map[string]string{"Content-Range": "bytes 2-3/10"}, 206, "cd", 2), core.ReadRange(obj, 2, 4), core.Reply{Outcome: unk}},
		"another range":     {send(map[string]string{"Content-Range": "bytes 3-6/10"}, 206, "defg", 4), core.ReadRange(obj, 2, 4), core.Reply{Outcome: unk}},
		"range ignored":     {send(nil, 200, "abcdefghij", 10), core.ReadRange(obj, 2, 4), core.Reply{Val: "cdef", Size: 10}},
		"range past it all": {send(nil, 200, "abcdefghij", 10), core.ReadRange(obj, 10, 4), core.Reply{Outcome: rng}},
		"no total":          {send(map[string]string{"Content-Range": "bytes 2-5/*"}, 206, "cdef", 4), core.ReadRange(obj, 2, 4), core.Reply{Outcome: unk}},
		"nonsense":          {send(map[string]string{"Content-Range": "bytes x"}, 206, "cdef", 4), core.ReadRange(obj, 2, 4), core.Reply{Outcome: unk}},
		"tail":              {send(map[string]string{"Content-Range": "bytes 7-9/10"}, 206, "hij", 3), core.ReadTail(obj, 3), core.Reply{Val: "hij", Size: 10}},
		"tail, whole":       {send(map[string]string{"Content-Range": "bytes 0-2/3"}, 206, "hij", 3), core.ReadTail(obj, 5), core.Reply{Val: "hij", Size: 3}},
		"tail, short":       {send(map[string]string{"Content-Range": "bytes 7-9/10"}, 206, "hi", 3), core.ReadTail(obj, 3), core.Reply{Outcome: unk}},
		"tail ignored":      {send(nil, 200, "abcdefghij", 10), core.ReadTail(obj, 3), core.Reply{Val: "hij", Size: 10}},
		"tail of another":   {send(map[string]string{"Content-Range": "bytes 6-8/10"}, 206, "ghi", 3), core.ReadTail(obj, 3), core.Reply{Outcome: unk}},
	} {
		r, err := c.s.Do(t.Context(), c.op, nil)
		if d := cmp.Diff(c.want, r); d != "" {
			t.Errorf("%s: %s%v", name, d, err)
		}
	}
}

// A body that cannot be read to its end is no object.
func TestBodyThatFails(t *testing.T) {
	s := dialect(t, nil)
	broken := bodyFrom(strings.Repeat("x", 100_000), func(r io.Reader) io.Reader { return io.MultiReader(io.LimitReader(r, 70_000), failing{}) })
	if r, err := s.Do(t.Context(), core.Create(obj, nil, soon()), broken); r.Outcome != core.Unknown {
		t.Error(r.Outcome, err)
	}
	if r, err := s.Do(t.Context(), core.Stat(obj), nil); r.Outcome != core.Absent {
		t.Error("something was published:", r, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the source broke off") }

// A directory bucket lists in no order, from its beginning, under prefixes that
// end in "/".
func TestDirectoryBucket(t *testing.T) {
	keys := []string{"data/x/9", "data/x/2", "chain/q/1", "data/x/5", "data/x/1", "data/y/3", "data/x/7"}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, _ := url.ParseQuery(r.URL.RawQuery)
		prefix := q.Get("prefix")
		if prefix != "" && !strings.HasSuffix(prefix, "/") || q.Has("start-after") {
			problem(w, r, 400, "InvalidRequest")
			return
		}
		if q.Has("uploads") {
			fmt.Fprintf(w, `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>`)
			for i, k := range keys {
				if strings.HasPrefix(k, prefix) {
					fmt.Fprintf(w, `<Upload><Key>%s</Key><UploadId>u%d</UploadId></Upload>`, k, i)
				}
			}
			fmt.Fprint(w, `</ListMultipartUploadsResult>`)
			return
		}
		from := 0
		fmt.Sscan(q.Get("continuation-token"), &from)
		fmt.Fprintf(w, `<ListBucketResult><IsTruncated>%v</IsTruncated><NextContinuationToken>%d</NextContinuationToken>`, from+2 < len(keys), from+2)
		for _, k := range keys[from:min(from+2, len(keys))] {
			if strings.HasPrefix(k, prefix) {
				fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>1</Size></Contents>`, k)
			}
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	}))
	defer srv.Close()
	s := at(t, srv.URL, nil, true)
	var got []string
	for after := ""; ; {
		r, err := s.Do(t.Context(), core.List("st", "data/x/", after, 2), nil)
		if r.Outcome != core.OK {
			t.Fatal(r.Outcome, err)
		}
		for _, it := range r.Items {
			got = append(got, it.Key)
			after = it.Key
		}
		if !r.More {
			break
		}
	}
	if want := []string{"data/x/1", "data/x/2", "data/x/5", "data/x/7", "data/x/9"}; !slices.Equal(got, want) {
		t.Error(got)
	}
	r, err := s.Do(t.Context(), core.List("st", "dat", "data/x/9", 9), nil)
	if r.Outcome != core.OK || len(r.Items) != 1 || r.Items[0].Key != "data/y/3" || r.More {
		t.Error(r, err)
	}
	r, err = s.Do(t.Context(), core.ListUploads(core.Obj{Store: "st", Key: "data/x/5"}), nil)
	if d := cmp.Diff(core.Reply{Items: []core.Item{{Key: "data/x/5", Upload: "u3"}}}, r); d != "" {
		t.Error(d, err)
	}
}

// A server that says of every page that there is more, without a way to get it:
// that is not "none" (gap 10).
func TestListThatNeverEnds(t *testing.T) {
	s := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("uploads") {
			fmt.Fprint(w, `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>`)
			return
		}
		fmt.Fprint(w, `<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>`)
	})
	if r, err := s.Do(t.Context(), core.List("st", "a", "", 1), nil); r.Outcome != core.Unknown || err == nil {
		t.Error(r, err)
	}
	if r, err := s.Do(t.Context(), core.ListUploads(obj), nil); r.Outcome != core.Unknown || err == nil {
		t.Error(r, err)
	}
}
