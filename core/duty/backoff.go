package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/plan"
)

// A marker counts its failures in two parts of format.Attempts: the low twelve
// bits count all of them and set the pace, the high four count the definite
// ones and park it. A hundred timeouts must not make the first definite failure
// the last.
const (
	allFailures  = 1<<12 - 1
	definiteOnes = 12
)

// Failures splits a marker's attempts: how often it failed, and how often of
// those definitely.
func Failures(a format.Attempts) (all, definite int) {
	return int(a & allFailures), int(a >> definiteOnes)
}

func failedAgain(a format.Attempts, v core.Verdict) format.Attempts {
	all, definite := Failures(a)
	all = min(all+1, allFailures)
	if v == core.Broken {
		definite = min(definite+1, 15)
	}
	return format.Attempts(definite<<definiteOnes | all)
}

// pause is how long a marker that failed this often stays away.
func pause(e *core.Env, a format.Attempts) core.Ms {
	all, _ := Failures(a)
	return plan.Backoff(&e.Dials, format.Attempts(max(all-1, 0)))
}

// failed is what a drain needs to know of any marker's value.
type failed struct {
	attempts format.Attempts
	stray    bool // denorm: its schedule row is not the one that leads to it
}

// failures reads the attempts of a marker of any queue.
func failures(q keys.Queue, due *Due) (f failed, err error) {
	switch q {
	case keys.Retention:
		var m format.RetentionMark
		m, err = format.DecodeRetentionMark(due.Row.Val)
		f.attempts = m.Attempts
	case keys.Settle:
		var m format.SettleMark
		m, err = format.DecodeSettleMark(due.Row.Val)
		f.attempts = m.Attempts
	case keys.Teardown:
		var m format.TeardownMark
		m, err = format.DecodeTeardownMark(due.Row.Val)
		f.attempts = m.Attempts
	case keys.Reap, keys.GC:
		var m format.ReapMark
		m, err = format.DecodeReapMark(due.Row.Val)
		f.attempts = m.Attempts
	case keys.TrimCheck:
		var m format.TrimMark
		m, err = format.DecodeTrimMark(due.Row.Val)
		f.attempts = m.Attempts
	case keys.Denorm:
		var m format.BatchMark
		m, err = format.DecodeBatchMark(due.Row.Val)
		f.attempts = m.Attempts
		f.stray = m.Parked || m.Ready != due.At
	case keys.Orphan:
		// An intent at its derived key is never rewritten for this (its revision is
		// its incarnation): the schedule row counts.
		if due.Sched.Val != "" {
			var m format.SettleMark
			m, err = format.DecodeSettleMark(due.Sched.Val)
			f.attempts = m.Attempts
		}
		if err == nil {
			_, err = format.DecodeIntent(due.Row.Val)
		}
	}
	return f, err
}

// judged is what becomes of a marker that failed.
type judged struct {
	attempts format.Attempts
	park     bool
	why      string
}

func judge(e *core.Env, due *Due, v core.Verdict, why string) judged {
	f, err := failures(due.Queue, due)
	if err != nil {
		return judged{park: true, why: "the marker does not decode: " + err.Error()}
	}
	a := failedAgain(f.attempts, v)
	_, definite := Failures(a)
	if why == "" {
		why = "failed definitely"
	}
	return judged{a, v == core.Broken && definite >= e.Dials.ParkAfter, why}
}

// moved is the transaction that takes a marker that failed out of the way: back
// to a later time, or, when it failed for good or cannot even be read, to where
// only an operator brings it back. Either way something stands for it at every
// instant, and what changed meanwhile is left alone.
func moved(e *core.Env, now core.Ms, due *Due, f judged) core.Op {
	if f.park {
		return core.Txn(parked(now, due, f.why)...)
	}
	return core.Txn(later(now+pause(e, f.attempts), e, due, f.attempts)...)
}

