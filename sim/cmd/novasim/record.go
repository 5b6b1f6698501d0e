package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"nova/sim"
	"nova/sim/html"
	"nova/sim/shrink"
	"nova/sim/story"
)

// record runs again what broke a law, and writes its record into a folder.
func record(c sim.Config, dir, planted string, out io.Writer) error {
	r := sim.Recorded(c)
	r.Record.Planted = planted
	path, err := r.Record.Write(dir)
	if err == nil {
		_, err = fmt.Fprintf(out, "  its record: %s\n", path)
	}
	return err
}

// replay runs a record's file again: it exits 1 if a law is broken still.
func replay(args []string, out, errs io.Writer) int {
	fs := flag.NewFlagSet("novasim replay", flag.ContinueOnError)
	fs.SetOutput(errs)
	log := fs.Bool("log", false, "print every event")
	tell := fs.Bool("story", false, "tell the story of the breach")
	page := fs.String("html", "", "write the run as a page")
	if fs.Parse(args) != nil {
		return 2
	}
	if fs.NArg() != 1 {
		fmt.Fprintln(errs, "usage: novasim replay [-log] [-story] [-html PAGE] FILE")
		return 2
	}
	if *page != "" {
		rec, err := sim.ReadRecord(fs.Arg(0))
		if err == nil {
			err = html.Write(*page, rec, sim.Nova)
		}
		if err != nil {
			return codeOf(err, errs)
		}
	}
	var events io.Writer
	if *log {
		events = out
	}
	err := story.Replay(out, events, fs.Arg(0), sim.Nova)
	if *tell && errors.Is(err, story.ErrBroken) {
		fmt.Fprintln(out)
		if rec, err := sim.ReadRecord(fs.Arg(0)); err != nil {
			return codeOf(err, errs)
		} else if err := story.Print(out, rec, sim.Nova); err != nil {
			return codeOf(err, errs)
		}
	}
	return codeOf(err, errs)
}

// shrunk minimises a record's file, and prints its story: it exits 1 if the law
// holds, for then there is nothing to shrink.
func shrunk(args []string, out, errs io.Writer) int {
	fs := flag.NewFlagSet("novasim shrink", flag.ContinueOnError)
	fs.SetOutput(errs)
	budget := fs.Duration("budget", time.Minute, "how long to look for less")
	into := fs.String("o", "", "the file to write (default: FILE with .shrunk in its name)")
	if fs.Parse(args) != nil {
		return 2
	}
	if fs.NArg() != 1 {
		fmt.Fprintln(errs, "usage: novasim shrink [-budget 60s] [-o FILE] FILE")
		return 2
	}
	return codeOf(story.Shrink(out, fs.Arg(0), *into, *budget, sim.Nova), errs)
}

func codeOf(err error, errs io.Writer) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, story.ErrBroken):
		return 1
	case errors.Is(err, shrink.ErrHolds):
		fmt.Fprintln(errs, "novasim:", err)
		return 1
	}
	fmt.Fprintln(errs, "novasim:", err)
	return 2
}
