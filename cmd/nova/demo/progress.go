package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// How often progress is shown: as one line that is written over, or as lines.
const (
	showOver = 150 * time.Millisecond
	showLine = 2 * time.Second
)

// progress shows what the demo is at while it runs.
type progress struct {
	w     io.Writer
	over  bool // w is a terminal: one line is written over
	began time.Time
	now   func() string // what to show

	mu    sync.Mutex
	phase string
	more  string // beside the phase: what it is waiting for
	width int    // of the line that stands
	last  string

	stop chan struct{}
	done sync.WaitGroup
}

// newProgress shows progress on w until close. now says what to show beside the
// phase; it is called often.
func newProgress(w io.Writer, now func() string) *progress {
	p := &progress{w: w, began: time.Now(), now: now, stop: make(chan struct{})}
	if f, ok := w.(*os.File); ok {
		p.over = isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
	}
	every := showLine
	if p.over {
		every = showOver
	}
	p.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.show()
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// enter begins a phase.
func (p *progress) enter(format string, args ...any) {
	p.mu.Lock()
	p.phase, p.more = fmt.Sprintf(format, args...), ""
	p.mu.Unlock()
	p.show()
}

// detail says what the phase is at; it is shown with the next look.
func (p *progress) detail(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.more = text
}

// say writes a line that stays.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *progress) show() {
	state := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.phase
	if p.more != "" {
		line += " (" + p.more + ")"
	}
	if state != "" {
		line += ": " + state
	}
	if !p.over {
		if line != p.last {
			fmt.Fprintf(p.w, "%6.1fs %s\n", time.Since(p.began).Seconds(), line)
			p.last = line
		}
		return
	}
	line = fmt.Sprintf("%6.1fs %s", time.Since(p.began).Seconds(), line)
	n := len([]rune(line))
	fmt.Fprint(p.w, "\r"+line+strings.Repeat(" ", max(0, p.width-n)))
	p.width = n
}

// clear takes the line that stands away. p.mu is held.
func (p *progress) clear() {
	if p.over && p.width > 0 {
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.width)+"\r")
		p.width = 0
	}
}

func (p *progress) close() {
	close(p.stop)
	p.done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
