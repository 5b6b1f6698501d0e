package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	args := []string{"demo", "--data", filepath.Join(dir, "data"), "--brisk", "--json"}
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
	} {
		if n == 0 {
			t.Errorf("no %s", name)
		}
	}
}

// The demo is killed at any instant and takes up where it was: no record is
// missing, none is there twice.
func TestDemoSurvivesKills(t *testing.T) {
	kills := 4
	if testing.Short() {
		kills = 2
	}
	t.Parallel()
	dir := t.TempDir()
	files, records := texts(t, dir, 200_000)
	args := []string{"demo", "--data", filepath.Join(dir, "data"), "--brisk", "--json"}
	for _, f := range files {
		args = append(args, "--input", f)
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for k := range kills {
		// By turns while records are taken in, and at any time.
		phase, after := "taking in", time.Duration(random.IntN(500))*time.Millisecond
		if k%2 == 1 {
			phase, after = "starting", time.Duration(random.IntN(5000))*time.Millisecond
		}
		c := command(t, args...)
		errs := &watched{want: phase, seen: make(chan struct{})}
		c.Stderr = errs
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-errs.seen:
		case <-time.After(time.Minute):
			t.Errorf("the demo never came to %q", phase)
		}
		time.Sleep(after)
		_ = c.Process.Kill()
		if err := c.Wait(); err == nil {
			t.Error("the demo ended before it was killed: the instants are too late to prove anything")
		} else if c.ProcessState.Exited() {
			t.Fatalf("%v after %q the demo had failed on its own: %v\n%s", after, phase, err, errs)
		}
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		t.Logf("killed %v after %q: %s", after, phase, lines[len(lines)-1])
	}
	c := command(t, args...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("the last run: %v\n%s\n%s", err, out, errs.String())
	}
	var r demo.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + errs.String())
	judge(t, &r, records)
	for _, in := range r.Inputs {
		t.Logf("%s: %d records, %d of them from before the last kill", filepath.Base(in.File), in.Records, in.Already)
	}
	t.Logf("%+v", r.Work)
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
