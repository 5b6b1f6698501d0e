package sim_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
// again in this process, and in others: on one processor, on four, and under the race
// detector.
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
		sameElsewhere(t, first[:], os.Args[0], procs)
	}
	if testing.Short() {
		return
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Log("not compared under the race detector: it needs a C compiler")
		return
	}
	raced := filepath.Join(t.TempDir(), "raced.test")
	if out, err := exec.Command("go", "test", "-race", "-c", "-o", raced, ".").CombinedOutput(); err != nil {
		t.Fatalf("build with the race detector: %v\n%s", err, out)
	}
	sameElsewhere(t, first[:], raced, "2")
}

// sameElsewhere runs the seeds in a process of a binary of this test, on so many
// processors, and compares the logs.
func sameElsewhere(t *testing.T, want []string, binary, procs string) {
	t.Helper()
	cmd := exec.Command(binary, "-test.run", "^TestSeedsAreOneEverywhere$")
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+procs, childEnv+"="+strconv.Itoa(len(want)))
	where := filepath.Base(binary) + ", GOMAXPROCS=" + procs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	logs := strings.Split(string(out), mark+"\n")
	if len(logs) != len(want)+2 {
		t.Fatalf("%s: %d logs", where, len(logs)-2)
	}
	for seed := range want {
		if got := logs[seed+1]; got != want[seed] {
			t.Errorf("seed %d, in %s:\n%s", seed, where, differ(want[seed], got))
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
