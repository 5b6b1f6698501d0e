package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"nova/core"
	"nova/core/serve"
	"nova/prod/embedded"
	"nova/prod/s3store"
)

func cluster(t *testing.T) *Cluster {
	t.Helper()
	c, _ := clusterOn(t)
	return c
}

// clusterOn runs an embedded stack and opens the cluster on it.
func clusterOn(t *testing.T) (*Cluster, *embedded.Stack) {
	t.Helper()
	stack, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Buckets: []string{"nova-standard", "nova-express"}, NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	level := slog.LevelError
	if testing.Verbose() {
		level = slog.LevelInfo
	}
	c, err := Open(t.Context(), Config{
		Etcd: stack.Client(), Prefix: "nova/",
		S3:      s3store.Config{URL: stack.S3.URL, Region: stack.S3.Region, AccessKey: stack.S3.AccessKey, SecretKey: stack.S3.SecretKey},
		Buckets: [core.Classes][]string{{"nova-standard"}, {"nova-express"}},
		Dials:   Local(), Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: level})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, stack
}

func TestLocalDialsKeepTheirContracts(t *testing.T) {
	d := Local()
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	if left := d.Admission - d.Confirm; left < 1000 {
		t.Errorf("a right that is about to be confirmed again leaves %d ms: a store cannot express less than a second", left)
	}
}

func TestAStarTakesRecordsIn(t *testing.T) {
	c := cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := c.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Create(ctx, serve.Spec{Bucket: "b", Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	star, err := c.StartStar(StarConfig{ID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	if next, err := star.Open(ctx, id); err != nil || next != 0 {
		t.Fatalf("open: next %d, %v", next, err)
	}
	var last *Pending
	for i := range 1000 {
		if last, err = star.Append(ctx, id, fmt.Appendf(nil, "record %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := last.First(ctx); err != nil || n != 999 {
		t.Fatalf("the last record is number %d, %v", n, err)
	}
	if err := star.Close(ctx); err != nil {
		t.Fatal(err)
	}
	in, err := s.Info(ctx, id)
	if err != nil || in.End != 1000 {
		t.Fatalf("absorbed to %d, %v", in.End, err)
	}
	v, err := c.Verify(ctx, VerifyOptions{Again: 10 * time.Millisecond})
	if err != nil || !v.OK {
		t.Fatalf("verify: %+v, %v", v, err)
	}
	t.Logf("%+v", v)
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsComeBackInOrder(t *testing.T) {
	c := cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := c.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	star, err := c.StartStar(StarConfig{ID: "s1", Batch: BatchLimits{Slot: 64 << 10}})
	if err != nil {
		t.Fatal(err)
	}
	const streams, records = 3, 5000
	var ids [streams]uint64
	var wg sync.WaitGroup
	for k := range streams {
		if ids[k], err = s.Create(ctx, serve.Spec{Bucket: "b", Name: fmt.Sprint("n", k)}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if _, err := star.Open(ctx, ids[k]); err != nil {
				t.Error(err)
				return
			}
			a := star.Appender(ids[k])
			a.Alone = true
			for i := range records {
				if err := a.Add(ctx, fmt.Appendf(nil, "%d of %d", i, k)); err != nil {
					t.Error(err)
					return
				}
			}
			if err := a.Add(ctx, make([]byte, 3<<20)); err != nil { // larger than any slot
				t.Error(err)
			}
			if err := a.Flush(ctx); err != nil || a.Acked != records+1 || a.First != 0 {
				t.Errorf("acknowledged %d from %d: %v", a.Acked, a.First, err)
			}
		})
	}
	wg.Wait()
	if err := star.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for k := range streams {
		want := uint64(100)
		next, err := s.Read(ctx, ids[k], want, 0, func(r Record) error {
			if text := fmt.Sprintf("%d of %d", want, k); r.Seq != want || r.Time < Now()-60_000 || want < records && string(r.Data) != text {
				return fmt.Errorf("record %d at %d: %.40q, want %d: %q", r.Seq, r.Time, r.Data, want, text)
			}
			want++
			return nil
		})
		if err != nil || next != records+1 || want != next {
			t.Errorf("stream %d: read to %d of %d: %v", k, next, records+1, err)
		}
	}
	n := 0
	if next, err := s.Read(ctx, ids[0], 7, 5, func(Record) error { n++; return nil }); err != nil || next != 12 || n != 5 {
		t.Errorf("a bounded read: %d records, to %d, %v", n, next, err)
	}
	if _, err := s.Trim(ctx, ids[0], 50); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(ctx, ids[0], 7, 5, func(Record) error { return nil }); Reason(err) != serve.Trimmed {
		t.Errorf("a read below the watermark: %v", err)
	}
	if _, err := s.Trim(ctx, ids[0], records+2); Reason(err) != serve.BeyondEnd {
		t.Errorf("a trim beyond the end: %v", err)
	}
	if err := s.Delete(ctx, ids[0]); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(ctx, ids[0], 70, 5, func(Record) error { return nil }); Reason(err) != serve.Deleted {
		t.Errorf("a read of a deleted stream: %v", err)
	}
	if v, err := c.Verify(ctx, VerifyOptions{Again: 10 * time.Millisecond}); err != nil || !v.OK {
		t.Errorf("verify: %+v, %v", v, err)
	}
}
