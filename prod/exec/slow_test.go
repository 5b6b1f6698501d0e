package exec

import (
	"context"
	"io"
	"testing"
	"time"

	"nova/core"
)

// paced is a store whose reads take a while, or end with their context.
type paced struct {
	*fakeStore
	takes time.Duration
}

func (p *paced) Open(ctx context.Context, key string, off, n int64) (io.ReadCloser, core.Reply, error) {
	r, reply, err := p.fakeStore.Open(ctx, key, off, n)
	if r != nil {
		r = &pacedReader{r, ctx, p.takes}
	}
	return r, reply, err
}

type pacedReader struct {
	io.ReadCloser
	ctx   context.Context
	takes time.Duration
}

func (r *pacedReader) Read(b []byte) (int, error) {
	select {
	case <-time.After(r.takes):
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
	r.takes = 0
	return r.ReadCloser.Read(b)
}

// A fetch has the time that its length takes at the slowest rate that is waited
// for, beside that of a small request: a long one over a slow connection comes
// through, and a short one that takes as long is given up.
func TestALongFetchHasLonger(t *testing.T) {
	const service = 200 // ms
	src := random(1 << 20)
	f := newBench(t, func(o *Options) {
		o.Dials.Service, o.Tries = service, 1
		o.Stores["a"] = &paced{o.Stores["a"].(*fakeStore), 600 * time.Millisecond}
		o.Cache = NewCache(8 << 20)
	})
	f.a.objects["source"], f.a.objects["small"] = []byte(src), []byte("0123456789")
	f.do(t, core.Fetch(objA, 0, 1<<20, checksum([]byte(src)), 1), core.OK)
	f.do(t, core.Fetch(core.Obj{Store: "a", Key: "small"}, 0, 10, checksum([]byte("0123456789")), 2), core.Unknown)
	// The same of whole objects on their way into the cache.
	f.a.objects["staged"] = []byte(src)
	for key, want := range map[string]bool{"staged": true, "small": false} {
		if _, ok := f.whole(t.Context(), core.Obj{Store: "a", Key: key}); ok != want {
			t.Errorf("%s came into the cache: %v, want %v", key, ok, want)
		}
	}
}
