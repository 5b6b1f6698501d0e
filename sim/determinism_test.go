package sim_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"nova/sim"
)

// seedsOnce is how many seeds are run twice, and in other processes.
const seedsOnce = 4

// logOf is the whole log of a seed.
func logOf(seed uint64) string {
	var b bytes.Buffer
	r := sim.Run(sim.Config{Seed: seed, Effects: 900, Scene: sim.Nova, Log: &b})
	fmt.Fprintf(&b, "sum %016x, %d effects, %d choices\n", r.Sum, r.Count.Effects, len(r.Choices))
	return b.String()
}

// childEnv tells a child of this test which seeds it writes the logs of.
const childEnv = "NOVA_SIM_LOGS_OF"

// TestSeedsAreOneEverywhere: a seed's log is the same to the byte when it is run
// again in this process, and in others that run on one processor and on four; under
// the race detector too, where the whole test is built with it.
func TestSeedsAreOneEverywhere(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv(childEnv)); err == nil { // the child
		w := bufio.NewWriter(os.Stdout)
		for seed := range uint64(n) {
			fmt.Fprintf(w, "%s\n%s", mark, logOf(seed))
		}
		fmt.Fprintln(w, mark)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return
	}
	var first [seedsOnce]string
	for seed := range first {
		first[seed] = logOf(uint64(seed))
		if len(first[seed]) < 10_000 {
			t.Errorf("seed %d: a log of %d bytes", seed, len(first[seed]))
		}
		if again := logOf(uint64(seed)); again != first[seed] {
			t.Errorf("seed %d, run again in this process:\n%s", seed, differ(first[seed], again))
		}
	}
	for _, procs := range []string{"1", "4"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestSeedsAreOneEverywhere$")
		cmd.Env = append(os.Environ(), "GOMAXPROCS="+procs, childEnv+"="+strconv.Itoa(seedsOnce))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("GOMAXPROCS=%s: %v", procs, err)
		}
		logs := strings.Split(string(out), mark+"\n")
		if len(logs) != seedsOnce+2 {
			t.Fatalf("GOMAXPROCS=%s: %d logs", procs, len(logs)-2)
		}
		for seed := range first {
			if got := logs[seed+1]; got != first[seed] {
				t.Errorf("seed %d, in a process with GOMAXPROCS=%s:\n%s", seed, procs, differ(first[seed], got))
			}
		}
	}
}

const mark = "-- the log of the next seed"

// The first line that differs is shown, with those before it.
func TestDiffer(t *testing.T) {
	a := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	if got := differ(a, strings.Replace(a, "8", "x", 1)); got != "2\n3\n4\n5\n6\n7\n- 8\n+ x" {
		t.Errorf("%q", got)
	}
	if got := differ(a, a[:4]); !strings.HasSuffix(got, "- 3\n+ ") {
		t.Errorf("%q", got)
	}
}
