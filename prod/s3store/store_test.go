package s3store_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nova/core"
	"nova/prod/embedded"
	"nova/prod/exec"
	"nova/prod/s3store"
)

var stack *embedded.Stack

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "s3store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	stack, err = embedded.Start(context.Background(), embedded.Config{Dir: dir, Buckets: []string{"one", "two"}, NoFsync: true})
	if err != nil {
		panic(err)
	}
	code := m.Run()
	if err := stack.Close(); err != nil {
		fmt.Println(err)
	}
	return code
}

// versity is the embedded gateway's stores "one" and "two".
func versity(t *testing.T) (one, two *s3store.Store) {
	t.Helper()
	e, err := s3store.Connect(s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	var made [2]*s3store.Store
	for i, b := range []string{"one", "two"} {
		if made[i], err = e.Store(core.Store(b), s3store.Bucket{Name: b}); err != nil {
			t.Fatal(err)
		}
	}
	return made[0], made[1]
}

func do(t *testing.T, s *s3store.Store, op core.Op, b *exec.Body, want core.Outcome) core.Reply {
	t.Helper()
	r, err := s.Do(t.Context(), op, b)
	if r.Outcome != want {
		t.Fatalf("%s: %s, not %s: %v", op, r.Outcome, want, err)
	}
	return r
}

func TestProbeAccepts(t *testing.T) {
	one, two := versity(t)
	for _, s := range []*s3store.Store{one, two} {
		can, err := s.Probe(t.Context())
		if d := cmp.Diff(s3store.Abilities{Copyable: true, MultiDelete: true}, can); d != "" || err != nil {
			t.Error(d, err)
		}
		if r := do(t, s, core.List(s.Name(), s3store.ProbePrefix, "", 10), nil, core.OK); len(r.Items) > 0 {
			t.Error("the probe left", r.Items)
		}
	}
	ahead, known := one.Endpoint().Skew()
	if !known || ahead < -2000 || ahead > 2000 {
		t.Error("skew", ahead, known)
	}
}

// Without part copies and multi-deletes Nova runs: the probe says so, and what it
// found is kept.
func TestProbeDegrades(t *testing.T) {
	to, err := url.Parse(stack.S3.URL)
	if err != nil {
		t.Fatal(err)
	}
	gateway := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // it is signed
	}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Copy-Source") != "" || r.URL.Query().Has("delete") {
			problem(w, r, 501, "NotImplemented")
			return
		}
		gateway.ServeHTTP(w, r)
	}))
	defer srv.Close()
	e, err := s3store.Connect(s3store.Config{URL: srv.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.Store("one", s3store.Bucket{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Copies("one") || s.Copies("elsewhere") {
		t.Error("before the probe")
	}
	can, err := s.Probe(t.Context())
	if d := cmp.Diff(s3store.Abilities{}, can); d != "" || err != nil {
		t.Error(d, err)
	}
	if s.Copies("one") {
		t.Error("after the probe")
	}
}

// What survives a signature's expiry, for every operation that is bounded: the
// server itself refuses it (gap 3).
func TestServerRefusesLateRequests(t *testing.T) {
	var mu sync.Mutex
	back := core.Ms(0)
	e, err := s3store.Connect(s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey,
		Now: func() core.Ms { // a process whose clock is behind: its signatures die early
			mu.Lock()
			defer mu.Unlock()
			return core.Ms(time.Now().UnixMilli()) - back
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.Store("one", s3store.Bucket{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	behind := func(ms core.Ms) {
		mu.Lock()
		defer mu.Unlock()
		back = ms
	}
	o := core.Obj{Store: "one", Key: "late/object"}
	src := core.Obj{Store: "one", Key: "late/source"}
	do(t, s, core.Create(src, nil, soon()), body("0123456789"), core.OK)
	up := do(t, s, core.CreateUpload(o, soon()), nil, core.OK).Val
	tag := do(t, s, core.UploadPart(o, up, 1, nil, soon()), body("part"), core.OK).Val
	from := core.Piece{Kind: core.Range, From: src, Len: 4}
	late := func(until core.Ms) []core.Op {
		return []core.Op{core.Create(o, nil, until), core.CreateUpload(o, until), core.UploadPart(o, up, 2, nil, until),
			core.CopyPart(o, up, 2, from, until), core.Complete(o, up, []string{tag}, until)}
	}
	behind(60_000)
	now := core.Ms(time.Now().UnixMilli())
	for _, op := range late(now - 30_000) { // 30 s to go, by this process's clock
		r, err := s.Do(t.Context(), op, body("x"))
		if r.Outcome != core.Refused || err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("%s: %s %v", op, r.Outcome, err)
		}
	}
	if r := do(t, s, core.ListUploads(o), nil, core.OK); len(r.Items) != 1 {
		t.Error("a late upload was begun:", r.Items)
	}
	do(t, s, core.Stat(o), nil, core.Absent)
	for _, op := range late(now + 30_000) { // the same, in time
		if op.Kind == core.KCreate {
			continue
		}
		do(t, s, op, body("x"), core.OK)
	}
	for _, o := range []core.Obj{o, src} {
		do(t, s, core.Delete(o), nil, core.OK)
	}
	for _, it := range do(t, s, core.ListUploads(o), nil, core.OK).Items {
		do(t, s, core.Abort(o, it.Upload), nil, core.OK)
	}
}

func TestChecksumsOfBodies(t *testing.T) {
	one, _ := versity(t)
	o := core.Obj{Store: "one", Key: "sum"}
	b := body("some bytes")
	b.CRC, b.HasCRC = crc32.Checksum([]byte("some bytes"), crc32.MakeTable(crc32.Castagnoli))+1, true
	do(t, one, core.Create(o, nil, soon()), b, core.Damaged)
	do(t, one, core.Stat(o), nil, core.Absent)
	b.CRC--
	do(t, one, core.Create(o, nil, soon()), b, core.OK)
	do(t, one, core.Delete(o), nil, core.OK)
}

func TestMissingBucketIsNotAbsence(t *testing.T) {
	one, _ := versity(t)
	s, err := one.Endpoint().Store("no", s3store.Bucket{Name: "no-such-bucket"})
	if err != nil {
		t.Fatal(err)
	}
	o := core.Obj{Store: "no", Key: "k"}
	for _, op := range []core.Op{core.Stat(o), core.ReadRange(o, 0, 4), core.ReadTail(o, 4), core.Create(o, nil, soon()), core.CreateUpload(o, soon()),
		core.ListUploads(o), core.List("no", "", "", 3), core.Delete(o), core.Abort(o, "u"), core.Complete(o, "u", []string{"t"}, soon())} {
		do(t, s, op, body("x"), core.Refused)
	}
	if _, _, err := s.Open(t.Context(), "k", 0, -1); err == nil {
		t.Error("opened")
	}
	if _, err := one.Endpoint().Store("no", s3store.Bucket{Name: "one"}); err == nil {
		t.Error("one name for two buckets")
	}
}

// C43: keys with everything that core/keys puts into them, and more.
func TestKeys(t *testing.T) {
	one, two := versity(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	keys := []string{"data/=2F=20/+x+/0001~0002@0003", "chain/a.b-c_d/00ff/00", "k/100%25", "k/ü✓", "k/a b", "k/&<>\"'", "k/" + strings.Repeat("x", 250)}
	for range 10 {
		b := make([]byte, 20)
		for i := range b {
			b[i] = "abc=+~@-_.%&"[rnd.IntN(12)]
		}
		keys = append(keys, "r/x"+string(b)+"x")
	}
	for _, k := range keys {
		o := core.Obj{Store: "one", Key: k}
		do(t, one, core.Create(o, nil, soon()), body("body of "+k), core.OK)
		if r := do(t, one, core.ReadTail(o, 1000), nil, core.OK); r.Val != "body of "+k {
			t.Errorf("%q reads %q", k, r.Val)
		}
		if r := do(t, one, core.List("one", k, "", 10), nil, core.OK); len(r.Items) != 1 || r.Items[0].Key != k {
			t.Errorf("%q is listed as %v", k, r.Items)
		}
		to := core.Obj{Store: "two", Key: k}
		up := do(t, two, core.CreateUpload(to, soon()), nil, core.OK).Val
		if r := do(t, two, core.ListUploads(to), nil, core.OK); len(r.Items) != 1 || r.Items[0].Upload != up {
			t.Errorf("%q: uploads %v", k, r.Items)
		}
		p := core.Piece{Kind: core.Range, From: o, Off: 5, Len: 2}
		tag := do(t, two, core.CopyPart(to, up, 1, p, soon()), nil, core.OK).Val
		do(t, two, core.Complete(to, up, []string{tag}, soon()), nil, core.OK)
		if r := do(t, two, core.ReadTail(to, 9), nil, core.OK); r.Val != "of" {
			t.Errorf("%q is copied as %q", k, r.Val)
		}
	}
	for _, s := range []*s3store.Store{one, two} {
		rs, err := s.Delete(t.Context(), keys)
		for i, r := range rs {
			if r.Outcome != core.OK {
				t.Error(keys[i], r.Outcome, err)
			}
			do(t, s, core.Stat(core.Obj{Store: s.Name(), Key: keys[i]}), nil, core.Absent)
		}
	}
}
