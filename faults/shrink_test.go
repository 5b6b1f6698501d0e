package faults

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var shrinkAll = flag.Duration("shrink", 0, "shrink what kills every planted bug, each for so long, and say to how many events (0: a few, that shrink soon)")

// shrunkTo is how many events that matter a failure is to come down to.
const shrunkTo = 12

// soon are bugs whose failures come down to it within seconds.
var soon = []string{"gap03-the-answer-dates-the-right", "reap-deletes-unconfirmed", "walk-arms-nothing"}

// What kills a planted bug is written, shrinks to few events, and breaks the same law
// when it is replayed from its file.
func TestPlantedShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes of the simulator")
	}
	o, budget := MutantsOptions{Only: soon}, 20*time.Second
	if *shrinkAll > 0 {
		o.Only, budget = nil, *shrinkAll
	}
	root, bugs, err := o.load()
	if err != nil {
		t.Fatal(err)
	}
	seeds := readKills(t, filepath.Join(root, "faults", "kills.txt"))
	builds, err := NewBuilds(t.Context(), root, t.TempDir(), bugs)
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan int)
	events, why := make([]int, len(bugs)), make([]string, len(bugs))
	var lanes sync.WaitGroup
	for range o.Parallel {
		lanes.Go(func() {
			for i := range next {
				events[i], why[i] = shrinks(t, builds, i, seeds[bugs[i].Name], budget)
				t.Logf("%s: %d %s", bugs[i].Name, events[i], why[i])
			}
		})
	}
	for i := range bugs {
		next <- i
	}
	close(next)
	lanes.Wait()
	over := 0
	for i := range bugs {
		switch {
		case why[i] != "":
			t.Errorf("%s: %s", bugs[i].Name, why[i])
		case events[i] > shrunkTo:
			over++
			t.Errorf("%s: at seed %d it shrinks to %d events", bugs[i].Name, seeds[bugs[i].Name], events[i])
		}
	}
	slices.Sort(events)
	t.Logf("%d of %d shrink to at most %d events; the median is %d", len(bugs)-over, len(bugs), shrunkTo, events[len(events)/2])
}

var shrunkCounts = regexp.MustCompile(`to \d+ actors, (\d+) requests, (\d+) faults, (\d+) restarts, (\d+) moves`)

// shrinks is to how many events the run of a seed shrinks that breaks a law with bug i;
// or why it does not.
func shrinks(t *testing.T, builds *Builds, i int, seed uint64, budget time.Duration) (events int, why string) {
	a, _, err := builds.Wake(t.Context(), i)
	if err != nil {
		return 0, err.Error()
	}
	dir := filepath.Join(builds.scratch, "records", builds.bugs[i].Name)
	args := append(builds.bugs[i].args(seed, seed+1), "-record", dir)
	out, _ := a.Command(t.Context(), builds.root, args...).Output()
	files, err := filepath.Glob(filepath.Join(dir, "*.record"))
	if err != nil || len(files) != 1 {
		return 0, fmt.Sprintf("seed %d leaves %d records (%v): %s", seed, len(files), err, out)
	}
	small := filepath.Join(dir, "small")
	out, err = a.Command(t.Context(), builds.root, "shrink", "-budget", budget.String(), "-o", small, files[0]).CombinedOutput()
	counts := shrunkCounts.FindSubmatch(out)
	if err != nil || counts == nil {
		return 0, fmt.Sprintf("shrink %s: %v: %s", files[0], err, out)
	}
	for _, c := range counts[1:] {
		n, err := strconv.Atoi(string(c))
		if err != nil {
			return 0, err.Error()
		}
		events += n
	}
	law, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(files[0]), "law-"), "-")
	if out, _ := a.Command(t.Context(), builds.root, "replay", small).Output(); !bytes.Contains(out, []byte("it breaks law "+law+" ")) {
		return events, fmt.Sprintf("what it shrinks to does not break law %s: %s", law, out)
	}
	return events, ""
}
