package faults

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "look for every planted bug anew, and write faults/kills.txt")

// stalest is how many bugs may be gone from their seeds before the list has to be
// made anew: each is looked for anew.
const stalest = 8

// Every planted bug is killed, by a law that it names. Where, kills.txt says, so
// that one run is enough for each.
func TestPlantedAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("a run of the simulator for every bug")
	}
	var o MutantsOptions
	root, bugs, err := o.load()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "faults", "kills.txt")
	seeds := readKills(t, file)
	if stale := staleNames(bugs, seeds); len(stale) > stalest && !*rewrite {
		t.Fatalf("%d bugs are not in faults/kills.txt, or are planted no more: run go test ./faults -run TestPlantedAreKilled -rewrite: %v", len(stale), stale)
	}
	scratch := t.TempDir()
	asIs, builds, err := buildAll(t.Context(), root, scratch, bugs)
	if err != nil {
		t.Fatal(err)
	}
	asleepIsAsIs(t, builds, asIs)
	results := make([]Result, len(bugs))
	next := make(chan int)
	var lanes sync.WaitGroup
	for range o.Parallel {
		lanes.Go(func() {
			for i := range next {
				results[i] = o.kill(t, builds, i, asIs, seeds)
			}
		})
	}
	for i := range bugs {
		next <- i
	}
	close(next)
	lanes.Wait()
	var text strings.Builder
	var gone []string
	for i := range results {
		r := &results[i]
		if r.Fate != Killed || r.wrongLaw() {
			t.Errorf("%s: %s by law %s at seed %d: %s\n  breaks: %s", r.Bug.Name, r.Fate, r.byLaw(), r.Seed, r.Why, r.Bug.Breaks)
			continue
		}
		fmt.Fprintf(&text, "%s %d %d\n", r.Bug.Name, r.Law, r.Seed)
		if seed, ok := seeds[r.Bug.Name]; !ok || seed != r.Seed {
			gone = append(gone, r.Bug.Name)
		}
	}
	switch {
	case *rewrite && !t.Failed():
		if err := os.WriteFile(file, []byte(killsHead+text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	case len(gone) > stalest:
		t.Errorf("%d bugs are killed, but not at the seeds of faults/kills.txt: run go test ./faults -run TestPlantedAreKilled -rewrite: %v", len(gone), gone)
	case len(gone) > 0:
		t.Logf("killed, but not at the seeds of faults/kills.txt: %v", gone)
	}
	t.Logf("%d bugs killed", len(bugs))
}

// kill runs a bug at the seed where it is known to be killed; if it lives there, or
// the list is made anew, on one range after the other.
func (o *MutantsOptions) kill(t *testing.T, builds *Builds, i int, asIs *sound, seeds map[string]uint64) Result {
	r := Result{Bug: &builds.bugs[i]}
	a, fate, err := builds.Wake(t.Context(), i)
	if err != nil {
		r.Fate, r.Why = fate, err.Error()
		return r
	}
	if seed, ok := seeds[r.Bug.Name]; ok && !*rewrite {
		one := *o
		r.From, one.Seeds = seed, 1
		if one.hunt(t.Context(), a, &r, asIs); r.Fate == Killed && !r.wrongLaw() {
			return r
		}
	}
	for _, from := range o.From {
		r = Result{Bug: r.Bug, From: uint64(from)}
		if o.hunt(t.Context(), a, &r, asIs); r.Fate == Killed && !r.wrongLaw() {
			break
		}
	}
	return r
}

// asleepIsAsIs holds the build with all bugs, none of them awake, to what the program
// does as it is: else a seed of the one would be another run of the other.
func asleepIsAsIs(t *testing.T, builds *Builds, asIs *sound) {
	t.Helper()
	var said [2]string
	for i, binary := range []string{builds.blend, asIs.binary} {
		out, err := Awake{Binary: binary}.Command(t.Context(), asIs.root, "run", "-seeds", "0..6").Output()
		if err != nil {
			t.Fatalf("run %s: %v", binary, err)
		}
		said[i] = string(out)
	}
	if said[0] != said[1] {
		t.Errorf("with all bugs asleep it says %q, and as it is %q", said[0], said[1])
	}
}

const killsHead = "# Where each planted bug is killed: its name, the law, the seed.\n# Made by go test ./faults -run TestPlantedAreKilled -rewrite.\n"

func readKills(t *testing.T, file string) map[string]uint64 {
	seeds := map[string]uint64{}
	text, err := os.ReadFile(file)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var name string
		var law int
		var seed uint64
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &name, &law, &seed); err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
		seeds[name] = seed
	}
	return seeds
}

// staleNames are the bugs that the list does not know, and the names in it that no
// bug has.
func staleNames(bugs []Planted, seeds map[string]uint64) (stale []string) {
	for i := range bugs {
		if _, ok := seeds[bugs[i].Name]; !ok {
			stale = append(stale, bugs[i].Name)
		}
	}
	for name := range seeds {
		if !slices.ContainsFunc(bugs, func(p Planted) bool { return p.Name == name }) {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return stale
}
