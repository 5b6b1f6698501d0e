package etcdmeta_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"nova/core"
	"nova/prod/embedded"
	"nova/prod/etcdmeta"
)

var (
	stack *embedded.Stack
	over  *clientv3.Client // TCP
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "etcdmeta")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	stack, err = embedded.Start(context.Background(), embedded.Config{Dir: dir, NoFsync: true})
	if err != nil {
		panic(err)
	}
	defer stack.Close()
	if over, err = clientv3.New(clientv3.Config{Endpoints: stack.Etcd}); err != nil {
		panic(err)
	}
	defer over.Close()
	return m.Run()
}

var runs atomic.Int64 // so that -count may be more than 1

// both runs a test in the process and over TCP, each under a prefix of its own.
func both(t *testing.T, test func(t *testing.T, s *etcdmeta.Store, c *clientv3.Client, prefix string)) {
	for name, c := range map[string]*clientv3.Client{"inside": stack.Client(), "tcp": over} {
		t.Run(name, func(t *testing.T) {
			prefix := fmt.Sprintf("/%s/%d/", t.Name(), runs.Add(1))
			s := open(t, c, prefix, nil)
			defer s.Close(context.Background())
			test(t, s, c, prefix)
		})
	}
}

func open(t *testing.T, c *clientv3.Client, prefix string, log *slog.Logger) *etcdmeta.Store {
	t.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s, err := etcdmeta.Open(etcdmeta.Config{Client: c, Prefix: prefix, SessionTTL: 2000, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func txn(t *testing.T, s *etcdmeta.Store, want core.Outcome, ws ...core.Write) core.Reply {
	t.Helper()
	r, err := s.Txn(t.Context(), ws)
	if r.Outcome != want {
		t.Fatalf("%s: %s, not %s: %v", core.Txn(ws...), r.Outcome, want, err)
	}
	return r
}

func get(t *testing.T, s *etcdmeta.Store, key string) core.Row {
	t.Helper()
	rs, err := s.Get(t.Context(), []string{key})
	if err != nil {
		t.Fatal(err)
	}
	return rs[0].Row(key)
}

func TestGetScanTxn(t *testing.T) {
	both(t, func(t *testing.T, s *etcdmeta.Store, c *clientv3.Client, prefix string) {
		r := txn(t, s, core.OK, core.Missing("a"), core.Put("a", "1"), core.Put("b", "2"), core.Put("c", ""))
		if r.Rev == 0 {
			t.Error("no revision")
		}
		rs, err := s.Get(t.Context(), []string{"b", "x", "a", "b", "c"})
		b := core.Reply{Val: "2", Rev: r.Rev}
		if d := cmp.Diff([]core.Reply{b, {Outcome: core.Absent}, {Val: "1", Rev: r.Rev}, b, {Rev: r.Rev}}, rs); d != "" || err != nil {
			t.Error(d, err)
		}
		// Beside the prefix stands what is nobody's business.
		if _, err := c.Put(t.Context(), prefix[:len(prefix)-1]+"0", "other"); err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			from, end string
			limit     int
			keys      string
			more      bool
		}{{"a", "c", 9, "ab", false}, {"a", "d", 2, "ab", true}, {"aa", "d", 9, "bc", false}, {"d", "e", 9, "", false}, {"a", "", 9, "abc", false}} {
			r, err := s.Scan(t.Context(), x.from, x.end, x.limit)
			keys := ""
			for _, row := range r.Rows {
				keys += row.Key
			}
			if r.Outcome != core.OK || keys != x.keys || r.More != x.more {
				t.Errorf("%+v: %q %v %s %v", x, keys, r.More, r.Outcome, err)
			}
		}
		// Compares: the exact revision, or absence; nothing is applied otherwise.
		txn(t, s, core.Conflict, core.Missing("a"), core.Put("n", "x"))
		txn(t, s, core.Conflict, core.If(core.Mark{Key: "a", Rev: r.Rev + 1}), core.Put("n", "x"))
		txn(t, s, core.Conflict, core.If(core.Mark{Key: "x", Rev: r.Rev}), core.Put("n", "x"))
		if get(t, s, "n").Rev != 0 {
			t.Error("a lost transaction was applied")
		}
		r2 := txn(t, s, core.OK, core.If(core.Mark{Key: "a", Rev: r.Rev}), core.Put("a", "1"), core.Del("nothing"))
		if r2.Rev <= r.Rev || get(t, s, "a").Rev != r2.Rev {
			t.Error("the same value again has no new revision")
		}
		txn(t, s, core.OK, core.DelRange("a", "b\x00"), core.Put("b2", "v"))
		if get(t, s, "a").Rev != 0 || get(t, s, "b").Rev != 0 || get(t, s, "c").Rev == 0 || get(t, s, "b2").Val != "v" {
			t.Error("a range was not deleted, or too much of it")
		}
		txn(t, s, core.OK, core.Del("c"), core.Del("b2"))
		// As large as it may be.
		ws := []core.Write{}
		for i := range core.TxnOps {
			k := fmt.Sprintf("big%03d", i)
			ws = append(ws, core.Missing(k), core.Put(k, strings.Repeat("x", 10_000)))
		}
		txn(t, s, core.OK, ws...)
		txn(t, s, core.OK, core.Put("fat", strings.Repeat("x", core.TxnBytes-100)))
		ks := make([]string, core.TxnOps)
		for i := range ks {
			ks[i] = fmt.Sprintf("big%03d", i)
		}
		if rs, err := s.Get(t.Context(), ks); err != nil || len(rs[127].Val) != 10_000 {
			t.Error(err)
		}
	})
}

// A transaction that breaks its contract is refused before it is sent, loudly.
func TestContract(t *testing.T) {
	var out bytes.Buffer
	s := open(t, over, "/contract/", slog.New(slog.NewTextHandler(&out, nil)))
	ws := []core.Write{core.Put("a", "1"), core.DelRange("a", "b")}
	r, err := s.Txn(t.Context(), ws)
	if r.Outcome != core.Refused || !errors.Is(err, core.ErrTxn) || !strings.Contains(out.String(), "level=ERROR") {
		t.Error(r, err, out.String())
	}
	if _, err := etcdmeta.Open(etcdmeta.Config{}); err == nil {
		t.Error("opened without a client")
	}
	if _, err := etcdmeta.Open(etcdmeta.Config{Client: over}); err == nil {
		t.Error("opened without a TTL")
	}
	if r, err := s.Scan(t.Context(), "b", "a", 1); r.Outcome != core.Refused || err == nil {
		t.Error(r, err)
	}
}

func TestNoAnswer(t *testing.T) {
	both(t, func(t *testing.T, s *etcdmeta.Store, _ *clientv3.Client, _ string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if rs, err := s.Get(ctx, []string{"a", "b"}); rs[0].Outcome != core.Unknown || rs[1].Outcome != core.Unknown || err == nil {
			t.Error(rs, err)
		}
		if r, err := s.Scan(ctx, "a", "b", 1); r.Outcome != core.Unknown || err == nil {
			t.Error(r, err)
		}
		if r, err := s.Txn(ctx, []core.Write{core.Put("a", "1")}); r.Outcome != core.Unknown || err == nil {
			t.Error(r, err)
		}
		if r, err := s.Txn(ctx, []core.Write{core.PutLeased("a", "1")}); r.Outcome != core.Unknown || err == nil {
			t.Error(r, err)
		}
	})
	dead, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	s := open(t, dead, "", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if r, err := s.Txn(ctx, []core.Write{core.Put("a", "1")}); r.Outcome != core.Unknown || err == nil {
		t.Error(r, err)
	}
}

// One of sixteen wins, every time.
func TestRacers(t *testing.T) {
	both(t, func(t *testing.T, s *etcdmeta.Store, _ *clientv3.Client, _ string) {
		for round := range 10 {
			key := fmt.Sprint("k", round)
			var won, lost atomic.Int32
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					switch r, _ := s.Txn(t.Context(), []core.Write{core.Missing(key), core.Put(key, fmt.Sprint(i))}); r.Outcome {
					case core.OK:
						won.Add(1)
					case core.Conflict:
						lost.Add(1)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 || lost.Load() != 15 {
				t.Errorf("%d won, %d lost", won.Load(), lost.Load())
			}
		}
	})
}

func TestSession(t *testing.T) {
	both(t, func(t *testing.T, s *etcdmeta.Store, c *clientv3.Client, prefix string) {
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		txn(t, s, core.OK, core.PutLeased("lease/1", "me"), core.Put("plain", "x"))
		kv, err := c.Get(t.Context(), prefix+"lease/1")
		if err != nil || len(kv.Kvs) != 1 || kv.Kvs[0].Lease == 0 {
			t.Fatal(kv, err)
		}
		// The lease of a live process vanishes (C37).
		lease := clientv3.LeaseID(kv.Kvs[0].Lease)
		held := get(t, s, "lease/1")
		if _, err := c.Revoke(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		txn(t, s, core.Conflict, core.If(held.Mark), core.Put("committed", "under it"))
		r, _ := s.Txn(t.Context(), []core.Write{core.PutLeased("lease/1", "me again")})
		if r.Outcome != core.OK && r.Outcome != core.Refused { // Refused: before the loss was noticed
			t.Fatal(r.Outcome)
		}
		select {
		case l := <-s.Lost():
			if l.Lease != lease || l.Err == nil {
				t.Error(l)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no loss was told")
		}
		txn(t, s, core.OK, core.PutLeased("lease/2", "me again"))
		// A session that is kept alive outlives its TTL of two seconds.
		time.Sleep(2800 * time.Millisecond)
		if get(t, s, "lease/2").Rev == 0 {
			t.Error("the session was not kept alive")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if get(t, s, "lease/2").Rev != 0 || get(t, s, "plain").Rev == 0 {
			t.Error("closing left leased keys, or took others")
		}
		if r, _ := s.Txn(t.Context(), []core.Write{core.PutLeased("lease/3", "x")}); r.Outcome != core.Refused {
			t.Error(r.Outcome)
		}
	})
}

// C36: out of space, puts and leases are NoSpace, deletions pass.
func TestNoSpace(t *testing.T) {
	both(t, func(t *testing.T, s *etcdmeta.Store, c *clientv3.Client, _ string) {
		txn(t, s, core.OK, core.Put("a", "1"), core.Put("b", "2"))
		status, err := c.Status(t.Context(), stack.Etcd[0])
		if err != nil {
			// The client inside the process has no endpoint to ask: any other has.
			status, err = over.Status(t.Context(), stack.Etcd[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		alarm(t, status.Header.MemberId, true)
		defer alarm(t, status.Header.MemberId, false)
		txn(t, s, core.NoSpace, core.Put("c", "3"))
		txn(t, s, core.NoSpace, core.Missing("a"), core.Put("c", "3"))
		txn(t, s, core.NoSpace, core.PutLeased("l", "3"))
		if err := s.Join(t.Context()); !errors.Is(err, rpctypes.ErrNoSpace) {
			t.Error(err)
		}
		txn(t, s, core.OK, core.Del("a"))
		txn(t, s, core.OK, core.DelRange("b", "c"))
		if get(t, s, "a").Rev != 0 {
			t.Error("a was not deleted")
		}
		alarm(t, status.Header.MemberId, false)
		txn(t, s, core.OK, core.PutLeased("l", "3"))
	})
}

func TestWatch(t *testing.T) {
	both(t, func(t *testing.T, s *etcdmeta.Store, _ *clientv3.Client, _ string) {
		ctx, cancel := context.WithCancel(t.Context())
		nudged := make(chan string, 100)
		ended := make(chan struct{})
		go func() { s.Watch(ctx, "due/", "due0", func(key string) { nudged <- key }); close(ended) }()
		for i := 0; ; i++ {
			txn(t, s, core.OK, core.Put(fmt.Sprint("due/", i), ""), core.Put("other", ""))
			select {
			case key := <-nudged:
				if !strings.HasPrefix(key, "due/") {
					t.Errorf("nudged by %q", key)
				}
				cancel()
				<-ended
				return
			case <-time.After(50 * time.Millisecond):
			}
			if i == 100 {
				t.Fatal("never nudged")
			}
		}
	})
}

// alarm raises or lifts NOSPACE.
func alarm(t *testing.T, member uint64, up bool) {
	t.Helper()
	if up {
		raise(t, member)
		return
	}
	_, err := over.AlarmDisarm(context.Background(), &clientv3.AlarmMember{MemberID: member, Alarm: pb.AlarmType_NOSPACE})
	if err != nil {
		t.Fatal(err)
	}
}

func raise(t *testing.T, member uint64) {
	t.Helper()
	_, err := pb.NewMaintenanceClient(over.ActiveConnection()).Alarm(context.Background(),
		&pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: member, Alarm: pb.AlarmType_NOSPACE})
	if err != nil {
		t.Fatal(err)
	}
}
