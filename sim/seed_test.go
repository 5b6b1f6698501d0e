package sim_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nova/faults"
	"nova/sim"
	"nova/sim/shrink"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "the first seed; with one run, its story is printed")
	runsFlag    = flag.Int("runs", 0, "how many seeds to run (0: one, if -seed is given; else a few)")
	effectsFlag = flag.Int("effects", 0, "effects of a run before its faults stop (0: the default)")
	instantFlag = flag.Bool("instant", false, "end a run where its faults would stop")
	planFlag    = flag.String("plan", "", "the fault plan, instead of the seed's own")
	recordFlag  = flag.String("record", "", "write the record of every run that breaks a law into this folder")
	linesFlag   = flag.Int("lines", 400, "lines of the story that are printed")
)

func given(name string) (yes bool) {
	flag.Visit(func(f *flag.Flag) { yes = yes || f.Name == name })
	return yes
}

func config(t testing.TB, seed uint64) sim.Config {
	c := sim.Config{Seed: seed, Effects: *effectsFlag, Instant: *instantFlag, Scene: sim.Nova}
	if *planFlag != "" {
		p, err := faults.Parse(*planFlag)
		if err != nil {
			t.Fatal(err)
		}
		c.Plan = &p
	}
	return c
}

// TestSeed runs a cluster under the faults of each seed.
func TestSeed(t *testing.T) {
	runs := *runsFlag
	if runs == 0 {
		runs = 24
		if given("seed") {
			runs = 1
		}
		if testing.Short() {
			runs = min(runs, 4)
		}
	}
	if runs == 1 {
		story(t, *seedFlag)
		return
	}
	var (
		mu    sync.Mutex
		sum   sim.Count
		wg    sync.WaitGroup
		seeds = make(chan uint64)
		begin = time.Now()
		bad   int
		kinds = breaches{}
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range seeds {
				r := sim.Run(config(t, seed))
				mu.Lock()
				sum.Add(&r.Count)
				if r.Breach != nil {
					bad++
					kinds.add(seed, r)
					written(t, config(t, seed))
				}
				mu.Unlock()
			}
		})
	}
	for i := range runs {
		seeds <- *seedFlag + uint64(i)
	}
	close(seeds)
	wg.Wait()
	if bad > 0 {
		t.Errorf("%d of %d seeds broke a law:\n%s", bad, runs, kinds)
	}
	if testing.Verbose() {
		took := time.Since(begin)
		fmt.Printf("%d seeds in %v, %.0f effects/s\n%s", runs, took.Round(time.Millisecond), float64(sum.Effects)/took.Seconds(), sum.String())
		fmt.Println("never:", sum.Missing())
	}
}

// TestSeedsRepeat: a seed is a run, to the byte of its log, from the seed and from
// its tape.
func TestSeedsRepeat(t *testing.T) {
	for seed := range uint64(3) {
		var logs [3]bytes.Buffer
		c := sim.Config{Seed: seed, Effects: 1500, Scene: sim.Nova, Log: &logs[0]}
		a := sim.Run(c)
		c.Log = &logs[1]
		sim.Run(c)
		plan := a.Plan
		c.Seed, c.Plan, c.Choices, c.Log = 0, &plan, a.Choices, &logs[2]
		sim.Run(c)
		if logs[0].String() != logs[1].String() || logs[0].String() != logs[2].String() {
			t.Errorf("seed %d gives %d, %d and from its tape %d bytes of story", seed, logs[0].Len(), logs[1].Len(), logs[2].Len())
		}
	}
}

// story runs one seed and prints how it ended, or all of it.
func story(t *testing.T, seed uint64) {
	var log bytes.Buffer
	c := config(t, seed)
	c.Log = &log
	r := sim.Run(c)
	if testing.Verbose() || r.Breach != nil {
		fmt.Fprintln(os.Stdout, tail(log.String(), *linesFlag))
		fmt.Printf("seed %d: a log of %d lines, sum %016x\n", seed, strings.Count(log.String(), "\n"), r.Sum)
		fmt.Println("plan:", r.Plan)
	}
	if testing.Verbose() {
		fmt.Print(r.Count.String())
	}
	if r.Breach != nil {
		t.Errorf("seed %d: %v\n    repeat it: %s%s", seed, r.Breach, r.Again(), written(t, c))
	}
}

// written runs what broke a law again, and writes its record, if a folder is given.
func written(t *testing.T, c sim.Config) string {
	if *recordFlag == "" {
		return ""
	}
	path, err := sim.Recorded(c).Record.Write(*recordFlag)
	if err != nil {
		t.Error(err)
	}
	return "\n    its record: " + path
}

// breaches groups what was found: breaches that differ in their numbers only are
// of one kind, and the shortest story stands for all of them.
type breaches map[string]*found

type found struct {
	n    int
	seed uint64
	r    *sim.Report
}

func (b breaches) add(seed uint64, r *sim.Report) {
	k := shrink.Kind(r.Breach)
	f := b[k]
	if f == nil {
		f = &found{seed: seed, r: r}
		b[k] = f
	}
	f.n++
	if r.Lines < f.r.Lines || r.Lines == f.r.Lines && seed < f.seed {
		f.seed, f.r = seed, r
	}
}

func (b breaches) String() string {
	keys := slices.Collect(maps.Keys(b))
	slices.SortFunc(keys, func(x, y string) int { return cmp.Or(b[y].n-b[x].n, strings.Compare(x, y)) })
	var out strings.Builder
	for _, k := range keys {
		f := b[k]
		fmt.Fprintf(&out, "%5d ×  seed %d (%s): %v\n         repeat it: %s\n", f.n, f.seed, f.r.Plan, f.r.Breach, f.r.Again())
	}
	return out.String()
}

// BenchmarkNova measures effects a second, with the laws and without.
func BenchmarkNova(b *testing.B) {
	for _, laws := range []bool{true, false} {
		b.Run(fmt.Sprintf("laws=%v", laws), func(b *testing.B) {
			var n int64
			for i := 0; b.Loop(); i++ {
				c := config(b, uint64(i))
				c.NoLaws = !laws
				n += sim.Run(c).Count.Effects
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "effects/s")
		})
	}
}

// Enough seeds reach every operation, outcome, verdict, fault, law and request,
// but for what is excused with a reason; and nothing is excused that is reached
// by many.
func TestSeedsReachEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred seeds")
	}
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		sum     sim.Count
		lengths []int64
		seeds   = make(chan uint64)
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range seeds {
				c := config(t, seed)
				c.Cover = true
				r := sim.Run(c)
				mu.Lock()
				sum.Add(&r.Count)
				lengths = append(lengths, r.Count.Effects)
				if r.Breach != nil {
					t.Errorf("seed %d: law %d: %s", seed, r.Breach.Law, r.Breach.What)
				}
				mu.Unlock()
			}
		})
	}
	for seed := range uint64(200) {
		seeds <- 7_000_000 + seed
	}
	close(seeds)
	wg.Wait()
	for _, what := range sum.Uncovered() {
		t.Errorf("never: %s", what)
	}
	heldToUnreached(t, &sum)
	missing := sum.Missing()
	for what, why := range sim.Excused {
		if !slices.Contains(missing, what) && !strings.HasPrefix(why, "rare") {
			t.Errorf("%s is excused (%s), and was reached", what, why)
		}
	}
	slices.Sort(lengths)
	if median := lengths[len(lengths)/2]; median < 2000 {
		t.Errorf("%s: at least 2000 in the median", sim.Spread(lengths))
	}
	t.Log(sim.Spread(lengths))
}
