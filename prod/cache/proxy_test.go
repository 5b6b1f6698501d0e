package cache

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"nova/core"
	"nova/prod/exec"
	"nova/prod/s3store"
)

// rig is a store, a cache before it, and clients of both.
type rig struct {
	t              *testing.T
	proxy          *Proxy
	front          *httptest.Server
	direct         *s3store.Store
	cached         *s3store.Store
	gets           atomic.Int64 // of objects, that reached the store
	mu             sync.Mutex
	first          func(w http.ResponseWriter, r *http.Request) bool // answers in the store's place
	now            atomic.Int64                                      // the cache's clock is ahead by this much
	upstreamClient aws.CredentialsProvider
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	g := &rig{t: t, upstreamClient: credentials.NewStaticCredentialsProvider("upstream", "its secret", "")}
	mem := s3mem.New()
	if err := mem.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(mem, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Count(r.URL.Path, "/") > 1 {
			g.gets.Add(1)
		}
		g.mu.Lock()
		first := g.first
		g.mu.Unlock()
		if first == nil || !first(w, r) {
			fake.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(back.Close)
	c := Config{URL: back.URL, Credentials: g.upstreamClient, Accept: credentials.NewStaticCredentialsProvider("client", "secret", ""), Bytes: 1 << 20,
		Now: func() time.Time { return time.Now().Add(time.Duration(g.now.Load())) }, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&c)
	}
	var err error
	if g.proxy, err = New(c); err != nil {
		t.Fatal(err)
	}
	g.front = httptest.NewServer(g.proxy)
	t.Cleanup(g.front.Close)
	g.direct, g.cached = storeAt(t, back.URL, "upstream", "its secret"), storeAt(t, g.front.URL, "client", "secret")
	return g
}

func storeAt(t *testing.T, url, id, secret string) *s3store.Store {
	t.Helper()
	e, err := s3store.Connect(s3store.Config{URL: url, AccessKey: id, SecretKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s, err := e.Store("std", s3store.Bucket{Name: "bucket"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (g *rig) answer(first func(w http.ResponseWriter, r *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.first = first
}

func (g *rig) put(s *s3store.Store, key, val string) {
	g.t.Helper()
	body := &exec.Body{N: int64(len(val)), Open: func() io.ReadCloser { return io.NopCloser(strings.NewReader(val)) }}
	until := core.Ms(time.Now().UnixMilli()) + 20_000
	if r, err := s.Do(g.t.Context(), core.Create(core.Obj{Store: "std", Key: key}, nil, until), body); r.Outcome != core.OK {
		g.t.Fatal(r.Outcome, err)
	}
}

// read is all of an object, or what came instead.
func (g *rig) read(s *s3store.Store, key string, off, n int64) string {
	g.t.Helper()
	b, r, err := s.Open(g.t.Context(), key, off, n)
	if r.Outcome != core.OK {
		return r.Outcome.String()
	}
	defer func() { _ = b.Close() }()
	got, err2 := io.ReadAll(b)
	if err != nil || err2 != nil {
		g.t.Fatal(err, err2)
	}
	return string(got)
}

func (g *rig) reads(want string, s *s3store.Store, key string, off, n, gets int64) {
	g.t.Helper()
	before := g.gets.Load()
	if got := g.read(s, key, off, n); got != want {
		g.t.Errorf("%s at %d: %.60q, want %.60q", key, off, got, want)
	}
	if made := g.gets.Load() - before; made != gets {
		g.t.Errorf("%s at %d: %d reads of the store, want %d", key, off, made, gets)
	}
}

const odd = "data/b/é +~@%2F//x@1~2" // every way of escaping

func TestReadsThrough(t *testing.T) {
	g := newRig(t, nil)
	g.put(g.cached, odd, "0123456789")
	g.reads("456", g.cached, odd, 4, 3, 1)
	g.reads("0123456789", g.cached, odd, 0, -1, 0)
	g.reads("89", g.cached, odd, 8, 100, 0)
	g.reads("out-of-range", g.cached, odd, 10, 1, 0)
	for n, want := range map[int64]string{3: "789", 100: "0123456789"} {
		if r, err := g.cached.Do(t.Context(), core.ReadTail(core.Obj{Store: "std", Key: odd}, n), nil); r.Val != want || r.Size != 10 {
			t.Errorf("tail of %d: %q of %d, %v", n, r.Val, r.Size, err)
		}
	}
	if r, err := g.cached.Do(t.Context(), core.Stat(core.Obj{Store: "std", Key: odd}), nil); r.Outcome != core.OK || r.Size != 10 {
		t.Errorf("stat: %+v, %v", r, err)
	}
	if n := g.gets.Load(); n != 1 {
		t.Errorf("%d reads of the store", n)
	}
	for range 2 { // that something is not there is nobody's to remember
		g.reads("absent", g.cached, "data/none", 0, -1, 1)
	}
	g.put(g.direct, "data/none", "it is now")
	g.reads("it is now", g.cached, "data/none", 0, -1, 1)
	g.put(g.cached, "empty", "")
	g.reads("", g.cached, "empty", 0, -1, 1)
	g.reads("out-of-range", g.cached, "empty", 0, 5, 0)
	if s := g.proxy.Stats(); s.Hits != 7 || s.Misses != 5 || s.Entries != 3 {
		t.Errorf("%+v", s)
	}
	g.now.Store(int64(11 * time.Minute)) // a copy's life is over
	g.reads("0123456789", g.cached, odd, 0, -1, 1)
}

func TestLargeObjectsPassThrough(t *testing.T) {
	g := newRig(t, nil)
	large := strings.Repeat("x", 300<<10)
	g.put(g.cached, "large", large)
	g.reads("xx", g.cached, "large", 5, 2, 2) // the first learns how large it is
	g.reads("xx", g.cached, "large", 5, 2, 1)
	g.reads(large, g.cached, "large", 0, -1, 1)
	if s := g.proxy.Stats(); s.Bytes > 2000 || s.Passed < 3 {
		t.Errorf("%+v", s)
	}
}

func TestOneReadForAllWhoWait(t *testing.T) {
	g := newRig(t, nil)
	g.put(g.direct, "k", "val")
	gate := make(chan struct{})
	g.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			<-gate
		}
		return false
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got := g.read(g.cached, "k", 1, 1); got != "a" {
				t.Errorf("%q", got)
			}
		})
	}
	for waiting := 0; waiting < 20; time.Sleep(time.Millisecond) {
		g.proxy.mem.mu.Lock()
		if f := g.proxy.mem.flights["bucket/k"]; f != nil {
			waiting = f.wait
		}
		g.proxy.mem.mu.Unlock()
	}
	close(gate)
	wg.Wait()
	if n := g.gets.Load(); n != 1 {
		t.Errorf("%d reads of the store", n)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	g := newRig(t, nil)
	const objects = 24
	for i := range objects {
		g.put(g.direct, fmt.Sprint("k", i), strings.Repeat("v", 100<<10))
	}
	var wg sync.WaitGroup
	most := atomic.Int64{}
	for w := range 8 {
		wg.Go(func() {
			for i := range objects {
				if n := len(g.read(g.cached, fmt.Sprint("k", (i+w*3)%objects), 0, -1)); n != 100<<10 {
					t.Errorf("%d bytes", n)
				}
				if s := g.proxy.Stats(); s.Bytes > most.Load() {
					most.Store(s.Bytes)
				}
			}
		})
	}
	wg.Wait()
	s := g.proxy.Stats()
	if most.Load() > 1<<20 || s.Entries < 5 || s.Bytes > 1<<20 {
		t.Errorf("at most %d bytes, %+v", most.Load(), s)
	}
	for i := range objects {
		g.proxy.mem.hold("bucket/" + fmt.Sprint("k", i))
		g.proxy.mem.unhold("bucket/"+fmt.Sprint("k", i), false)
	}
	// A copy that was still being taken as it was evicted gives its bytes back when its
	// request ends: that is after the client has read the last of them.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		s := g.proxy.Stats()
		if s.Bytes == 0 && s.Entries == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after every eviction: %+v", s)
		}
	}
}

// R79: an object that is deleted through its owner leaves no copy, in each way of
// deleting.
func TestDeletesEvict(t *testing.T) {
	g := newRig(t, nil)
	all := []string{odd, "b", "c<&>"}
	for _, keys := range [][]string{all[:1], all} {
		for _, k := range keys {
			g.put(g.direct, k, "val")
			g.reads("val", g.cached, k, 0, -1, 1)
			g.reads("val", g.cached, k, 0, -1, 0)
		}
		r, err := g.cached.Delete(t.Context(), keys)
		if d := cmp.Diff(make([]core.Reply, len(keys)), r); err != nil || d != "" {
			t.Error(err, d)
		}
		for _, k := range keys {
			g.reads("absent", g.cached, k, 0, -1, 1)
		}
	}
	if s := g.proxy.Stats(); s.Entries != 0 || s.Deletes != 4 {
		t.Errorf("%+v", s)
	}
}

// What is read while a delete is on its way is not held, whether the read began
// before the delete or after it.
func TestAReadBesideADeleteLeavesNoCopy(t *testing.T) {
	for _, many := range []bool{false, true} {
		g := newRig(t, nil)
		g.put(g.direct, "k", "val")
		reading, read, deleting, del := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		var once sync.Once
		g.answer(func(w http.ResponseWriter, r *http.Request) bool {
			switch r.Method {
			case http.MethodGet: // it has seen the object, and its answer is slow
				rec := httptest.NewRecorder()
				rec.WriteString("val")
				slow := false
				once.Do(func() { slow = true })
				if slow {
					close(reading)
					<-read
				}
				w.Header().Set("Content-Length", "3")
				_, _ = w.Write(rec.Body.Bytes())
				return true
			case http.MethodDelete, http.MethodPost:
				close(deleting)
				<-del
			}
			return false
		})
		got := make(chan string, 2)
		go func() { got <- g.read(g.cached, "k", 0, -1) }()
		<-reading
		keys := []string{"k"}
		if many {
			keys = append(keys, "l")
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := g.cached.Delete(t.Context(), keys); err != nil {
				t.Error(err)
			}
		})
		<-deleting
		g.reads("val", g.cached, "k", 0, -1, 1) // and not from a copy
		g.reads("val", g.cached, "k", 0, -1, 1)
		close(del)
		wg.Wait()
		close(read)
		if s := <-got; s != "val" {
			t.Errorf("%q", s)
		}
		g.answer(nil)
		g.reads("absent", g.cached, "k", 0, -1, 1)
		if s := g.proxy.Stats(); s.Entries != 0 || s.Bytes != 0 {
			t.Errorf("many %v: %+v", many, s)
		}
	}
}

// C39 through a cache: the store's word on each key is passed on, and what may yet
// be deleted is not held.
func TestErrorsOfKeysPassThrough(t *testing.T) {
	g := newRig(t, nil)
	var keys []string
	for i := range 10 {
		keys = append(keys, fmt.Sprint("k", i))
		g.put(g.direct, keys[i], "val")
	}
	g.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		var b bytes.Buffer
		b.WriteString(`<DeleteResult>`)
		for i, k := range keys {
			switch code := map[int]string{2: "AccessDenied", 5: "InternalError", 7: "NoSuchKey"}[i]; code {
			case "":
				fmt.Fprintf(&b, `<Deleted><Key>%s</Key></Deleted>`, k)
			default:
				fmt.Fprintf(&b, `<Error><Key>%s</Key><Code>%s</Code></Error>`, k, code)
			}
		}
		b.WriteString(`</DeleteResult>`)
		_, _ = w.Write(b.Bytes())
		return true
	})
	tier := NewTier(g.direct, "std", []Instance{{g.front.URL, g.cached}}, slog.New(slog.DiscardHandler))
	r, err := tier.Delete(t.Context(), keys)
	var got []core.Outcome
	for i := range r {
		got = append(got, r[i].Outcome)
	}
	want := make([]core.Outcome, 10)
	want[2], want[5] = core.Refused, core.Unknown
	if d := cmp.Diff(want, got); d != "" || err == nil {
		t.Error(d, err)
	}
	g.reads("val", g.cached, "k5", 0, -1, 1) // it may go any time
	g.reads("val", g.cached, "k5", 0, -1, 1)
	g.reads("val", g.direct, "k5", 0, -1, 1) // it was not deleted past the cache
}

