package daemon

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nova/core"
	"nova/prod/exec"
)

// counted is a store that counts its deletes.
type counted struct {
	exec.ObjectStore
	deletes int
	keys    []string
}

func (c *counted) Delete(_ context.Context, keys []string) ([]core.Reply, error) {
	c.deletes += len(keys)
	c.keys = append(c.keys, keys...)
	return make([]core.Reply, len(keys)), nil
}

func readAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// No cached copy outlives its object: what a cache did not answer for stays.
func TestDeletesGoThroughTheCaches(t *testing.T) {
	var mu sync.Mutex
	var purged []string
	cache := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		purged = append(purged, r.Method+" "+r.URL.Path)
		switch r.URL.Path {
		case "/st/data/b/x@1":
			w.WriteHeader(http.StatusNotFound) // it never had it
		case "/st/data/b/y@1":
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer cache.Close()
	under := &counted{}
	s := &cached{ObjectStore: under, name: "st", at: []string{cache.URL + "/"}}
	r, err := s.Delete(t.Context(), []string{"data/b/x@1", "data/b/y@1", "data/b/z@1"})
	if err == nil {
		t.Error("no error, though a cache did not purge")
	}
	got := []core.Outcome{r[0].Outcome, r[1].Outcome, r[2].Outcome}
	if d := cmp.Diff([]core.Outcome{core.OK, core.Unknown, core.OK}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"data/b/x@1", "data/b/z@1"}, under.keys); d != "" {
		t.Error(d)
	}
	if len(purged) != 3 {
		t.Errorf("purged %q", purged)
	}
	if c := storeOf(s); c != exec.ObjectStore(under) {
		t.Error("the store behind the caches is not the store")
	}
}
