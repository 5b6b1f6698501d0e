package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nova/cmd/nova/demo"
)

var (
	kills    = flag.Int("kills", 3, "how often the demo is killed before it may end")
	killSeed = flag.Uint64("kill-seed", 0, "of the instants at which it is killed; 0 draws one")
)

// instants are where the demo is killed, by turns: at a random time after it has
// come to a phase.
var instants = []struct {
	phase  string
	within time.Duration
}{
	{"taking in", 500 * time.Millisecond}, // slots land, and the absorb runs
	{"auditing", 6 * time.Second},         // every duty is at work
	{"starting", 5 * time.Second},         // anywhere, the recovery of the stores included
}

// The demo, as a process of its own, is killed with SIGKILL at random instants,
// and takes up where it was: at the end no record is missing, none is there
// twice, and nothing has leaked.
func TestDemoSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, records := texts(t, dir, 200_000)
	args := []string{"demo", "--data", filepath.Join(dir, "data"), "--brisk", "--json"}
	for _, f := range files {
		args = append(args, "--input", f)
	}
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("-kill-seed %d", seed)
	for k := range *kills {
		at := instants[k%len(instants)]
		killAt(t, args, at.phase, time.Duration(random.Int64N(int64(at.within))))
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

// killAt runs the demo and kills it a time after it has come to a phase.
func killAt(t *testing.T, args []string, phase string, after time.Duration) {
	t.Helper()
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
