package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"nova/core"
	"nova/core/duty"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/serve"
	"nova/prod/embedded"
	"nova/prod/s3store"
)

const nospaceQuota = 16 << 20

// C36 and gap 9 on a real etcd: its quota is filled to the alarm by Nova's own
// rows, and an auditor that starts then, which gets no lease, frees rows and
// objects before anything is compacted. Once an operator has compacted,
// defragmented and disarmed, puts succeed and everything converges.
func TestOutOfSpace(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a read grace")
	}
	stack, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Buckets: []string{"nova-standard", "nova-express"}, NoFsync: true, QuotaBytes: nospaceQuota})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	n := &outOfSpace{t: t, ctx: ctx, stack: stack}
	n.c = n.open()
	n.build()
	n.fillUp()

	// The auditor's whole process is new: its cluster is opened under the alarm.
	c := n.open()
	tally, began := &Tally{}, time.Now()
	a, err := c.StartAuditor(AuditorConfig{ID: "late", Tally: tally})
	if err != nil {
		t.Fatal(err)
	}
	n.until("rows and objects go under the alarm", func() bool {
		return n.count(keys.RefRange(n.gone, 0)) == 0 && n.markers(keys.Reap) == 0
	})
	t.Logf("freed %d rows and %d objects in %v", tally.Of(core.NoteTeardownWalked), tally.Of(core.NoteReapDeleted), time.Since(began).Round(time.Millisecond))
	if o := n.objects(n.dead...); o != 0 || tally.Of(core.NoteReapDeleted) < int64(len(n.dead)) {
		t.Errorf("of %d streams' objects those of %d stand, %d were deleted", len(n.dead), o, tally.Of(core.NoteReapDeleted))
	}
	if tally.Of(core.NoteReapConfirmArmed) != 0 || time.Since(began) < time.Duration(c.Dials.ReadGrace)*time.Millisecond {
		t.Errorf("%d observations were written down, and all was over after %v: they are held in memory, for a grace", tally.Of(core.NoteReapConfirmArmed), time.Since(began))
	}
	if r := n.count(keys.AuditorsRange()); r != 0 {
		t.Errorf("%d auditors are registered, though there is no lease", r)
	}
	if !n.refused() || n.compacted() {
		t.Error("the alarm has gone, or something was compacted, before the operator came")
	}
	if o := n.objects(n.live...); o != len(n.live) {
		t.Errorf("the objects of %d of %d live streams stand", o, len(n.live))
	}

	n.repair()
	if _, err := n.s.Create(ctx, serve.Spec{Bucket: "b", Name: "after"}); err != nil {
		t.Fatalf("a put after the alarm: %v", err)
	}
	n.until("the auditor registers", func() bool { return n.count(keys.AuditorsRange()) == 1 })
	n.until("everything converges", func() bool {
		all, err := c.Markers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, m := range all {
			sum += m
		}
		return sum == 0 && n.count(keys.Stream(n.gone), keys.Stream(n.gone)+"\x00") == 0
	})
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	for _, id := range n.live {
		if got := n.read(id); got != n.want[id] {
			t.Errorf("stream %d reads %d bytes, not %d", id, len(got), len(n.want[id]))
		}
	}
	v, err := c.Verify(ctx, VerifyOptions{})
	if err != nil || !v.OK || v.Standing.Parked != 0 {
		t.Errorf("verify: %+v, %v", v, err)
	}
}

// outOfSpace is a cluster on its way into the alarm.
type outOfSpace struct {
	t     *testing.T
	ctx   context.Context
	stack *embedded.Stack
	c     *Cluster
	s     *Session
	live  []uint64 // settled streams that stay
	dead  []uint64 // deleted ones whose objects wait for their reap-checks
	gone  uint64   // a deleted one whose rows wait for their teardown
	want  map[uint64]string
}

