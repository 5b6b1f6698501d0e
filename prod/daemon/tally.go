package daemon

import (
	"strings"
	"sync/atomic"

	"nova/core"
	"nova/core/keys"
)

// Tally counts the notes of a process's machines. Many goroutines may add to one
// and read it; the zero Tally is empty.
type Tally struct {
	notes  [core.NoteKinds]atomic.Int64
	duties [keys.Queues]dutyTally
}

type dutyTally struct{ runs, backoffs, parked atomic.Int64 }

// DutyCount is how a duty's markers fared.
type DutyCount struct {
	Runs     int64 `json:"runs"`     // markers that were worked on
	Backoffs int64 `json:"backoffs"` // that failed and were put back
	Parked   int64 `json:"parked"`   // that failed for good
}

// Add counts one note.
func (t *Tally) Add(n core.Note) {
	if n.Kind >= core.NoteKinds {
		return
	}
	t.notes[n.Kind].Add(n.N)
	var count *atomic.Int64
	q, ok := queueOf(n.Key)
	switch {
	case !ok:
		return
	case n.Kind == core.NoteDutyRun:
		count = &t.duties[q].runs
	case n.Kind == core.NoteDutyBackoff:
		count = &t.duties[q].backoffs
	case n.Kind == core.NoteDutyParked:
		count = &t.duties[q].parked
	default:
		return
	}
	count.Add(1)
}

// Of is how much of a kind was noted.
func (t *Tally) Of(k core.NoteKind) int64 { return t.notes[k].Load() }

// Duty is how a duty's markers fared.
func (t *Tally) Duty(q keys.Queue) DutyCount {
	d := &t.duties[q]
	return DutyCount{Runs: d.runs.Load(), Backoffs: d.backoffs.Load(), Parked: d.parked.Load()}
}

// queueOf is the queue that a note's key names: by its name, or by a marker's key.
func queueOf(key string) (keys.Queue, bool) {
	word, rest, _ := strings.Cut(key, "/")
	if word == "due" || word == "sched" || word == "park" {
		word, _, _ = strings.Cut(rest, "/")
	}
	return ParseQueue(word)
}

// ParseQueue is the queue with this name.
func ParseQueue(name string) (keys.Queue, bool) {
	for q := range keys.Queue(keys.Queues) {
		if q.String() == name {
			return q, true
		}
	}
	return 0, false
}