// later moves a marker to a time, but never to one before its own: one that ran early,
// by a clock that was ahead, is no reason to cut short what its date stands for.
func later(at core.Ms, e *core.Env, due *Due, a format.Attempts) []core.Write {
	at = max(at, due.At-scheduled(e, due.Queue, 0))
	ws := []core.Write{core.If(due.Row.Mark)}
	switch due.Queue {
	case keys.Denorm:
		m, _ := format.DecodeBatchMark(due.Row.Val)
		m.Attempts, m.Ready = a, at
		ws = append(ws, core.Put(due.Row.Key, m.Encode()))
		return reschedule(ws, due.Sched.Key, schedule(due, at), "")
	case keys.Orphan:
		ws = append(ws, core.If(due.Sched.Mark))
		key := keys.SchedOrphan(due.Shard, scheduled(e, keys.Orphan, at), due.Object)
		return reschedule(ws, due.Sched.Key, key, format.SettleMark{Attempts: a}.Encode())
	case keys.GC: // ordered by size: the value says when
		return append(ws, core.Put(due.Row.Key, withAttempts(due, a, at)))
	}
	k := due.Due
	k.At = at
	if k.Key() == due.Row.Key {
		return append(ws, core.Put(due.Row.Key, withAttempts(due, a, at)))
	}
	// A marker of another arming may stand there already: it must not be overwritten.
	return append(ws, core.Missing(k.Key()), core.Del(due.Row.Key), core.Put(k.Key(), withAttempts(due, a, at)))
}

// reschedule moves a schedule row; one key is written once.
func reschedule(ws []core.Write, from, to, val string) []core.Write {
	if from != to {
		ws = append(ws, core.Del(from))
	}
	return append(ws, core.Put(to, val))
}

// withAttempts is the marker's value with its failures counted.
func withAttempts(due *Due, a format.Attempts, at core.Ms) string {
	switch due.Queue {
	case keys.Teardown:
		m, _ := format.DecodeTeardownMark(due.Row.Val)
		m.Attempts = a
		return m.Encode()
	case keys.Reap, keys.GC:
		m, _ := format.DecodeReapMark(due.Row.Val)
		m.Attempts, m.NotBefore = a, notBefore(due, at)
		return m.Encode()
	case keys.TrimCheck:
		return format.TrimMark{Attempts: a}.Encode()
	case keys.Retention:
		m, _ := format.DecodeRetentionMark(due.Row.Val)
		m.Attempts = a
		return m.Encode()
	}
	return format.SettleMark{Attempts: a}.Encode()
}

// notBefore is when a GC marker comes back, whose key is no time.
func notBefore(due *Due, at core.Ms) core.Ms {
	if due.Queue == keys.GC {
		return at
	}
	return 0
}

func gcReady(val string) core.Ms {
	m, err := format.DecodeReapMark(val)
	if err != nil {
		return 0 // damaged: its job parks it
	}
	return m.NotBefore
}

// parked is the transaction that parks a marker. What other machines read as a
// flag stays where they read it (gap 13): of denorm and orphan only the schedule
// row goes.
func parked(now core.Ms, due *Due, why string) []core.Write {
	p := format.Parked{Reason: why, At: now, Value: due.Row.Val}
	ws := []core.Write{core.If(due.Row.Mark), core.Put(keys.Park(due.Queue, due.Row.Key), p.Encode())}
	if !due.Queue.Scheduled() {
		return append(ws, core.Del(due.Row.Key))
	}
	if m, err := format.DecodeBatchMark(due.Row.Val); due.Queue == keys.Denorm && err == nil {
		m.Parked = true
		ws = append(ws, core.Put(due.Row.Key, m.Encode()))
	}
	if due.Queue == keys.Orphan {
		ws = append(ws, core.If(due.Sched.Mark))
	}
	return append(ws, core.Del(due.Sched.Key))
}

func noteMoved(t core.Turn, due *Due, f judged) {
	k := core.NoteDutyBackoff
	if f.park {
		k = core.NoteDutyParked
	}
	t.NoteOf(k, 1, due.Row.Key)
}
