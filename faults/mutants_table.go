package faults

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// wrongLaw says that another law noticed than the one which must.
func (r *Result) wrongLaw() bool {
	return r.Fate == Killed && len(r.Bug.Laws) > 0 && !slices.Contains(r.Bug.Laws, r.Law)
}

// dead says that the bug was killed on every range, by a law that it names.
func dead(rs []Result) bool {
	return !slices.ContainsFunc(rs, func(r Result) bool { return r.Fate != Killed || r.wrongLaw() })
}

// each is what every range says, in a row; once, where all say the same.
func each(rs []Result, say func(*Result) string) string {
	out := make([]string, len(rs))
	for i := range rs {
		out[i] = say(&rs[i])
	}
	if len(slices.Compact(slices.Clone(out))) == 1 {
		return out[0]
	}
	for i := range out {
		if out[i] == "" {
			out[i] = "-"
		}
	}
	return strings.Join(out, ", ")
}

func (r *Result) byLaw() string {
	switch {
	case r.Fate != Killed:
		return ""
	case r.wrongLaw():
		return fmt.Sprintf("%d (want %s)", r.Law, strings.Trim(fmt.Sprint(r.Bug.Laws), "[]"))
	}
	return strconv.Itoa(r.Law)
}

// ifKilled is a number of the run that killed.
func ifKilled(n func(*Result) uint64) func(*Result) string {
	return func(r *Result) string {
		if r.Fate != Killed {
			return ""
		}
		return strconv.FormatUint(n(r), 10)
	}
}

// inOneLine is what became of a bug, for a line as soon as it is known.
func inOneLine(rs []Result) string {
	return each(rs, func(r *Result) string {
		if r.Fate != Killed {
			return strings.TrimSpace(r.Fate.String() + " " + firstLine(r.Why))
		}
		return fmt.Sprintf("killed by law %s at seed %d", r.byLaw(), r.Seed)
	})
}

// report prints the table, and what is to be said about each bug that lives.
func report(out io.Writer, results [][]Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "bug\tfate\tby law\tat seed\teffects\treached\ttook")
	killed := 0
	for _, rs := range results {
		if dead(rs) {
			killed++
		}
		var took time.Duration
		for i := range rs {
			took += rs[i].Took
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", rs[0].Bug.Name,
			each(rs, func(r *Result) string { return r.Fate.String() }), each(rs, (*Result).byLaw),
			each(rs, ifKilled(func(r *Result) uint64 { return r.Seed })), each(rs, ifKilled(func(r *Result) uint64 { return uint64(r.Effects) })),
			each(rs, func(r *Result) string { return strconv.FormatUint(r.Passed, 10) }), took.Round(time.Second/10))
	}
	fmt.Fprintln(out)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, rs := range results {
		for i := range rs {
			if r := &rs[i]; r.Fate != Killed {
				fmt.Fprintf(out, "\n%s, seeds from %d: %s\n  breaks: %s\n", r.Bug.Name, r.From, r.Fate, r.Bug.Breaks)
				if r.Why != "" {
					fmt.Fprintln(out, "  "+strings.ReplaceAll(r.Why, "\n", "\n  "))
				}
			}
		}
	}
	fmt.Fprintf(out, "\n%d of %d killed\n", killed, len(results))
	if alive := len(results) - killed; alive > 0 {
		return fmt.Errorf("%w: %d of %d", ErrMutants, alive, len(results))
	}
	return nil
}
