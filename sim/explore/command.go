package explore

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Command is what `nova sim explore` and `novasim explore` do.
type Command struct {
	Worlds   []string // by name; none: all
	Strategy Strategy
	Seed     uint64        // of walks
	Runs     int           // walks of each world, at most; 0: until its time is over
	Budget   time.Duration // of walks of each world; 0: ten seconds, where no runs are given
	Whole    bool          // exhaustive, without partial-order reduction
	Limit    int           // states of each world, at most; 0: all
	Total    time.Duration // walks of all worlds in turn, a little of each at a time, until a law breaks or this much processor time is used
	Parallel int           // worlds side by side; 0: one after another
	Trace    int           // lines of the way to a breach that are printed, from its end; 0: 60
}

// What a command can end with.
var (
	ErrBroken = errors.New("a law is broken")
	ErrCount  = errors.New("the state space is not what it was")
	ErrWorld  = errors.New("no such world")
)

// Do searches the worlds and prints a line for each, and for a breach the way to
// it; and for exhaustive searches of several a last one for all of them. A line `broken: law=N seed=N effects=N what` is for programs. It fails with
// ErrBroken where a law breaks, and with ErrCount where an exhaustive search met
// another number of states than the world says it has.
func (c *Command) Do(out io.Writer) error {
	worlds, err := c.worlds()
	if err != nil {
		return err
	}
	if c.Total > 0 {
		return c.turns(worlds, out)
	}
	var said sync.Mutex
	var failed []error
	var all total
	began := cpu()
	next := make(chan *World)
	var lanes sync.WaitGroup
	for range max(1, min(c.Parallel, len(worlds))) {
		lanes.Go(func() {
			for w := range next {
				text, r, err := c.one(w)
				said.Lock()
				fmt.Fprint(out, text)
				all.add(r)
				if err != nil {
					failed = append(failed, err)
				}
				said.Unlock()
			}
		})
	}
	for _, w := range worlds {
		next <- w
	}
	close(next)
	lanes.Wait()
	if all.worlds > 1 {
		fmt.Fprintln(out, all.line(cpu()-began))
	}
	return errors.Join(failed...)
}

// total is what exhaustive searches of several worlds found together.
type total struct {
	worlds, states int
	bytes          uint64
}

func (t *total) add(r *Result) {
	if r != nil {
		t.worlds, t.states, t.bytes = t.worlds+1, t.states+r.States, max(t.bytes, r.Bytes)
	}
}

func (t *total) line(took time.Duration) string {
	return fmt.Sprintf("all %d worlds: %d states; %.1f CPU s, %.0f k states/CPU s, heap of %d MB at most", t.worlds, t.states,
		took.Seconds(), float64(t.states)/max(took.Seconds(), 1e-9)/1000, t.bytes>>20)
}

func (c *Command) worlds() ([]*World, error) {
	if len(c.Worlds) == 0 {
		return Worlds(), nil
	}
	var out []*World
	for _, name := range c.Worlds {
		w := Find(name)
		if w == nil {
			var known []string
			for _, w := range Worlds() {
				known = append(known, w.Name)
			}
			return nil, fmt.Errorf("%w: %q: there are %s", ErrWorld, name, strings.Join(known, ", "))
		}
		out = append(out, w)
	}
	return out, nil
}

// slice is how long one world's walks go on before the next world's do.
const slice = 100 * time.Millisecond

// turns walks the worlds in turn, or searches them, each for a while and then for
// twice as long, until a law breaks or the time is over.
func (c *Command) turns(worlds []*World, out io.Writer) error {
	warm := make([]*Warm, len(worlds))
	began, runs, effects := cpu(), uint64(0), int64(0)
	for round := uint64(0); cpu()-began < c.Total; round++ {
		fresh := false // an exhaustive search that has not been through
		for i, w := range worlds {
			if c.Strategy == Exhaustive {
				r := Search(w, Options{Whole: c.Whole, Limit: 20_000 << (2 * round)})
				runs, effects, fresh = runs+uint64(r.States), effects+int64(r.Edges), fresh || !r.Whole
				if r.Breach != nil {
					text, err := c.tell(r.String(), w, r.Breach, r.Trace, runs, effects)
					fmt.Fprint(out, text)
					return err
				}
				continue
			}
			if fresh = true; warm[i] == nil {
				warm[i] = Warmed(w)
			}
			r := Walk(w, WalkOptions{Strategy: c.Strategy, Seed: c.Seed<<32 | round<<8 | uint64(i), Budget: slice, Tables: warm[i]})
			runs, effects = runs+uint64(r.Runs), effects+r.Effects
			if r.Breach != nil {
				text, err := c.tell(r.String(), w, r.Breach, r.Trace, runs, effects)
				fmt.Fprint(out, text)
				return err
			}
		}
		if !fresh {
			break
		}
	}
	fmt.Fprintf(out, "%d runs, %d effects of %d worlds: every law holds\n", runs, effects, len(worlds))
	return nil
}

// one searches one world; where that is not a walk, the result is not nil.
func (c *Command) one(w *World) (string, *Result, error) {
	if c.Strategy != Exhaustive {
		o := WalkOptions{Strategy: c.Strategy, Seed: c.Seed, Runs: c.Runs, Budget: c.Budget}
		if o.Runs == 0 && o.Budget == 0 {
			o.Budget = 10 * time.Second
		}
		r := Walk(w, o)
		text, err := c.tell(r.String(), w, r.Breach, r.Trace, uint64(r.Runs), r.Effects)
		return text, nil, err
	}
	r := Search(w, Options{Whole: c.Whole, Limit: c.Limit})
	text, err := c.tell(r.String(), w, r.Breach, r.Trace, uint64(r.States), int64(r.Edges))
	if err == nil && r.Whole && !c.Whole && r.States != w.States {
		err = fmt.Errorf("%w: %s has %d states, and was made with %d: see what changed, then correct its count", ErrCount, w.Name, r.States, w.States)
	}
	return text, r, err
}

func (c *Command) tell(text string, w *World, b *Breach, way []string, runs uint64, effects int64) (string, error) {
	text += "\n"
	if b == nil {
		return text, nil
	}
	n := c.Trace
	if n == 0 {
		n = 60
	}
	if len(way) > n {
		text += fmt.Sprintf("  (%d more before)\n", len(way)-n)
		way = way[len(way)-n:]
	}
	for _, l := range way {
		text += "  " + l + "\n"
	}
	text += fmt.Sprintf("broken: law=%d seed=%d effects=%d %s: %s\n", b.Law, runs, effects, w.Name, strings.ReplaceAll(b.What, "\n", " "))
	return text, fmt.Errorf("%w: %s: %w", ErrBroken, w.Name, b)
}

// Names are the names of all worlds and what each is about.
func Names() (out []string) {
	for _, w := range Worlds() {
		out = append(out, fmt.Sprintf("%-16s %s", w.Name, w.About))
	}
	return out
}
