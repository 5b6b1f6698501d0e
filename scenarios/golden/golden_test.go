// Package golden_test plays the scripts of this folder: see package script for
// their language, and README.md for what they are about.
package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"nova/core/law"
	"nova/faults"
	"nova/scenarios/script"
)

// TestCrashTable plays one script for each row of the specification's crash table.
func TestCrashTable(t *testing.T) { play(t, "crash-*.txt") }

// TestEveryRowOfTheCrashTableHasItsScript: crash-NN tells row NN, and there are no others.
func TestEveryRowOfTheCrashTableHasItsScript(t *testing.T) {
	all, err := filepath.Glob("crash-*.txt")
	if err != nil || len(all) != len(faults.Table) {
		t.Errorf("%d scripts for %d rows, %v", len(all), len(faults.Table), err)
	}
	for i := range faults.Table {
		row := &faults.Table[i]
		files, err := filepath.Glob(fmt.Sprintf("crash-%02d-*.txt", i+1))
		if err != nil || len(files) != 1 {
			t.Errorf("row %d (%s): %d scripts, %v", i+1, row.Name, len(files), err)
			continue
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if head := fmt.Sprintf("# Crash table, row %d: ", i+1); !strings.HasPrefix(string(text), head) {
			t.Errorf("%s does not begin with %q", files[0], head)
		}
		if !cutsSomebody(string(text)) {
			t.Errorf("%s (%s) cuts nobody", files[0], row.Name)
		}
	}
}

// cutsSomebody reports whether a script cuts a process, by a rule or by hand, or loses
// its reply.
func cutsSomebody(text string) bool {
	for line := range strings.Lines(text) {
		for _, verb := range []string{"cut ", "lose", "#2 cut ", "answer "} {
			if strings.HasPrefix(line, verb) || strings.HasPrefix(line, "always "+verb) {
				return true
			}
		}
	}
	return false
}

// TestDuties plays the ordinary life of each duty.
func TestDuties(t *testing.T) { play(t, "duty-*.txt") }

// TestCases plays the cases from the field.
func TestCases(t *testing.T) { play(t, "c[0-9]*.txt") }

// TestGaps plays what closes a gap of the specification and is in no case.
func TestGaps(t *testing.T) { play(t, "gap-*.txt") }

// TestFindings plays the interleavings of docs/findings.md.
func TestFindings(t *testing.T) { play(t, "finding-*.txt") }

// TestEveryFindingIsKept: a finding says what keeps it closed, and that stands.
func TestEveryFindingIsKept(t *testing.T) {
	text, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	findings := strings.Split(string(text), "\n## F")[1:]
	if len(findings) < 10 {
		t.Errorf("%d findings", len(findings))
	}
	for _, f := range findings {
		name, _, _ := strings.Cut(f, "\n")
		_, kept, _ := strings.Cut(f, "**Kept closed.**")
		for _, word := range []string{"Scenario:", "Planted:", "eed"} {
			if !strings.Contains(kept, word) {
				t.Errorf("F%s: nothing is said of %q", name, word)
			}
		}
		for i, path := range strings.Split(kept, "`") {
			if !strings.Contains(path, "/") || i%2 == 0 {
				continue
			}
			if _, err := os.Stat("../../" + path); err != nil {
				t.Errorf("F%s: %v", name, err)
			}
		}
	}
}

// TestEveryCaseAndGapIsTold: each of the 45 cases and 22 gaps has a script, or README.md
// names the test that shows it, or the script that does.
func TestEveryCaseAndGapIsTold(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]int{"c": 45, "gap-": 22} {
		for i := 1; i <= n; i++ {
			files, err := filepath.Glob(fmt.Sprintf("%s%02d-*.txt", what, i))
			if err != nil {
				t.Fatal(err)
			}
			row := fmt.Sprintf(`(?m)^\| (C\d+ )*C%d `, i)
			if what == "gap-" {
				row = fmt.Sprintf(`(?m)^\| %d `, i)
			}
			if len(files) == 0 && !regexp.MustCompile(row).Match(readme) {
				t.Errorf("%s%02d: no script, and README.md does not say why", what, i)
			}
		}
	}
}

// TestNoScriptIsLeftOut: every script is played by one of the tests above.
func TestNoScriptIsLeftOut(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, f := range files {
		n := 0
		for _, pattern := range []string{"crash-*.txt", "duty-*.txt", "c[0-9]*.txt", "gap-*.txt", "finding-*.txt"} {
			if ok, _ := filepath.Match(pattern, f); ok {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is played by %d tests", f, n)
		}
	}
}

// play plays scripts. With -rewrite it writes what came of each command into them
// anew: read what changed before it is committed.
func play(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txt"), func(t *testing.T) {
			s := script.New()
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				out, err := s.Do(d.Cmd, arguments(d), strings.Split(d.Input, "\n"))
				if err != nil {
					t.Errorf("%s: %v\n%s", d.Pos, err, out)
				}
				if out == "" {
					out = "ok"
				}
				return out
			})
			evaluated(t, s.Evaluated())
		})
	}
}

// evaluated: a law that was evaluated on nothing proves nothing. (Law 4 is on
// deletions, 7 is the hosts', 8 is for the end.)
func evaluated(t *testing.T, n [law.Laws]int) {
	for _, l := range []int{0, 1, 2, 3, 5} {
		if n[l] == 0 && !t.Failed() {
			t.Errorf("law %d was evaluated on nothing", l)
		}
	}
}

// arguments puts a command's arguments together again.
func arguments(d *datadriven.TestData) (args []string) {
	for _, a := range d.CmdArgs {
		if len(a.Vals) > 0 {
			args = append(args, a.Key+"="+strings.Join(a.Vals, ","))
		} else {
			args = append(args, a.Key)
		}
	}
	return args
}
