package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nova/core/transcript"
	"nova/faults"
	"nova/prod/journal"
	"nova/sim"
)

// journalOf writes a journal of some segments without any turn.
func journalOf(t *testing.T, segments ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i, s := range segments {
		if err := os.WriteFile(filepath.Join(dir, journal.Name(uint64(i+1))), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A flag that would be ignored is refused, by name and with the reason; and what
// cannot be done in the end is refused at the start.
func TestFlagsThatDoNotApply(t *testing.T) {
	dir := t.TempDir()
	file, err := sim.Recorded(sim.Config{Seed: 6, Effects: 50, Scene: sim.Nova}).Record.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	on := journalOf(t, transcript.Magic)
	page := filepath.Join(dir, "page.html")
	under := filepath.Join(file, "below") // of a file, no folder
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"replay " + on + " --html " + page, 2, "--html does not go with a journal: a page shows"},
		{"replay " + on + " --log", 2, "--log does not go with a journal: "},
		{"replay " + on + " --seed 3", 2, "--seed does not go with a journal: "},
		{"replay " + on + " --effects 3 --whole", 2, "--whole does not go with a journal: "},
		{"replay " + on + " --from 3 --at put-before-commit", 2, "--at does not go with --from: "},
		{"replay " + on + " --from 3 --plan at=put-before-commit", 2, "at=… does not go with --from: "},
		{"replay " + on + " --from 3 --instant", 2, "--instant does not go with --from: it always ends"},
		{"replay " + on + " --from 3 --html " + page, 2, "--html does not go with --from: "},
		{"replay " + on + " --from 3 --process star", 2, "--process does not go with --from: "},
		{"replay " + on + " --from 0", 2, "turns are counted from 1"},
		{"replay " + file + " --plan none", 2, "--plan does not go with a record: "},
		{"replay " + file + " --effects 7", 2, "--effects does not go with a record: "},
		{"replay " + file + " --from 7", 2, "--from does not go with a seed or a record: "},
		{"replay " + file + " --process star", 2, "--process does not go with a seed or a record: "},
		{"replay 6 --from 7", 2, "--from does not go with a seed or a record: "},
		{"shrink " + file + " --plan none", 2, "--plan does not go with a record: "},
		{"shrink " + dir, 2, "is a directory"},
		{"mutants --repeat 4", 2, "--repeat does not go with"},
		{"explore --all --world collect", 2, "--world does not go with --all: it is every world"},
		{"explore --world collect --runs 3", 2, "--runs does not go with an exhaustive search: "},
		{"explore --world collect --strategy pct --whole", 2, "--whole does not go with walks: "},
		{"replay " + t.TempDir(), 1, "no journal: it has no file *.nvj"},
		{"replay " + on, 1, ""},
		{"run --effects -5", 2, "--effects -5: give how many"},
		{"replay 6 --effects 99999999", 2, "--effects 99999999: give how many"},
		{"run --seeds 6 --effects 50 --html " + under, 1, "--html " + under + " cannot be written: "},
		{"run --seeds 6 --effects 50 --html " + dir, 1, "cannot be written: it is a directory"},
		{"run --seeds 6 --effects 50 --record " + under, 1, "--record " + under + " cannot be written: "},
		{"replay 6 --effects 50 --html " + under, 1, "cannot be written: "},
		{"shrink 6 --effects 50 --output " + under, 1, "cannot be written: "},
		{"run --at put-before-commit=after", 2, `leave "=after" out`},
	} {
		code, out, errs := nova(t, "", append([]string{"sim"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(errs, c.says) || strings.Contains(out, "every law holds") {
			t.Errorf("nova sim %s: exit %d, want %d and %q:\n%.300s%.300s", c.args, code, c.code, c.says, out, errs)
		}
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a page was written")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".nova-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("trying left %v", left)
	}
	fresh := filepath.Join(dir, "a", "b")
	if err := canFill("--record", fresh); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(fresh)); err == nil {
		t.Error("a folder was made that nothing came into")
	}
}

// What a broken seed is said to be repeated with repeats it to the byte.
func TestAgainIsTheSame(t *testing.T) {
	for _, flags := range []string{
		"--effects 300",
		"--effects 300 --instant",
		"--effects 300 --at put-before-commit",
		"--plan late=30000 --effects 300 --at put-before-commit",
	} {
		var s simFlags
		c := newSimReplay()
		if err := c.ParseFlags(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		f := c.Flags()
		s.plan, _ = f.GetString("plan")
		s.at, _ = f.GetString("at")
		s.effects, _ = f.GetInt("effects")
		s.instant, _ = f.GetBool("instant")
		cfg, err := s.config(11)
		if err != nil {
			t.Fatal(err)
		}
		r := sim.Run(cfg)
		again := againOf(&cfg, &r.Plan)
		_, want, _ := nova(t, "", append([]string{"sim", "replay", "11"}, strings.Fields(flags)...)...)
		_, got, _ := nova(t, "", words(again)[1:]...)
		if want != got || len(want) < 1000 {
			t.Errorf("%s: %s is another run: %d and %d bytes", flags, again, len(want), len(got))
		}
	}
	var out strings.Builder
	cfg := sim.Config{Seed: 4, Effects: 200, Instant: true}
	plan := faults.Plan{}
	r := &sim.Report{Plan: plan, Breach: &sim.Breach{}}
	if err := (&simRun{}).broke(&out, cfg, r); err != nil || !strings.Contains(out.String(), "again: nova sim replay 4 --plan none --effects 200 --instant\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// words are the words of a shell's command line, without escapes.
func words(s string) (out []string) {
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// Where a run that goes on from a journal breaks a law, it is said how to see it again.
func TestOnwardAgain(t *testing.T) {
	r := recordingFlags{from: 31, seed: 7, whole: true, clients: true}
	s := simFlags{plan: "late=5 cut-after=7", effects: 90}
	if got, want := r.again("a journal", &s), "nova sim replay 'a journal' --from 31 --seed 7 --plan 'late=5 cut-after=7' --effects 90 --whole --clients --log"; got != want {
		t.Errorf("%s", got)
	}
	if got, want := (&recordingFlags{from: 1}).again("j", &simFlags{}), "nova sim replay j --from 1 --seed 0 --log"; got != want {
		t.Errorf("%s", got)
	}
}
