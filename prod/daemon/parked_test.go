package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"nova/core"
	"nova/core/admin"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/serve"
)

// A marker on which its duty fails for good is parked and listed with its reason;
// once the cause is gone an operator puts it back, and the duty works on it.
func TestAParkedMarkerIsPutBack(t *testing.T) {
	c := cluster(t)
	c.Dials = Brisk()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := c.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Create(ctx, serve.Spec{Bucket: "b", Name: "n", MaxAge: 3_600_000})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.metastore()
	if err != nil {
		t.Fatal(err)
	}
	marker := keys.DueRetention(keys.ShardOfStream(id, c.Dials.Shards), Now(), id)
	if _, err := m.Txn(ctx, []core.Write{core.Put(keys.Trim(id), "\xff damaged"), core.Put(marker, format.RetentionMark{}.Encode())}); err != nil {
		t.Fatal(err)
	}
	a, err := c.StartAuditor(AuditorConfig{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	parked := func(duty string) (all []ParkedMarker) {
		t.Helper()
		if err := c.Parked(ctx, duty, func(p ParkedMarker) error { all = append(all, p); return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	for len(parked("")) == 0 {
		if ctx.Err() != nil {
			t.Fatal("it is never parked")
		}
		time.Sleep(20 * time.Millisecond)
	}
	p := parked("retention")
	if len(p) != 1 || p[0].Duty != "retention" || !strings.Contains(p[0].Reason, keys.Trim(id)) || !strings.HasPrefix(p[0].Key, "due/retention/") {
		t.Fatalf("parked: %+v", p)
	}
	if q := parked("reap"); len(q) != 0 {
		t.Errorf("parked of another duty: %+v", q)
	}
	if _, err := m.Txn(ctx, []core.Write{core.Del(keys.Trim(id))}); err != nil {
		t.Fatal(err)
	}
	if u, err := s.Unpark(ctx, admin.Unparking{OneQueue: true, Queue: keys.Reap}); err != nil || u.PutBack+u.Stays+u.Moot != 0 {
		t.Errorf("of another duty: %+v, %v", u, err)
	}
	if u, err := s.Unpark(ctx, admin.Unparking{Key: p[0].Key}); err != nil || u.PutBack != 1 || u.Stays != 0 {
		t.Fatalf("%+v, %v", u, err)
	}
	// The duty takes it and arms its next, a policy from now.
	from, end := keys.DueAll(keys.Retention, keys.ShardOfStream(id, c.Dials.Shards))
	for {
		var at core.Ms
		if _, err := c.Rows(ctx, 0, from, end, func(r core.Row) error {
			d, err := keys.ParseDue(r.Key)
			at = d.At
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if at > Now()+3_000_000 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if q := parked(""); len(q) != 0 {
		t.Errorf("still parked: %+v", q)
	}
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}
