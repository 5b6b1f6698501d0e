package s3store_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"nova/core"
	"nova/prod/embedded"
	"nova/prod/s3store"
)

var stack *embedded.Stack

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "s3store")
	if err != nil {
		panic(err)
	}
	stack, err = embedded.Start(context.Background(), embedded.Config{Dir: dir, Buckets: []string{"one", "two"}, NoFsync: true})
	if err != nil {
		panic(err)
	}
	code := m.Run()
	if err := stack.Close(); err != nil {
		fmt.Println(err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func endpoint(t *testing.T) *s3store.Endpoint {
	t.Helper()
	e, err := s3store.Connect(s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func store(t *testing.T) *s3store.Store {
	t.Helper()
	s, err := endpoint(t).Store("one", s3store.Bucket{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProbeVersity(t *testing.T) {
	start := time.Now()
	can, err := store(t).Probe(t.Context())
	if err != nil || !can.Copyable || !can.MultiDelete {
		t.Fatalf("%+v %v", can, err)
	}
	t.Log(time.Since(start))
	skew, known := store(t).Endpoint().Skew()
	t.Log(skew, known)
}

var _ = core.OK
