package scenarios

import (
	"fmt"
	"sync"
	"time"

	"nova/core"
)

// Host performs operations, as the core means them. It may be called from many
// goroutines. The production driver over any servers is one; so is the
// simulator's world.
type Host interface {
	Do(op core.Op) core.Reply
}

// Sessions is a host whose process can lose its session and get another.
type Sessions interface {
	EndSession()
}

// Alarm is a host whose metastore can run out of space.
type Alarm interface {
	SetNoSpace(up bool)
}

// TB is what of testing.TB the suite needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Case is one behaviour that the core relies on. Where servers differ, the case
// lists what it puts up with; a case that fails on a server says that Nova does
// not run on it.
type Case struct {
	Name string
	run  func(c *check)
}

// Cases is the conformance suite: what the machines, and so the simulator's
// world and every real server behind its adapter, agree on.
func Cases() []Case {
	var all []Case
	all = append(all, metaCases...)
	all = append(all, storeCases...)
	return append(all, uploadCases...)
}

// Setting is where a case runs.
type Setting struct {
	Host Host
	// Stores are two stores of one endpoint.
	Stores [2]core.Store
	// Prefix begins every key that the case uses; nothing else is under it.
	Prefix string
	// Blob is bytes [off, off+n) of the blob with handle 1, as the host has it: at
	// least BlobSize bytes.
	Blob func(off, n int64) string
	// Now is the host's clock.
	Now func() core.Ms
	// PartMin is the least size of a part that is not the last.
	PartMin int64
}

// BlobSize is how long the suite's blob must be.
const BlobSize = 12 << 20

// Run runs one case.
func (c Case) Run(t TB, s Setting) {
	t.Helper()
	k := &check{Setting: s, t: t}
	defer func() {
		if r := recover(); r != nil && r != errStop { //nolint:errorlint // a sentinel of our own
			panic(r)
		}
	}()
	c.run(k)
}

// check is one case on its way.
type check struct {
	Setting
	t TB
}

type stop struct{}

func (stop) Error() string { return "the case ended early" }

var errStop error = stop{}

// fail reports what is wrong and ends the case.
func (c *check) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf(format, args...)
	panic(errStop)
}

// want performs op and insists on one of the outcomes.
func (c *check) want(op core.Op, outcomes ...core.Outcome) core.Reply {
	c.t.Helper()
	r := c.Host.Do(op)
	for _, o := range outcomes {
		if r.Outcome == o {
			return r
		}
	}
	c.fail("%s: %s %q, not %v", op, r.Outcome, short(r.Val), outcomes)
	return r
}

// equal insists on a value.
func (c *check) equal(what string, got, want any) {
	c.t.Helper()
	if got != want {
		c.fail("%s is %v, not %v", what, short(fmt.Sprint(got)), short(fmt.Sprint(want)))
	}
}

func short(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%s… (%d bytes)", s[:50], len(s))
	}
	return s
}

// race performs n operations at once.
func (c *check) race(n int, op func(i int) core.Op) []core.Reply {
	replies := make([]core.Reply, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		o := op(i)
		wg.Go(func() {
			<-begin
			replies[i] = c.Host.Do(o)
		})
	}
	close(begin)
	wg.Wait()
	return replies
}

// tally counts the outcomes of a race.
func tally(rs []core.Reply) (n [core.Outcomes]int) {
	for i := range rs {
		n[rs[i].Outcome]++
	}
	return n
}

// key is a key of the case.
func (c *check) key(s string) string { return c.Prefix + s }

// obj is an object of the case, in store 0 or 1.
func (c *check) obj(store int, s string) core.Obj {
	return core.Obj{Store: c.Stores[store], Key: c.Prefix + s}
}

// soon is a NotAfter that is far enough away.
func (c *check) soon() core.Ms { return c.Now() + core.Ms((2*time.Minute)/time.Millisecond) }

// put creates an object of literal bytes.
func (c *check) put(o core.Obj, val string) {
	c.t.Helper()
	c.want(core.Create(o, core.Bytes(val), c.soon()), core.OK)
}

// stands insists that an object has these bytes.
func (c *check) stands(o core.Obj, val string) {
	c.t.Helper()
	c.equal("the size of "+o.Key, c.want(core.Stat(o), core.OK).Size, int64(len(val)))
	if val == "" {
		return
	}
	if got := c.want(core.ReadRange(o, 0, int64(len(val))), core.OK).Val; got != val {
		c.fail("%s reads %q, not %q", o.Key, short(got), short(val))
	}
}