// Whoever does not have the key pair gets nothing, and what was signed is what is
// done.
func TestOnlySignedRequests(t *testing.T) {
	g := newRig(t, nil)
	g.put(g.direct, "k", "val")
	for _, c := range []struct{ id, secret string }{{"other", "secret"}, {"client", "wrong"}, {"upstream", "its secret"}} {
		if got := g.read(storeAt(t, g.front.URL, c.id, c.secret), "k", 0, -1); got != "refused" {
			t.Errorf("%s: %s", c.id, got)
		}
	}
	if resp, err := http.Get(g.front.URL + "/bucket/k"); err != nil || resp.StatusCode != 403 {
		t.Error(resp, err)
	}
	tampered := 0
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.URL.Path = "/bucket/other" },
		func(r *http.Request) { r.Header.Set("X-Amz-Copy-Source", "bucket/k") },
		func(r *http.Request) { r.Header.Set("Range", "bytes=0-0") },
		func(r *http.Request) { r.URL.RawQuery += "&acl" },
		func(r *http.Request) { r.Method = http.MethodDelete },
	} {
		e, err := s3store.Connect(s3store.Config{URL: g.front.URL, AccessKey: "client", SecretKey: "secret", Transport: changing{change, &tampered}})
		if err != nil {
			t.Fatal(err)
		}
		s, _ := e.Store("std", s3store.Bucket{Name: "bucket"})
		if got := g.read(s, "k", 1, 2); got != "refused" {
			t.Errorf("%s", got)
		}
		e.Close()
	}
	if tampered != 5 {
		t.Errorf("%d requests were changed", tampered)
	}
	g.reads("val", g.direct, "k", 0, -1, 1)
	g.now.Store(int64(time.Hour))
	if got := g.read(g.cached, "k", 0, -1); got != "refused" {
		t.Errorf("signed an hour ago: %s", got)
	}
}

