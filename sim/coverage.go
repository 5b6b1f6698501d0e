package sim

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
	"nova/faults/boundaries"
)

// Excused is what runs need not reach, each with its reason. What is listed here
// and is reached all the same is struck off (a test holds the list to that).
var Excused = map[string]string{
	"op stat":                "no machine emits it: existence is told by the tail read that judges the object; the conformance suite holds its answer",
	"note publish-mid-row":   "an output that ends inside a row is corruption, which no fault of an honest store makes; core/protocol tests hold it",
	"note foreign":           "a key that no maker makes is an operator's doing; core/duty and core/admin tests hold it",
	"note stray-sched":       "schedule rows are moved with what they lead to: a stray one would break law 1; core/duty tests hold it",
	"note lost":              "the models lose no object that was acknowledged; scenarios/golden/c25 and core/duty tests hold it",
	"note prefix-swept":      "a chain is settled later than anything sent to it can land; core/admin tests (C1) hold it",
	"note reap-gc-armed":     "rare: an object must die in part within one run; scenarios/golden/duty-gc holds it",
	"note gc-moved":          "rare, as reap-gc-armed",
	"outcome out-of-range":   "rare: a fence must stand where a whole slot was expected; core/protocol tests hold it",
	"note gc-abandoned":      "rare: a GC must lose its entry to another job; core/duty tests hold it",
	"note probe-gc-worthy":   "rare, as reap-gc-armed",
	"note publish-truncated": "rare: a lost race against a shorter window; scenarios/golden/crash-03 holds it",
}

// Unreached is the crash points that no run can be cut at, each with its reason: of
// every process, or of one kind ("…@gc"). What is listed here and is reached all the
// same is struck off (a test holds the list to that), and the tests that are named
// must stand. What is rare is excused from no more than Many runs.
var Unreached = map[string]string{
	"admin.sweep.drop:delete":                    "a chain is settled later than anything sent to it can land, so that its prefix is empty; core/admin.TestASlotThatComesBackIsSwept",
	"duty.GCRewrite.Step:txn":                    "no duty arms a GC of a chain slot; core/duty.TestGCOfAChainSlot",
	"duty.farAhead.look/farLoad:get":             "a marker dated beyond every honest clock needs one that is off by more than the skew; core/duty.TestAnIntentOfAWrongClockIsJudged",
	"duty.farAhead.look/farMove:txn@denorm":      "as farLoad: only clients have such clocks; core/duty.TestAMarkerOfAWrongClockIsDatedAnew",
	"duty.farAhead.look/farMove:txn@gc":          "as farLoad: only clients have such clocks; core/duty.TestAMarkerOfAWrongClockIsDatedAnew",
	"duty.farAhead.look/farMove:txn@orphan":      "as farLoad: only clients have such clocks; core/duty.TestAMarkerOfAWrongClockIsDatedAnew",
	"duty.farAhead.look/farMove:txn@reap":        "as farLoad: only clients have such clocks; core/duty.TestAMarkerOfAWrongClockIsDatedAnew",
	"duty.farAhead.look/farMove:txn@settle":      "as farLoad: only clients have such clocks; core/duty.TestAMarkerOfAWrongClockIsDatedAnew",
	"duty.farAhead.look/farMove:txn@trimcheck":   "as farLoad: only clients have such clocks; core/duty.TestAMarkerOfAWrongClockIsDatedAnew",
	"duty.losing.Step/losingCount:get":           "the models lose no object that was acknowledged; core/duty.TestEraOfALostSlot",
	"duty.losing.Step/losingPage:scan":           "as losingCount; core/duty.TestEraOfALostSlot",
	"duty.losing.Step/losingSplit:txn":           "as losingCount; core/duty.TestEraOfALostSlot",
	"duty.losing.Step/losingStream:get":          "as losingCount; core/duty.TestEraOfALostSlot",
	"protocol.Probe.Step/probeFooter:read-range": "a footer longer than a tail read has thousands of chunks, and a run's objects have few; core/protocol.TestProbeLargeFooter",
	"protocol.Publish.Step/pubFooter:read-range": "as probeFooter; core/protocol.TestRewriteLargeFooter",
	"protocol.ReadSlot.Step/slotRest:read-range": "as probeFooter; core/protocol.TestReadSlotTable",
	"protocol.partSend.step/partConfirm:get@gc":  "rare: a GC's right must become stale between two of its parts; core/protocol.TestRewriteConfirms",

	// Machines that a duty has, and steps of them that it cannot come to.
	"duty.farAhead.look/farScan:scan@gc":                       ordered + "no look goes beyond its far end",
	"duty.job.step/jobLoad:get@gc":                             scanned,
	"duty.job.step/jobLoad:get@reap":                           scanned,
	"duty.job.step/jobLoad:get@retention":                      scanned,
	"duty.job.step/jobLoad:get@settle":                         scanned,
	"duty.job.step/jobLoad:get@teardown":                       scanned,
	"duty.job.step/jobLoad:get@trimcheck":                      scanned,
	"duty.job.step/jobStray:txn@gc":                            scanned,
	"duty.job.step/jobStray:txn@reap":                          scanned,
	"duty.job.step/jobStray:txn@retention":                     scanned,
	"duty.job.step/jobStray:txn@settle":                        scanned,
	"duty.job.step/jobStray:txn@teardown":                      scanned,
	"duty.job.step/jobStray:txn@trimcheck":                     scanned,
	"protocol.Probe.Step/probeTail:read-tail@reap":             windowed,
	"protocol.Probe.Step/probeTorn:scan@reap":                  windowed,
	"protocol.Probe.Step/probeWindow:read-range@orphan":        Never + "an intent knows no footer window: the judge reads the tail",
	"protocol.ReadSlot.Step/slotRange:read-range@decommission": unwindowed,
	"protocol.ReadSlot.Step/slotRange:read-range@settle":       unwindowed,
	"protocol.ReadSlot.Step/slotRange:read-range@star":         unwindowed,
}

