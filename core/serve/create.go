package serve

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// verbTries bounds how often a verb derives its transaction anew after a lost
// compare or a lost reply before it ends with Again.
const verbTries = 8

// Spec is what a stream is created as.
type Spec struct {
	Bucket, Name string
	Class        core.Class
	MaxAge       core.Ms // 0: no age policy
}

// Create makes a stream: a new id, never given out before, under an address that
// is free. Its age policy has nothing to do yet: the absorb that writes the
// stream's first ref arms retention.
//
// Done: Reason is None and ID is the stream's, or Reason says why not (NameTaken:
// ID is whose). Again: nothing definite, or too much contention; the stream may
// exist, and the same call then answers NameTaken.
type Create struct {
	step  createStep
	call  core.Call
	tries uint8
	count core.Row
	tried uint64 // id of the attempt whose reply was lost
	value string // its descriptor

	ID     uint64
	Reason Reason
}

type createStep uint8

const (
	createCheck createStep = iota
	createName
	createWhose
	createCount
	createWrite
	createDone
)

// Step creates the stream.
func (c *Create) Step(t core.Turn, e *core.Env, s Spec) core.Verdict {
	for {
		switch c.step {
		case createCheck:
			switch {
			case keys.CheckBucket(s.Bucket) != nil || keys.CheckName(s.Name) != nil:
				return c.end(BadName, 0)
			case s.Class >= core.Classes:
				return c.end(Malformed, 0)
			case !policyFits(e, s.MaxAge):
				return c.end(BadPolicy, 0)
			}
			c.step = createName
		case createName:
			re, ok := c.call.AwaitFunc(t, func() core.Op { return core.Get(keys.Name(s.Bucket, s.Name)) })
			if !ok {
				return core.Working
			}
			switch re.Outcome {
			case core.Absent:
				c.step = createCount
				continue
			case core.OK:
			default:
				return core.Again
			}
			id, err := format.DecodeNumber(re.Val)
			if err != nil {
				return c.end(Damaged, 0)
			}
			c.ID = id
			if c.tried == 0 || id != c.tried {
				return c.end(NameTaken, id)
			}
			c.step = createWhose
		case createWhose: // Our reply was lost: what stands under our id, is it what we wrote?
			re, ok := c.call.Await(t, core.Get(keys.Stream(c.ID)))
			if !ok {
				return core.Working
			}
			switch {
			case re.Outcome == core.OK && re.Val == c.value:
				return c.end(None, c.ID)
			case re.Outcome == core.OK || re.Outcome == core.Absent:
				return c.end(NameTaken, c.ID)
			}
			return core.Again
		case createCount:
			re, ok := c.call.Await(t, core.Get(keys.CounterStream))
			if !ok {
				return core.Working
			}
			if _, definite := re.Found(); !definite {
				return core.Again
			}
			c.count = re.Row(keys.CounterStream)
			c.step = createWrite
		case createWrite:
			if !c.call.Sent() {
				last := uint64(0)
				if c.count.Rev != 0 {
					n, err := format.DecodeNumber(c.count.Val)
					if err != nil {
						return c.end(Damaged, 0)
					}
					last = n
				}
				c.tried = last + 1
				c.value = format.Stream{Bucket: s.Bucket, Name: s.Name, Class: s.Class, MaxAge: s.MaxAge, Born: t.Now}.Encode()
			}
			re, ok := c.call.AwaitFunc(t, func() core.Op {
				return core.Txn(
					core.If(c.count.Mark), core.Missing(keys.Name(s.Bucket, s.Name)),
					core.Put(keys.CounterStream, format.EncodeNumber(c.tried)),
					core.Put(keys.Name(s.Bucket, s.Name), format.EncodeNumber(c.tried)),
					core.Put(keys.Stream(c.tried), c.value))
			})
			if !ok {
				return core.Working
			}
			switch {
			case re.Outcome == core.OK:
				return c.end(None, c.tried)
			case re.Outcome == core.Conflict:
				c.tried = 0
			case re.Outcome != core.Unknown:
				return core.Again
			}
			if c.tries++; c.tries == verbTries {
				return core.Again
			}
			c.count, c.step = core.Row{}, createName
		case createDone:
			return core.Done
		}
	}
}

func (c *Create) end(r Reason, id uint64) core.Verdict {
	*c = Create{step: createDone, ID: id, Reason: r}
	return core.Done
}

// policyFits refuses an age policy whose marker would look dated by a wrong clock.
func policyFits(e *core.Env, maxAge core.Ms) bool {
	return maxAge >= 0 && maxAge <= e.Dials.FarAhead-4*e.Dials.Skew
}
