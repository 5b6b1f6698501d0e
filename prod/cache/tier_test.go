package cache

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"nova/core"
)

// Keys are spread evenly, whatever the order of the addresses; when one goes, the
// others keep theirs.
func TestOwner(t *testing.T) {
	three := []string{"http://10.0.0.1:9300", "http://10.0.0.2:9300", "http://10.0.0.3:9300"}
	turned := []string{three[2], three[0], three[1]}
	var count [3]int
	for i := range 3000 {
		key := fmt.Sprintf("data/b/%016x/1/0@%d", i, i)
		n := Owner(three, "bucket", key)
		count[n]++
		if got := turned[Owner(turned, "bucket", key)]; got != three[n] {
			t.Fatalf("%s: %s or %s", key, three[n], got)
		}
		if n != 2 && Owner(three[:2], "bucket", key) != n {
			t.Fatalf("%s moved", key)
		}
	}
	for _, n := range count {
		if n < 850 || n > 1150 {
			t.Errorf("spread as %v", count)
		}
	}
	if Owner(nil, "bucket", "k") != -1 {
		t.Error("an owner among none")
	}
}

// R79: each key is deleted through its owner, and its copy there goes.
func TestTierDeletesThroughTheOwners(t *testing.T) {
	g := newRig(t, nil)
	second := httptest.NewServer(g.proxy) // the same memory, another address
	defer second.Close()
	at := []Instance{{g.front.URL, g.cached}, {second.URL, storeAt(t, second.URL, "client", "secret")}}
	tier := NewTier(g.direct, "std", at, slog.New(slog.DiscardHandler))
	var keys []string
	for i := range 20 {
		keys = append(keys, fmt.Sprint("k", i))
		g.put(g.direct, keys[i], "val")
		g.reads("val", g.cached, keys[i], 0, -1, 1)
	}
	r, err := tier.Delete(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r {
		if r[i].Outcome != core.OK {
			t.Error(keys[i], r[i])
		}
		g.reads("absent", g.cached, keys[i], 0, -1, 1)
	}
	if n := g.proxy.Stats().Deletes; n != 20 {
		t.Errorf("%d of 20 went through the caches", n)
	}
	if NewTier(g.direct, "std", nil, nil).Direct() != tier.Direct() {
		t.Error("the store behind the caches is not the store")
	}
}

// R80: a cache that is down, that errs, that hangs, or that has other keys does not
// stop a delete.
func TestTierFallsBack(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"down":   nil,
		"500":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"503":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"denied": func(w http.ResponseWriter, r *http.Request) { fail(w, r, deny("InvalidAccessKeyId", "")) },
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the client's going is not seen
			<-r.Context().Done()
		},
		"lies": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") },
	} {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				g := newRig(t, nil)
				bad := httptest.NewServer(handler)
				defer bad.Close()
				if handler == nil {
					bad.Close()
				}
				tier := NewTier(g.direct, "std", []Instance{{bad.URL, storeAt(t, bad.URL, "client", "secret")}}, slog.New(slog.DiscardHandler))
				var keys []string
				for i := range n {
					keys = append(keys, fmt.Sprint("k", i))
					g.put(g.direct, keys[i], "val")
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				r, err := tier.Delete(ctx, keys)
				if err != nil {
					t.Fatal(err)
				}
				for i := range r {
					if r[i].Outcome != core.OK {
						t.Error(r)
					}
					if name == "lies" && n == 1 {
						continue // a single delete's answer is its status: that cache is none
					}
					g.reads("absent", g.direct, keys[i], 0, -1, 1)
				}
			})
		}
	}
}
