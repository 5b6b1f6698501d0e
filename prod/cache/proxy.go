package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config says what a Proxy stands before. URL, Credentials and Bytes are
// required.
type Config struct {
	// URL is the store's S3 endpoint, without a path.
	URL string
	// Credentials sign what is sent on. Accept is the key pair that clients must
	// sign with; nil is the same.
	Credentials, Accept aws.CredentialsProvider
	// Bytes bounds what is held in memory, headers and all.
	Bytes int64
	// Object is the size up to which an object is held; 0 is 16 MiB, or a quarter
	// of Bytes if that is less. Larger ones are passed through.
	Object int64
	// Life is how long a copy is answered from; 0 is 10 minutes. It bounds the
	// life of copies whose object was deleted past the cache.
	Life time.Duration
	// Region signs the cache's own reads; "" is us-east-1.
	Region    string
	Transport http.RoundTripper // nil: one with connections enough
	Now       func() time.Time  // nil: the wall clock
	Log       *slog.Logger
}

// Proxy is an S3 endpoint, with path-style addresses, that answers reads of small
// objects from memory and sends everything else on to a store. It implements
// http.Handler.
type Proxy struct {
	upstream      *url.URL
	region        string
	creds, accept aws.CredentialsProvider
	object        int64
	http          http.RoundTripper
	now           func() time.Time
	log           *slog.Logger
	mem           *memory

	hits, misses, passed, deletes atomic.Int64
}

// fillWithin bounds the read of an object into the cache; it does not end with
// the client that caused it, since others may wait for it too.
const fillWithin = time.Minute

// header says how a read was answered: hit, miss or pass.
const header = "X-Nova-Cache"

// New makes a proxy. It sends nothing.
func New(c Config) (*Proxy, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("make a cache: %q is no address of an S3 endpoint: give http://HOST:PORT", c.URL)
	}
	if c.Credentials == nil {
		return nil, errors.New("make a cache: no credentials for the store")
	}
	if c.Bytes < 1<<20 {
		return nil, fmt.Errorf("make a cache: %d bytes of memory: give at least 1 MiB", c.Bytes)
	}
	if c.Accept == nil {
		c.Accept = c.Credentials
	}
	if c.Object <= 0 {
		c.Object = min(16<<20, c.Bytes/4)
	}
	if c.Life <= 0 {
		c.Life = 10 * time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression, t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = true, 512, 512, 20*time.Second
		c.Transport = t
	}
	return &Proxy{upstream: &url.URL{Scheme: u.Scheme, Host: u.Host}, region: c.Region, creds: c.Credentials, accept: c.Accept,
		object: c.Object, http: c.Transport, now: c.Now, log: c.Log, mem: newMemory(c.Bytes, c.Life, c.Now)}, nil
}

// Stats is what a proxy has done and holds.
type Stats struct {
	Hits, Misses, Passed int64 // reads from memory; through it; past it
	Deletes              int64 // keys
	Bytes                int64
	Entries              int
}

// Stats counts.
func (p *Proxy) Stats() Stats {
	s := Stats{Hits: p.hits.Load(), Misses: p.misses.Load(), Passed: p.passed.Load(), Deletes: p.deletes.Load()}
	s.Bytes, s.Entries = p.mem.level()
	return s
}

// ServeHTTP answers one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, bad := p.admit(r)
	if bad != nil {
		fail(w, r, bad)
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	at := bucket + "/" + key
	switch read := r.Method == http.MethodGet || r.Method == http.MethodHead; {
	case read && key != "" && plain(r):
		p.read(w, r, c, at)
	case r.Method == http.MethodPost && key == "" && r.URL.Query().Has("delete"):
		p.deleteMany(w, r, c, bucket)
	case read || key == "": // no object changes
		p.passed.Add(1)
		p.forward(w, r, c, func(int) {})
	default:
		p.change(w, r, c, at)
	}
}

