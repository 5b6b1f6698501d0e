package story

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"nova/sim"
	"nova/sim/shrink"
)

// ErrBroken is returned where a law was broken.
var ErrBroken = errors.New("a law was broken")

// Replay runs a record's file again and says what came of it, on the last lines;
// with a log, every event before. It fails with ErrBroken if a law is broken.
func Replay(out, log io.Writer, path string, scene func(*sim.Sim)) error {
	rec, err := sim.ReadRecord(path)
	if err != nil {
		return err
	}
	x := sim.Replay(rec, scene, log)
	if _, err := fmt.Fprintln(out, x.Says()); err != nil {
		return err
	}
	if x.Report.Breach != nil {
		return ErrBroken
	}
	return nil
}

// Shrink minimises a record's file into another, and prints the story. It fails
// with shrink.ErrHolds where the record breaks no law any more.
func Shrink(out io.Writer, path, into string, budget time.Duration, scene func(*sim.Sim)) error {
	rec, err := sim.ReadRecord(path)
	if err != nil {
		return err
	}
	small, _, runs, err := shrink.Shrink(rec, shrink.Options{Scene: scene, Budget: budget, Log: out})
	if err != nil {
		return err
	}
	if into == "" {
		into = strings.TrimSuffix(path, sim.RecordExt) + ".shrunk" + sim.RecordExt
	}
	if err := os.WriteFile(into, small.Encode(), 0o666); err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	fmt.Fprintf(out, "%d runs: from %s\n%s to %s\n%s\n\n", runs, shrink.Counts(rec), strings.Repeat(" ", len(fmt.Sprint(runs))+4), shrink.Counts(small), into)
	return Print(out, small, scene)
}

// Print prints the story of a record.
func Print(out io.Writer, rec *sim.Record, scene func(*sim.Sim)) error {
	s, r := Of(rec, scene)
	if s == nil {
		_, err := fmt.Fprintf(out, "there is no story: every law holds, %d effects\n", r.Count.Effects)
		return err
	}
	_, err := fmt.Fprintln(out, strings.Join(s.Lines(), "\n"))
	return err
}