func (n *outOfSpace) open() *Cluster {
	n.t.Helper()
	level := slog.LevelError
	if testing.Verbose() {
		level = slog.LevelInfo
	}
	c, err := Open(n.ctx, Config{
		Etcd: n.stack.Client(), Prefix: "nova/",
		S3:      s3store.Config{URL: n.stack.S3.URL, Region: n.stack.S3.Region, AccessKey: n.stack.S3.AccessKey, SecretKey: n.stack.S3.SecretKey},
		Buckets: [core.Classes][]string{{"nova-standard"}, {"nova-express"}},
		Dials:   Local(), Log: slog.New(slog.NewTextHandler(n.t.Output(), &slog.HandlerOptions{Level: level})),
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(c.Close)
	return c
}

// build makes streams of every kind: some settled and live, some deleted and torn
// down whose objects are due, one deleted whose batch is resolved and whose rows
// are due.
func (n *outOfSpace) build() {
	t, ctx := n.t, n.ctx
	var err error
	if n.s, err = n.c.NewSession(nil); err != nil {
		t.Fatal(err)
	}
	star, err := n.c.StartStar(StarConfig{ID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		id := fill(ctx, t, n.c, n.s, star, fmt.Sprint("stream", i), 50)
		if i < 4 {
			n.live = append(n.live, id)
		} else {
			n.dead = append(n.dead, id)
		}
	}
	n.want = map[uint64]string{}
	for _, id := range n.live {
		n.want[id] = n.read(id)
	}
	n.audit("everything settles", func() bool {
		for _, id := range append(n.live, n.dead...) {
			if u, err := n.s.Unsettled(ctx, id); err != nil || u != 0 {
				return false
			}
		}
		return true
	}, keys.Denorm)
	for _, id := range n.dead {
		if err := n.s.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	n.audit("the deleted streams are torn down", func() bool { return n.markers(keys.Teardown) == 0 }, keys.Teardown)
	n.gone = fill(ctx, t, n.c, n.s, star, "gone", 50)
	if err := star.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := n.s.Delete(ctx, n.gone); err != nil {
		t.Fatal(err)
	}
	// What the chain's own duties do needs puts: their markers stand through the alarm.
	n.audit("the deleted stream's batch is resolved", func() bool { return n.markers(keys.Denorm) == 0 }, keys.Denorm)
	if r, m := n.count(keys.RefRange(n.gone, 0)), n.markers(keys.Reap); r == 0 || m < len(n.dead) || n.objects(n.dead...) != len(n.dead) {
		t.Fatalf("%d rows wait for their teardown, and %d reap-checks of %d objects for their grace", r, m, len(n.dead))
	}
}

// fillUp adds rows to the deleted stream, of the very form that its absorber wrote,
// until etcd raises its alarm.
func (n *outOfSpace) fillUp() {
	t := n.t
	var last core.Row
	from, end := keys.RefRange(n.gone, 0)
	if _, err := n.c.Rows(n.ctx, 0, from, end, func(r core.Row) error { last = r; return nil }); err != nil {
		t.Fatal(err)
	}
	row, err := format.DecodeRow(last.Val)
	if err != nil {
		t.Fatal(err)
	}
	m, err := n.c.metastore()
	if err != nil {
		t.Fatal(err)
	}
	span, rows, bytes := row.Spans[len(row.Spans)-1], 0, 0
	for {
		var ws []core.Write
		for range 64 {
			row.First, row.Spans = row.End, nil
			for range 96 {
				span.Chunk.First = row.End
				row.Spans, row.End = append(row.Spans, span), span.Chunk.End()
			}
			v := row.Encode()
			ws, bytes = append(ws, core.Put(keys.Ref(n.gone, row.End-1), v)), bytes+len(v)
		}
		r, err := m.Txn(n.ctx, ws)
		for try := 0; r.Outcome == core.Unknown && try < 20; try++ { // a busy machine: the same rows again
			r, err = m.Txn(n.ctx, ws)
		}
		if r.Outcome == core.NoSpace {
			break
		}
		if r.Outcome != core.OK || rows > 1e6 {
			t.Fatalf("%d rows: %v %v", rows, r.Outcome, err)
		}
		rows += len(ws)
	}
	if !n.refused() {
		t.Fatal("a small put still passes")
	}
	t.Logf("%d rows of %d bytes to the alarm", rows, bytes)
}

// refused reports whether etcd is out of space for the smallest put.
func (n *outOfSpace) refused() bool {
	n.t.Helper()
	m, err := n.c.metastore()
	if err != nil {
		n.t.Fatal(err)
	}
	for {
		r, err := m.Txn(n.ctx, []core.Write{core.If(core.Mark{Key: "probe", Rev: 1}), core.Put("probe", "x")})
		if r.Outcome != core.Unknown {
			return r.Outcome == core.NoSpace
		}
		if n.ctx.Err() != nil {
			n.t.Fatal(err)
		}
	}
}

// compacted reports whether the first revisions can no longer be read.
func (n *outOfSpace) compacted() bool {
	_, err := n.stack.Client().Get(n.ctx, "nova/", clientv3.WithRev(2), clientv3.WithCountOnly())
	return errors.Is(err, rpctypes.ErrCompacted)
}

// repair is what the operator does.
func (n *outOfSpace) repair() {
	t := n.t
	cl, err := clientv3.New(clientv3.Config{Endpoints: n.stack.Etcd, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cl.Close() }()
	status, err := cl.Status(n.ctx, n.stack.Etcd[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Compact(n.ctx, status.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Defragment(n.ctx, n.stack.Etcd[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.AlarmDisarm(n.ctx, &clientv3.AlarmMember{MemberID: status.Header.MemberId, Alarm: pb.AlarmType_NOSPACE}); err != nil {
		t.Fatal(err)
	}
	after, err := cl.Status(n.ctx, n.stack.Etcd[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("etcd's file had %d KiB and has %d KiB", status.DbSize>>10, after.DbSize>>10)
}

// audit runs some of the duties until something has come about.
func (n *outOfSpace) audit(what string, done func() bool, only ...keys.Queue) {
	n.t.Helper()
	h, err := n.c.newHost("builder", nil, n.c.Log, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	m := duty.Auditor{Queues: duty.Only(only...)}
	ctx, cancel := context.WithCancel(n.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.driver.Run(ctx, stepper(func(t core.Turn) bool { return m.Step(t, &h.env) }))
	}()
	n.until(what, done)
	cancel()
	<-ended
	if err := h.leave(n.ctx); err != nil {
		n.t.Fatal(err)
	}
}

// until waits for something, for as long as rows change: how fast they do is the
// machine's affair.
func (n *outOfSpace) until(what string, done func() bool) {
	n.t.Helper()
	began, moved, rev := time.Now(), time.Now(), int64(0)
	for !done() {
		if r := n.revision(); r != rev {
			moved, rev = time.Now(), r
		}
		if n.ctx.Err() != nil || time.Since(moved) > stuckAfter {
			all, _ := n.c.Markers(context.Background())
			n.t.Fatalf("%s: not within %v, and nothing has changed for %v; markers: %v", what, time.Since(began), time.Since(moved), all)
		}
		time.Sleep(20 * time.Millisecond)
	}
	n.t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
}

// stuckAfter is several read grace periods and longest backoffs.
const stuckAfter = time.Minute

func (n *outOfSpace) revision() int64 {
	r, err := n.stack.Client().Get(n.ctx, "none")
	if err != nil {
		return 0
	}
	return r.Header.Revision
}

// count is how many rows there are.
func (n *outOfSpace) count(from, end string) int {
	n.t.Helper()
	r, err := n.stack.Client().Get(n.ctx, "nova/"+from, clientv3.WithRange("nova/"+end), clientv3.WithCountOnly())
	if err != nil {
		n.t.Fatal(err)
	}
	return int(r.Count)
}

func (n *outOfSpace) markers(q keys.Queue) (all int) {
	n.t.Helper()
	for shard := range n.c.Dials.Shards {
		from, end := keys.DueAll(q, shard)
		all += n.count(from, end)
	}
	return all
}

// objects is how many of the streams have a settled object.
func (n *outOfSpace) objects(ids ...uint64) (all int) {
	n.t.Helper()
	for _, id := range ids {
		have := 0
		prefix := keys.StreamPrefix("b", id)
		if err := n.c.list(n.ctx, "nova-standard", func(it core.Item) {
			if strings.HasPrefix(it.Key, prefix) {
				have = 1
			}
		}); err != nil {
			n.t.Fatal(err)
		}
		all += have
	}
	return all
}

func (n *outOfSpace) read(id uint64) string {
	n.t.Helper()
	var b strings.Builder
	if _, err := n.s.Read(n.ctx, id, 0, 0, func(r Record) error { b.Write(r.Data); return nil }); err != nil {
		n.t.Fatal(err)
	}
	return b.String()
}
