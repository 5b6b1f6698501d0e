package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nova/cmd/nova/demo"
)

// texts writes inputs of every awkward kind, and says how many lines they have.
func texts(t *testing.T, dir string, lines int) (files []string, records map[string]uint64) {
	t.Helper()
	var plain, holes bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&plain, "line %d of a text that is quite ordinary, %d\n", i, i*i)
		fmt.Fprint(&holes, strings.Repeat("\n", i%3), "\xff\x00 not text ", i, "\n")
	}
	records = map[string]uint64{}
	for _, f := range []struct {
		name, body string
	}{
		{"plain.txt", plain.String()},
		{"holes.bin", holes.String() + "the last line has no end"},
		{"long.txt", "short\n" + strings.Repeat("a very long line ", 400_000) + "\n\n"},
		{"empty.txt", ""},
		{"one.txt", "\n"},
	} {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, []byte(f.body), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
		n := strings.Count(f.body, "\n")
		if f.body != "" && !strings.HasSuffix(f.body, "\n") {
			n++
		}
		records["demo/"+path] = uint64(n)
	}
	return files, records
}

// judge holds a report to what the inputs are.
func judge(t *testing.T, r *demo.Report, records map[string]uint64) {
	t.Helper()
	if !r.OK || !r.Verify.OK || len(r.Failures) > 0 {
		t.Errorf("the run failed: %q, %+v", r.Failures, r.Verify)
	}
	if len(r.Inputs) != len(records) {
		t.Errorf("%d inputs, want %d", len(r.Inputs), len(records))
	}
	for _, in := range r.Inputs {
		if want := records[in.Stream]; in.Records != want || !in.Before || !in.After {
			t.Errorf("%s: %d of %d records, read back %v and %v", in.Stream, in.Records, want, in.Before, in.After)
		}
	}
	for q, n := range r.Standing.Markers {
		if n != 0 {
			t.Errorf("%d markers of queue %s stand", n, q)
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, records := texts(t, dir, 2000)
	args := []string{"demo", "--data", filepath.Join(dir, "data"), "--brisk", "--json", "--object-cache"}
	for _, f := range files {
		args = append(args, "--input", f)
	}
	code, out, errs := nova(t, "", args...)
	t.Log("\n" + errs)
	var r demo.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	judge(t, &r, records)
	for q, d := range r.Duties {
		if d.Runs == 0 {
			t.Errorf("duty %s had nothing to do", q)
		}
	}
	w := r.Work
	for name, n := range map[string]int64{
		"bytes settled": w.SettledBytes, "slots trimmed": w.SlotsTrimmed, "objects reaped": w.ObjectsReaped, "chains settled": w.ChainsSettled,
		"streams torn down": w.StreamsGone, "bytes moved by GC": w.GCMoved, "trims by age": w.Retained, "reads while auditing": r.Reads,
		"deletes through the cache": w.CacheDeletes,
	} {
		if n == 0 {
			t.Errorf("no %s", name)
		}
	}
}

// watched is a buffer that tells when a text is written to it.
type watched struct {
	want string
	seen chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	told bool
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(p)
	if !w.told && bytes.Contains(w.text.Bytes(), []byte(w.want)) {
		w.told = true
		close(w.seen)
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
