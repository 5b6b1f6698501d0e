package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"nova/sim"
)

// simProgress is a line that says how far a run of seeds has come: on a terminal
// it is written over, elsewhere it is one line every ten seconds.
type simProgress struct {
	out   io.Writer
	over  bool
	began time.Time
	last  time.Time
	runs  uint64
	of    uint64
}

// newSimProgress makes one, or nil, which says nothing.
func newSimProgress(out io.Writer, wanted bool, of uint64) *simProgress {
	if !wanted {
		return nil
	}
	p := &simProgress{out: out, began: time.Now(), last: time.Now(), of: of}
	if f, ok := out.(*os.File); ok {
		p.over = isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
	}
	return p
}

// ran says that another run is done.
func (p *simProgress) ran(c *sim.Count, broken int) {
	if p == nil {
		return
	}
	p.runs++
	every := 10 * time.Second
	if p.over {
		every = 200 * time.Millisecond
	}
	if time.Since(p.last) < every && p.runs < p.of {
		return
	}
	p.last = time.Now()
	text := p.text(c, broken, time.Since(p.began))
	if p.over {
		fmt.Fprintf(p.out, "\r%s\x1b[K", text)
		return
	}
	fmt.Fprintln(p.out, text)
}

// text is the line.
func (p *simProgress) text(c *sim.Count, broken int, took time.Duration) string {
	all := len((&sim.Count{}).Missing()) // operations, verdicts, faults, laws, requests, duties
	reached := all - len(c.Missing())
	return fmt.Sprintf("%d of %d seeds, %.0f effects/s, %d of %d things reached, %d broken", p.runs, p.of, float64(c.Effects)/max(took.Seconds(), 0.001), reached, all, broken)
}

// end leaves the terminal on a line of its own.
func (p *simProgress) end() {
	if p != nil && p.over {
		fmt.Fprintln(p.out)
	}
}
