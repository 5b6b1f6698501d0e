package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nova/core"
	"nova/core/admin"
	"nova/core/keys"
	"nova/core/serve"
)

// A star is decommissioned over real stores: while it lives it is refused; once it
// is closed everything of it goes but the record, and its name serves nobody.
func TestAStarIsDecommissioned(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for graces")
	}
	c := cluster(t)
	c.Dials = Brisk()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
	if _, err := star.Open(ctx, id); err != nil {
		t.Fatal(err)
	}
	var last *Pending
	for i := range 100 {
		if last, err = star.Append(ctx, id, fmt.Appendf(nil, "record %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := last.First(ctx); err != nil || n != 99 {
		t.Fatalf("the last record is number %d, %v", n, err)
	}
	order := admin.Order{Star: "s1", Wait: true}
	done, r, err := s.Decommission(ctx, order, nil)
	if done || err != nil || len(r.Blockers) != 1 || r.Blockers[0].Reason != admin.NotDrained {
		t.Fatalf("of a star that lives: %v %+v, %v", done, r, err)
	}
	if err := star.Close(ctx); err != nil {
		t.Fatal(err)
	}
	aud, err := c.StartAuditor(AuditorConfig{ID: "aud"})
	if err != nil {
		t.Fatal(err)
	}
	if done, r, err = s.Decommission(ctx, order, nil); !done || err != nil || r.Reaped != 1 {
		t.Fatalf("%v %+v, %v", done, r, err)
	}
	var left []string
	if _, err := c.Rows(ctx, 0, "", "", func(r core.Row) error {
		if strings.Contains(r.Key, "s1") {
			left = append(left, r.Key)
		}
		return nil
	}); err != nil || !slices.Equal(left, []string{keys.Gone("s1")}) {
		t.Errorf("left: %v, %v", left, err)
	}
	if star, err = c.StartStar(StarConfig{ID: "s1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := star.Open(ctx, id); Reason(err) != serve.Gone {
		t.Errorf("an open on the star that is gone: %v", err)
	}
	if err := star.Close(ctx); err != nil {
		t.Error(err)
	}
	n := 0
	if next, err := s.Read(ctx, id, 0, 0, func(Record) error { n++; return nil }); err != nil || next != 100 || n != 100 {
		t.Errorf("read %d records, to %d, %v", n, next, err)
	}
	if err := aud.Close(ctx); err != nil {
		t.Error(err)
	}
	if v, err := c.Verify(ctx, VerifyOptions{Again: 10 * time.Millisecond}); err != nil || !v.OK {
		t.Errorf("verify: %+v, %v", v, err)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}