// Never begins the reason of a crash point that no process can come by: its machine
// is part of the process, and the step is not for it.
const Never = "never: "

const (
	ordered    = Never + "the queue is ordered by size, and not by time: "
	scanned    = Never + "the queue has no schedule: its scan brings the markers themselves"
	windowed   = Never + "a reap-check carries the footer's window: no tail is read"
	unwindowed = Never + "a settlement has no inventory yet: it reads tails"
)

// Many is how many runs are enough to come by the crash points that are rare.
const Many = 5000

// Rare is how many runs are enough that nothing is excused for being rare.
const Rare = 1000

// Uncovered lists what runs should have reached and did not: operations,
// outcomes, notes (verdicts and each duty's work among them), faults, laws and
// requests. From Rare runs on, only what no run can reach is excused.
func (c *Count) Uncovered() []string {
	return slices.DeleteFunc(c.unreached(), func(what string) bool { _, ok := c.excused(what); return ok })
}

// unreached lists what no run reached, excused or not.
func (c *Count) unreached() []string {
	out := c.Missing()
	for o := range core.Outcome(core.Outcomes) {
		n := int64(0)
		for k := range c.Outcomes {
			n += c.Outcomes[k][o]
		}
		if n == 0 {
			out = append(out, "outcome "+o.String())
		}
	}
	return out
}

// excused is the reason why so many runs need not have reached something, if there is
// one.
func (c *Count) excused(what string) (why string, ok bool) {
	why, ok = Excused[what]
	return why, ok && !(c.Runs >= Rare && strings.HasPrefix(why, "rare"))
}

// Excuses is what was not reached and need not have been, and the crash points that
// need not have been cut at, each with its reason: a line each.
func (c *Count) Excuses() (lines []string) {
	for _, what := range c.unreached() {
		if why, ok := c.excused(what); ok {
			lines = append(lines, "excused: "+what+": "+why)
		}
	}
	for _, i := range c.Excluded() {
		p := boundaries.Points()[i]
		why, _ := unreached(p)
		lines = append(lines, "excused: crash point "+p.String()+": "+why)
	}
	return lines
}

// Spread says how long runs were: the fewest effects, the median and the most.
func Spread(effects []int64) string {
	if len(effects) == 0 {
		return "no runs"
	}
	s := slices.Sorted(slices.Values(effects))
	return fmt.Sprintf("effects a seed: %d at least, %d in the median, %d at most", s[0], s[len(s)/2], s[len(s)-1])
}
