package duty

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// job is one lane of a drain: it runs the duty for each of the lane's markers in
// turn, and moves a marker that failed out of the way.
type job[M any] struct {
	at      jobStep
	k       uint16 // which of the lane's markers
	call    core.Call
	row     core.Row // denorm and orphan: the marker, read anew
	verdict core.Verdict
	duty    M
}

type jobStep uint8

const (
	jobLoad jobStep = iota
	jobStray
	jobRun
	jobMove
	jobNext
)

func (j *job[M]) step(t core.Turn, e *core.Env, q keys.Queue, lane []Due, run Run[M], now *level) bool {
	for {
		due := lane[j.k]
		if q.Scheduled() {
			due.Row = j.row
		}
		switch j.at {
		case jobLoad: // 1. A schedule row only leads to its marker: read it.
			if q.Scheduled() {
				r, ok := j.call.AwaitFunc(t, func() core.Op { return core.Get(due.Key()) })
				if !ok {
					return false
				}
				if _, definite := r.Found(); !definite {
					j.at = jobNext
					continue
				}
				j.row = r.Row(due.Key())
				due.Row = j.row
			}
			j.at, j.verdict = loaded(t, e, q, &due, now)
		case jobStray: // A schedule row that is not its marker's, as both were read.
			r, ok := j.call.AwaitFunc(t, func() core.Op { return straighten(&due) })
			if !ok {
				return false
			}
			if r.Outcome == core.OK {
				t.NoteOf(core.NoteStraySched, 1, due.Sched.Key)
			}
			j.at = jobNext
		case jobRun: // 2. The duty itself.
			if j.verdict = run(&j.duty, t, e, &due); j.verdict == core.Working {
				return false
			}
			if j.at = jobNext; j.verdict != core.Done {
				j.at = jobMove
			}
		case jobMove: // 3. What failed backs off, or is parked. Refused: it stays where it is.
			f := judge(e, &due, j.verdict, reason(&j.duty))
			r, ok := j.call.AwaitFunc(t, func() core.Op { return moved(e, t.Now, &due, f) })
			if !ok {
				return false
			}
			if r.Outcome == core.OK {
				noteMoved(t, &due, f)
			}
			j.at = jobNext
		case jobNext:
			k := j.k + 1
			*j = job[M]{k: k}
			if int(k) >= len(lane) {
				return true
			}
		}
	}
}

// loaded says what becomes of a marker that was read: it runs; or it is damaged,
// and no duty could act on it; or its schedule row is a stray.
func loaded(t core.Turn, e *core.Env, q keys.Queue, due *Due, now *level) (jobStep, core.Verdict) {
	if due.Row.Rev == 0 {
		return jobStray, core.Working
	}
	failed, err := failures(q, due)
	switch {
	case err != nil:
		return jobMove, core.Broken
	case failed.stray:
		return jobStray, core.Working
	}
	now.add(t.Now-due.ripe(e), failed.attempts, e)
	t.NoteOf(core.NoteDutyRun, 1, q.String())
	return jobRun, core.Working
}

// straighten removes a schedule row that leads to nothing, or puts it where its
// batch marker says. Both are compared: what changed meanwhile is taken as it is.
func straighten(due *Due) core.Op {
	ws := []core.Write{core.If(due.Sched.Mark), core.If(core.Mark{Key: due.Key(), Rev: due.Row.Rev})}
	if due.Row.Rev == 0 {
		return core.Txn(append(ws, core.Del(due.Sched.Key))...)
	}
	m, err := format.DecodeBatchMark(due.Row.Val)
	if err != nil || m.Parked {
		return core.Txn(append(ws, core.Del(due.Sched.Key))...)
	}
	return core.Txn(append(ws, core.Del(due.Sched.Key), core.Put(schedule(due, m.Ready), ""))...)
}

// schedule is the key of a batch marker's schedule row.
func schedule(due *Due, ready core.Ms) string {
	return keys.SchedDenorm(due.Shard, ready, due.Star, due.Epoch, due.Slot)
}

// undecoded says of a row what an operator has to look at.
func undecoded(key string, err error) string {
	return "row " + key + " does not decode: " + err.Error() + ": restore it"
}

// reason is what a duty that ended Broken has to say, for the operator.
func reason(duty any) string {
	if r, ok := duty.(interface{ Reason() string }); ok {
		return r.Reason()
	}
	return ""
}
