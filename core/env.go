package core

import "strconv"

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
