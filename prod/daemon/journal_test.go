package daemon

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"time"

	"nova/core/serve"
	"nova/prod/journal"
)

// How the journal fares is among the metrics; without one it is not.
func TestJournalMetrics(t *testing.T) {
	c, _ := clusterOn(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	scrape := func(name string) int64 {
		t.Helper()
		h, err := Metrics(&Tally{}, c)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/metrics", nil))
		m := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindStringSubmatch(w.Body.String())
		if m == nil {
			return -1
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := scrape("nova_journal_turns_total"); n != -1 {
		t.Errorf("without a journal, %d turns are recorded", n)
	}
	var err error
	if c.Journal, err = journal.Open(journal.Config{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	s, err := c.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ctx, serve.Spec{Bucket: "b", Name: "n"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Journal.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if turns, dropped, bytes := scrape("nova_journal_turns_total"), scrape("nova_journal_dropped_total"), scrape("nova_journal_bytes_total"); turns < 2 || dropped != 0 || bytes < 100 {
		t.Errorf("%d turns, %d dropped, %d bytes", turns, dropped, bytes)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Journal.Close(); err != nil {
		t.Error(err)
	}
}
