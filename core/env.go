package core

import (
	"strconv"
	"strings"
)

// Env is what a process knows that its machines' states do not hold: its dials,
// its stores and its name. It is handed down beside the turn and never changes
// while the process lives.
type Env struct {
	Dials      Dials
	Stores     Stores
	Process    string // unique to one start of one process, ever
	Generation uint32 // of the cluster; a restore of the metastore bumps it
}

// Attempt names one attempt at an announce: unique, so that "it was I who
// created it" can be told after a lost reply.
func (e *Env) Attempt(t Turn) string {
	return e.Process + "/" + t.at.String() + "/" + strconv.FormatInt(int64(t.Now), 36)
}

// Born is when an attempt was named, on the clock of the process that did.
func Born(attempt string) (at Ms, ok bool) {
	i := strings.LastIndexByte(attempt, '/')
	n, err := strconv.ParseInt(attempt[i+1:], 36, 64)
	return Ms(n), i >= 0 && err == nil
}

// Abandoned reports whether the attempt that took a lease is older than any job is
// long: several of its deadlines, for a job that is slow must not be taken over
// by one that then is no faster. A put whose reply was lost may land after it was given up, and the session
// of a process that lives does not end: its lease would block everybody else for
// good. Whoever takes it over compares it; its holder, if there still is one, loses
// its next compare and comes again.
func (e *Env) Abandoned(t Turn, attempt string) bool {
	born, ok := Born(attempt)
	return ok && t.Now-born > 4*e.Dials.JobDeadline+e.Dials.RequestLife
}

// Verdict is how a machine that runs on behalf of a marker ended.
type Verdict uint8

const (
	Working Verdict = iota // not finished: effects are in flight
	Done                   // what the machine is for holds
	Again                  // nothing definite, or a race was lost: derive anew, later
	Broken                 // definitely damaged: anew will not help

	Verdicts = int(Broken) + 1
)

var verdictNames = [Verdicts]string{"working", "done", "again", "broken"}

func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "verdict?"
}
