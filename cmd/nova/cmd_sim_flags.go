package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nova/faults"
	"nova/sim"
)

// simFlags say what run a seed is.
type simFlags struct {
	plan    string
	at      string
	effects int
	instant bool
}

func (s *simFlags) register(f *pflag.FlagSet) {
	f.StringVar(&s.plan, "plan", "", "the fault plan, instead of the seed's own")
	f.StringVar(&s.at, "at", "", `cut there besides: a row of the crash table ("put-before-commit"), or a boundary of faults/boundaries/list.txt, perhaps with @ and one of its processes, and with =before, =after or =silent, or with what strikes there instead of a cut: =pause, =slow, =late, =lost-reply, =refusal or =jump (=every-pause: each time, not only the first, the second, the fourth, the eighth …)`)
	f.IntVar(&s.effects, "effects", 0, "effects of a run before its faults stop (0: drawn)")
	f.BoolVar(&s.instant, "instant", false, "end a run where its faults would stop: only what breaks at once is looked for")
}

// maxEffects is what no run comes to in a day; a record refuses more, too.
const maxEffects = 1 << 24

// config is the run of a seed.
func (s *simFlags) config(seed uint64) (sim.Config, error) {
	cfg := sim.Config{Seed: seed, Effects: s.effects, Instant: s.instant, Scene: sim.Nova}
	if s.effects < 0 || s.effects > maxEffects {
		return cfg, fmt.Errorf("--effects %d: give how many, up to %d, or 0 for what the seed draws", s.effects, maxEffects)
	}
	if s.plan != "" {
		p, err := faults.Parse(s.plan)
		if err != nil {
			return cfg, fmt.Errorf("--plan: %w", err)
		}
		cfg.Plan = &p
	}
	if row, side, sided := strings.Cut(s.at, "="); sided {
		if _, is := faults.RowNamed(row); is {
			return cfg, fmt.Errorf("--at %q: %q is a row of the crash table, and says itself on which side to cut: leave %q out", s.at, row, "="+side)
		}
	}
	at, err := faults.ParseAim(s.at)
	if err != nil {
		return cfg, fmt.Errorf("--at: %w", err)
	}
	cfg.At = at
	return cfg, nil
}

// againOf is the command that repeats the run of a seed to the byte: with the plan that
// it had, drawn or given, in which the places to cut at stand, too.
func againOf(c *sim.Config, plan *faults.Plan) string {
	s := fmt.Sprintf("nova sim replay %d --plan %s", c.Seed, shellWord(plan.String()))
	if c.Effects > 0 {
		s += " --effects " + strconv.Itoa(c.Effects)
	}
	if c.Instant {
		s += " --instant"
	}
	return s
}

// shellWord is a text as one word of a shell's command line.
func shellWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\"'`$\\&|;<>()*?[]#~{}!") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// misfits are flags that do not apply, each with the reason.
type misfits map[string]string

// because gives flags one reason.
func (m misfits) because(why string, flags ...string) misfits {
	for _, f := range flags {
		m[f] = why
	}
	return m
}

// check refuses a flag that was given and would be ignored.
func (m misfits) check(c *cobra.Command, what string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if c.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s does not go with %s: %s", name, what, m[name]))
		}
	}
	if errs == nil {
		return nil
	}
	return usage(c, errors.Join(errs...))
}

// canWrite reports, before a long run, why a file could not be written in the end. It
// leaves nothing behind.
func canWrite(flag, path string) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return nil
	case err == nil && info.IsDir():
		err = errors.New("it is a directory")
	case err == nil:
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			err = f.Close()
		}
	case errors.Is(err, fs.ErrNotExist):
		err = canMake(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("%s %s cannot be written: %w", flag, path, err)
	}
	return nil
}

// canFill is canWrite of a folder that is made when the first file comes into it.
func canFill(flag, dir string) error {
	if dir == "" {
		return nil
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		_, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if err == nil {
			err = canMake(at)
		}
		if err != nil {
			return fmt.Errorf("%s %s cannot be written: %w", flag, dir, err)
		}
		return nil
	}
}

// canMake reports why no file can be made in a folder.
func canMake(dir string) error {
	f, err := os.CreateTemp(dir, ".nova-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
