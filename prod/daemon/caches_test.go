package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"nova/core"
	"nova/prod/cache"
	"nova/prod/exec"
	"nova/prod/s3store"
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

// With an object cache, what an auditor's stores delete leaves no copy there; when
// the cache has gone, it is deleted all the same.
func TestDeletesGoThroughTheCaches(t *testing.T) {
	_, stack := clusterOn(t)
	pair := credentials.NewStaticCredentialsProvider(stack.S3.AccessKey, stack.S3.SecretKey, "")
	own := credentials.NewStaticCredentialsProvider("cache", "its secret", "")
	p, err := cache.New(cache.Config{URL: stack.S3.URL, Region: stack.S3.Region, Credentials: pair, Accept: own, Bytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(p)
	defer front.Close()
	c, err := Open(t.Context(), Config{
		Etcd: stack.Client(), Prefix: "nova/", Dials: Local(),
		S3:      s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, Credentials: pair},
		Buckets: [core.Classes][]string{{"nova-standard"}, {"nova-express"}},
		Caches:  []string{front.URL}, CacheCredentials: own, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reader := s3store.Config{URL: front.URL, Region: stack.S3.Region, Credentials: own}
	end, err := s3store.Connect(reader)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	through, err := end.Store("nova-standard", s3store.Bucket{Name: "nova-standard"})
	if err != nil {
		t.Fatal(err)
	}
	stores, _ := c.byHonestClock(nil)
	audit := stores["nova-standard"]
	var keys []string
	for i := range 3 {
		keys = append(keys, fmt.Sprintf("data/b c/%d@1~%d", i, i))
		body := &exec.Body{N: 3, Open: func() io.ReadCloser { return io.NopCloser(strings.NewReader("val")) }}
		// Created through the cache: its time bound is signed again as it was.
		if r, err := through.Do(t.Context(), core.Create(core.Obj{Store: "nova-standard", Key: keys[i]}, nil, Now()+5000), body); r.Outcome != core.OK {
			t.Fatal(r, err)
		}
		for range 2 {
			b, r, err := through.Open(t.Context(), keys[i], 0, -1)
			if r.Outcome != core.OK {
				t.Fatal(r, err)
			}
			if s := readAll(t, b); s != "val" {
				t.Errorf("%q", s)
			}
		}
	}
	if s := p.Stats(); s.Misses != 3 || s.Hits != 3 || s.Entries != 3 {
		t.Errorf("%+v", s)
	}
	// The audit's own reads go to the store.
	if b, r, err := audit.Open(t.Context(), keys[0], 0, -1); r.Outcome != core.OK || readAll(t, b) != "val" {
		t.Error(r, err)
	}
	if r, err := audit.Do(t.Context(), core.ReadTail(core.Obj{Store: "nova-standard", Key: keys[1]}, 2), nil); r.Outcome != core.OK || r.Val != "al" {
		t.Error(r, err)
	}
	if s := p.Stats(); s.Misses != 3 || s.Hits != 3 {
		t.Errorf("a read of the audit's went through the cache: %+v", s)
	}
	deletes := func(keys ...string) {
		t.Helper()
		r, err := audit.Delete(t.Context(), keys)
		for i := range r {
			if r[i].Outcome != core.OK || err != nil {
				t.Error(keys[i], r[i], err)
			}
			if r, _ := storeOf(c.objects["nova-standard"]).Do(t.Context(), core.Stat(core.Obj{Store: "nova-standard", Key: keys[i]}), nil); r.Outcome != core.Absent {
				t.Errorf("%s stands: %v", keys[i], r.Outcome)
			}
		}
	}
	deletes(keys[:2]...)
	if s := p.Stats(); s.Deletes != 2 || s.Entries != 1 {
		t.Errorf("%+v", s)
	}
	if _, r, err := through.Open(t.Context(), keys[0], 0, -1); r.Outcome != core.Absent {
		t.Error("a copy outlived its object", r, err)
	}
	front.Close()
	deletes(keys[2])
}
