package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"nova/core"
	"nova/core/serve"
	"nova/prod/exec"
)

// fill makes a stream of n records that are absorbed.
func fill(ctx context.Context, t *testing.T, c *Cluster, s *Session, star *Star, name string, n int) uint64 {
	t.Helper()
	id, err := s.Create(ctx, serve.Spec{Bucket: "b", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := star.Open(ctx, id); err != nil {
		t.Fatal(err)
	}
	a := star.Appender(id)
	for i := range n {
		if err := a.Add(ctx, fmt.Appendf(nil, "%s %d", name, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for in, err := s.Info(ctx, id); in.End < uint64(n); in, err = s.Info(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		s.rest(ctx)
	}
	return id
}

func TestVerifyFindsWhatIsBroken(t *testing.T) {
	c, stack := clusterOn(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := c.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	star, err := c.StartStar(StarConfig{ID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	fill(ctx, t, c, s, star, "one", 100)
	fill(ctx, t, c, s, star, "two", 100)
	if err := star.Close(ctx); err != nil {
		t.Fatal(err)
	}
	verify := func(o VerifyOptions) Verdict {
		t.Helper()
		o.Again = time.Millisecond
		v, err := c.Verify(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		o.batch = 1 // part by part
		split, err := c.Verify(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if d := differ(v, split); d != "" {
			t.Errorf("as a whole (-), and part by part (+): %s", d)
		}
		return v
	}
	if v := verify(VerifyOptions{}); !v.OK || v.Standing.Objects != 2 || v.Standing.Streams != 2 || v.Summed == 0 || v.Looks != 1 {
		t.Fatalf("before anything is broken: %+v", v)
	}

	const bucket = "nova-standard"
	client := stack.S3.Client()
	list, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: aws.String("chain/")})
	if err != nil || len(list.Contents) != 2 {
		t.Fatalf("%d slots, %v", len(list.Contents), err)
	}
	key := *list.Contents[0].Key
	got, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	whole := readAll(t, got.Body)
	put := func(key, body string) {
		t.Helper()
		if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	drop := func(key string) {
		t.Helper()
		if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	breaks := func(what string, law int, key string, o VerifyOptions) {
		t.Helper()
		v := verify(o)
		for _, b := range v.Breaches {
			if b.Law == law && strings.Contains(b.Key, key) {
				if v.OK || v.Looks != verifyLooks {
					t.Errorf("%s: OK is %v after %d looks", what, v.OK, v.Looks)
				}
				return
			}
		}
		t.Errorf("%s: no breach of law %d at %s: %+v", what, law, key, v.Breaches)
	}

	drop(key)
	breaks("a slot that a ref names is gone", 2, "ref/", VerifyOptions{})
	put(key, strings.Replace(whole, "one 5", "one 6", 1))
	breaks("a byte of a record is another", 2, "ref/", VerifyOptions{})
	if v := verify(VerifyOptions{Quick: true}); !v.OK || v.Summed != 0 {
		t.Errorf("a quick look reads %d bytes: %+v", v.Summed, v)
	}
	put(key, whole[:len(whole)-5])
	breaks("a slot is cut short", 2, "ref/", VerifyOptions{Quick: true})
	put(key, whole)

	const stray = "data/b/00000000000000ff/0000000000000001/0000000000000000@00000001-0000000000000001"
	put(stray, whole)
	breaks("an object that nothing names", 1, stray, VerifyOptions{})
	drop(stray)
	up, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: aws.String(stray)})
	if err != nil {
		t.Fatal(err)
	}
	breaks("an upload that nothing names", 1, stray, VerifyOptions{})
	if _, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: aws.String(bucket), Key: aws.String(stray), UploadId: up.UploadId}); err != nil {
		t.Fatal(err)
	}
	if _, err := stack.Client().Put(ctx, "nova/ref/0000000000000001/zz", "not a row"); err != nil {
		t.Fatal(err)
	}
	breaks("a row that does not parse", 0, "ref/0000000000000001/zz", VerifyOptions{})
	if _, err := stack.Client().Delete(ctx, "nova/ref/0000000000000001/zz"); err != nil {
		t.Fatal(err)
	}
	if v := verify(VerifyOptions{}); !v.OK {
		t.Errorf("mended: %+v", v.Breaches)
	}
}

// What others do while verify looks makes no false alarm.
func TestVerifyBesideWork(t *testing.T) {
	c, _ := clusterOn(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := c.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	star, err := c.StartStar(StarConfig{ID: "s1", Batch: BatchLimits{Slot: 2 << 10, Linger: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	auditor, err := c.StartAuditor(AuditorConfig{ID: "a", Cache: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	stop := time.Now().Add(4 * time.Second)
	done := make(chan int)
	go func() {
		n := 0
		for ; time.Now().Before(stop); n++ {
			id := fill(ctx, t, c, s, star, fmt.Sprint("n", n), 200)
			if n%2 == 0 {
				if err := s.Delete(ctx, id); err != nil {
					t.Error(err)
				}
			}
		}
		done <- n
	}()
	looks := 0
	for time.Now().Before(stop) {
		v, err := c.Verify(ctx, VerifyOptions{Again: 50 * time.Millisecond})
		if err != nil || !v.OK {
			t.Fatalf("verify: %+v, %v", v.Breaches, err)
		}
		looks += v.Looks
	}
	t.Logf("%d looks beside %d streams", looks, <-done)
	if err := star.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := auditor.Close(ctx); err != nil {
		t.Error(err)
	}
}

// An auditor does not delete by a clock that is off (gap 11).
func TestNothingIsDeletedByAClockThatIsOff(t *testing.T) {
	under := &counted{}
	ahead := core.Ms(0)
	known := false
	s := &clocked{ObjectStore: under, honest: &honest{skew: func() (core.Ms, bool) { return ahead, known }, most: 100}}
	for _, c := range []struct {
		ahead core.Ms
		known bool
		sent  bool
	}{{0, false, false}, {5000, false, false}, {99, true, true}, {-99, true, true}, {101, true, false}, {-315_360_000_000, true, false}} {
		ahead, known, under.deletes = c.ahead, c.known, 0
		r, err := s.Delete(t.Context(), []string{"a", "b"})
		switch {
		case c.sent && (under.deletes != 2 || err != nil):
			t.Errorf("a clock %d ms off: %d deletes were sent, %v", c.ahead, under.deletes, err)
		case !c.sent && (under.deletes != 0 || err == nil || len(r) != 2 || r[1].Outcome != core.Refused):
			t.Errorf("a clock %d ms off: %d deletes were sent, %v, %v", c.ahead, under.deletes, r, err)
		}
		meta := &countedMeta{}
		reply, err := (&clockedMeta{Metastore: meta, honest: s.honest}).Txn(t.Context(), nil)
		if sent := meta.txns == 1; sent != c.sent || sent == (err != nil) || !sent && reply.Outcome != core.Refused {
			t.Errorf("a clock %d ms off: %d transactions were sent, %v, %v", c.ahead, meta.txns, reply.Outcome, err)
		}
	}
}

// countedMeta counts the transactions that reach it.
type countedMeta struct {
	exec.Metastore
	txns int
}

func (m *countedMeta) Txn(context.Context, []core.Write) (core.Reply, error) {
	m.txns++
	return core.Reply{}, nil
}