// change sends on what may change or remove one object. The key is evicted before
// that, so that no reader is told of what may be gone, and again before the answer
// goes out, so that what was read meanwhile is not held.
func (p *Proxy) change(w http.ResponseWriter, r *http.Request, c *claim, at string) {
	if r.Method == http.MethodDelete {
		p.deletes.Add(1)
	}
	p.mem.hold(at)
	p.forward(w, r, c, func(status int) {
		// A complete may be answered before it is done.
		p.mem.unhold(at, status/100 != 2 && status != http.StatusNotFound || r.Method == http.MethodPost)
	})
}

// plain reports whether a read asks for an object's bytes and nothing else that
// an answer could depend on.
func plain(r *http.Request) bool {
	for name := range r.URL.Query() {
		if name != "x-id" && !signing[name] {
			return false
		}
	}
	for h := range r.Header {
		if strings.HasPrefix(h, "If-") || strings.HasPrefix(h, "X-Amz-") && !signing[h] {
			return false
		}
	}
	return true
}

// signing are parameters and headers that only say who asks. A checksum that is
// wished for need not come: the answer of a store may leave it out as well.
var signing = map[string]bool{
	"X-Amz-Algorithm": true, "X-Amz-Credential": true, "X-Amz-Date": true, "X-Amz-Expires": true, "X-Amz-SignedHeaders": true,
	"X-Amz-Signature": true, "X-Amz-Security-Token": true, "X-Amz-Content-Sha256": true, "X-Amz-User-Agent": true, "X-Amz-Checksum-Mode": true,
}

// read answers a read of one object, from memory if it may be there.
func (p *Proxy) read(w http.ResponseWriter, r *http.Request, c *claim, at string) {
	past := func() {
		p.passed.Add(1)
		w.Header().Set(header, "pass")
		p.forward(w, r, c, func(int) {})
	}
	rng, ok := parseRange(r.Header.Get("Range"))
	if !ok {
		past()
		return
	}
	e, f, lead := p.mem.take(at, r.Method == http.MethodGet)
	how, count := "hit", &p.hits
	if f != nil {
		how, count = "miss", &p.misses
		if lead {
			go p.fill(f, r)
		}
		select {
		case <-f.done:
			e = f.got
		case <-r.Context().Done():
			p.mem.leave(f)
			return
		}
	}
	if e == nil {
		past()
		return
	}
	defer p.mem.release(e)
	count.Add(1)
	w.Header().Set(header, how)
	e.answer(w, r, rng)
}

// fill reads a whole object for all who wait for it. Errors are theirs as well;
// what is too large each asks for on its own.
func (p *Proxy) fill(f *flight, like *http.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(like.Context()), fillWithin)
	defer cancel()
	var got *entry
	keep := false
	defer func() { p.mem.finish(f, got, keep) }()
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: like.URL.Path, RawPath: like.URL.RawPath},
		Header: http.Header{"X-Amz-Content-Sha256": {emptyHash}}}
	resp, err := p.send(ctx, r, &claim{region: p.region, date: p.now().UTC(), hash: emptyHash}, nil, 0)
	if err != nil {
		got = p.broken(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	n := resp.ContentLength
	switch {
	case resp.StatusCode != http.StatusOK:
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		got = &entry{status: resp.StatusCode, header: kept(resp.Header), body: body}
	case n < 0 || n > p.object:
		p.mem.pass(f)
	default:
		h := kept(resp.Header)
		cost := overhead + n + int64(len(f.key))
		for name, vals := range h {
			for _, v := range vals {
				cost += int64(len(name) + len(v))
			}
		}
		if !p.mem.reserve(cost) {
			return
		}
		e := &entry{status: http.StatusOK, header: h, body: make([]byte, n), cost: cost}
		if _, err := io.ReadFull(resp.Body, e.body); err != nil {
			got = p.broken(fmt.Errorf("read %d bytes of %s: %w", n, f.key, err))
			got.cost = cost // it goes with the answer
			return
		}
		got, keep = e, true
	}
}
