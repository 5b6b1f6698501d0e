package protocol

import (
	"strings"

	"nova/core"
	"nova/core/keys"
)

// settleClaim is the one settler's right to a chain: a leased key, written once,
// that every write of the settler compares. It goes with the session, or by
// compare-and-delete.
type settleClaim struct {
	step    claimStep
	call    core.Call
	tries   uint8
	attempt string  // what we write: tells "it was I" after a lost reply
	asked   core.Ms // when the call in flight was emitted

	mark      core.Mark // the claim as it stands, once it is ours
	confirmed core.Ms   // when the operation was emitted that last showed it ours
}

type claimStep uint8

const (
	claimTake claimStep = iota
	claimLook
	claimDrop
	claimHeld
	claimConfirm
	claimRelease
	claimRest
)

const claimTries = 4

// take acquires the claim. Done: it is held. Again: another has it, or the chain
// is no longer there, or nothing definite came back.
func (k *settleClaim) take(t core.Turn, e *core.Env, c *Chain, con core.Mark) core.Verdict {
	key := keys.SettleClaim(c.Star, c.Epoch)
	for {
		switch k.step {
		case claimTake:
			re, ok := k.call.AwaitFunc(t, func() core.Op {
				if k.attempt == "" {
					k.attempt = e.Attempt(t)
				}
				k.asked = t.Now
				return core.Txn(core.Missing(key), core.If(con), core.PutLeased(key, k.attempt))
			})
			switch {
			case !ok:
				return core.Working
			case re.Outcome == core.OK:
				return k.holds(core.Mark{Key: key, Rev: re.Rev})
			case re.Outcome == core.Conflict || re.Outcome == core.Unknown:
				k.step = claimLook
			default: // definitely refused
				return core.Again
			}
		case claimLook:
			if !k.call.Sent() {
				k.asked = t.Now
			}
			re, ok := k.call.Await(t, core.Get(key))
			if !ok {
				return core.Working
			}
			if k.tries++; k.tries > claimTries {
				return core.Again
			}
			switch {
			case re.Outcome == core.OK && re.Val == k.attempt:
				return k.holds(core.Mark{Key: key, Rev: re.Rev})
			case re.Outcome == core.OK && forgotten(t, e, re.Val):
				k.mark, k.step = re.Row(key).Mark, claimDrop
			case re.Outcome == core.OK:
				t.NoteOf(core.NoteClaimLost, 1, key)
				return core.Again
			case re.Outcome == core.Absent:
				k.step = claimTake // the same attempt: whichever of the two lands is ours
			}
		case claimDrop:
			// A put whose reply was lost may land after we gave up, and the lease of a
			// process that lives does not end: nobody would settle the chain any more.
			// Whoever does hold it loses its next compare, and comes again.
			re, ok := k.call.Await(t, core.Txn(core.If(k.mark), core.Del(k.mark.Key)))
			if !ok {
				return core.Working
			}
			k.mark, k.step = core.Mark{}, claimTake
			if re.Outcome == core.Unknown {
				k.step = claimLook
			}
		default:
			return core.Done
		}
	}
}

func (k *settleClaim) holds(m core.Mark) core.Verdict {
	*k = settleClaim{step: claimHeld, mark: m, confirmed: k.asked}
	return core.Done
}

// confirm reads the claim again: Done when it still stands as we wrote it.
func (k *settleClaim) confirm(t core.Turn) core.Verdict {
	if !k.call.Sent() {
		k.step, k.asked = claimConfirm, t.Now
	}
	re, ok := k.call.Await(t, core.Get(k.mark.Key))
	if !ok {
		return core.Working
	}
	k.step = claimHeld
	switch {
	case re.Outcome == core.OK && re.Rev == k.mark.Rev:
		k.confirmed = k.asked
		return core.Done
	case re.Outcome == core.OK || re.Outcome == core.Absent:
		t.NoteOf(core.NoteClaimLost, 1, k.mark.Key)
		k.mark = core.Mark{} // lost for good: there is nothing to release
	}
	return core.Again
}

// release gives the claim back. It asks until it has a definite answer: a claim
// that is left behind blocks the chain for as long as the process lives.
func (k *settleClaim) release(t core.Turn, e *core.Env) bool {
	if k.mark.Rev == 0 {
		return true
	}
	for {
		if k.step == claimRest {
			if _, ok := k.call.Await(t, core.Wait(t.Now+e.Dials.BackoffFirst)); !ok {
				return false
			}
		}
		k.step = claimRelease
		re, ok := k.call.Await(t, core.Txn(core.If(k.mark), core.Del(k.mark.Key)))
		if !ok {
			return false
		}
		if re.Outcome == core.OK || re.Outcome == core.Conflict {
			k.mark = core.Mark{}
			return true
		}
		k.step = claimRest
	}
}

// forgotten reports whether a claim is one that this very process made longer
// than a request's life ago, or that anybody made longer ago than a job takes: the
// marker may have moved to another's shards.
func forgotten(t core.Turn, e *core.Env, claim string) bool {
	if born, ok := core.Born(claim); ok && strings.HasPrefix(claim, e.Process+"/") {
		return t.Now-born > e.Dials.RequestLife
	}
	return e.Abandoned(t, claim)
}