type changing struct {
	change func(*http.Request)
	n      *int
}

func (c changing) RoundTrip(r *http.Request) (*http.Response, error) {
	*c.n++
	c.change(r)
	return http.DefaultTransport.RoundTrip(r)
}

// Gap 3 through a cache: a create's time bound reaches the store as the client
// signed it.
func TestTimeBoundsPassThrough(t *testing.T) {
	g := newRig(t, nil)
	var date, expires string
	g.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if q := r.URL.Query(); r.Method == http.MethodPut {
			date, expires = q.Get("X-Amz-Date"), q.Get("X-Amz-Expires")
			if id, _, _ := strings.Cut(q.Get("X-Amz-Credential"), "/"); id != "upstream" || r.Header.Get("Authorization") != "" {
				t.Errorf("signed with %s", id)
			}
		}
		return false
	})
	began := time.Now().Add(-time.Second)
	g.put(g.cached, "k", "val")
	at, err := time.Parse(dateFormat, date)
	if err != nil || at.Before(began.Add(-time.Second)) || expires != "19" && expires != "20" {
		t.Errorf("dated %s, for %s s: %v", date, expires, err)
	}
	g.reads("val", g.direct, "k", 0, -1, 1)
}

func TestAStoreThatIsDown(t *testing.T) {
	g := newRig(t, nil)
	g.put(g.direct, "k", "val")
	g.reads("val", g.cached, "k", 0, -1, 1)
	g.answer(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
	g.reads("val", g.cached, "k", 0, -1, 0)
	if r, _ := g.cached.Delete(t.Context(), []string{"k"}); r[0].Outcome != core.Unknown {
		t.Error(r)
	}
	if got := g.read(g.cached, "k", 0, -1); got != "unknown" {
		t.Error(got)
	}
	g.answer(nil)
	g.reads("val", g.cached, "k", 0, -1, 1) // its delete may yet happen
	g.reads("val", g.cached, "k", 0, -1, 1)
}

func TestNewRefuses(t *testing.T) {
	ok := Config{URL: "http://127.0.0.1:1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Bytes: 1 << 20}
	if _, err := New(ok); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*Config){
		"is no address of an S3 endpoint": func(c *Config) { c.URL = "127.0.0.1:1" },
		"no credentials":                  func(c *Config) { c.Credentials = nil },
		"at least 1 MiB":                  func(c *Config) { c.Bytes = 1000 },
	} {
		c := ok
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
