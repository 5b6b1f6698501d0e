package etcdmeta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	clientv3 "go.etcd.io/etcd/client/v3"

	"nova/core"
	"nova/prod/exec"
)

// Config says how the metastore is reached.
type Config struct {
	// Client calls etcd. The store does not close it.
	Client *clientv3.Client
	// Prefix stands before every key, "/nova/main/" say. It may be empty.
	Prefix string
	// SessionTTL is how long the process's leased keys outlive it: the dial.
	SessionTTL core.Ms
	// Log is told of transactions that break their contract and of lost leases;
	// nil is slog's default.
	Log *slog.Logger
}

// Store is a metastore. It implements exec.Metastore; all methods may be called
// from many goroutines.
type Store struct {
	client  *clientv3.Client
	prefix  string
	log     *slog.Logger
	session *session
}

var _ exec.Metastore = (*Store)(nil)

// Open makes a store. It sends nothing; the session's lease is granted when it is
// first needed, or by Join.
func Open(c Config) (*Store, error) {
	if c.Client == nil {
		return nil, errors.New("open the metastore: no etcd client given")
	}
	if c.SessionTTL <= 0 {
		return nil, fmt.Errorf("open the metastore: a session TTL of %d ms: use the dial", c.SessionTTL)
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	s := &Store{client: c.Client, prefix: c.Prefix, log: c.Log}
	s.session = newSession(c.Client, c.SessionTTL, c.Log)
	return s, nil
}

// Get reads rows in one transaction, at one revision: one reply for each key.
// There may be core.TxnOps of them at most.
func (s *Store) Get(ctx context.Context, keys []string) ([]core.Reply, error) {
	replies := make([]core.Reply, len(keys))
	ops := make([]clientv3.Op, len(keys))
	for i, k := range keys {
		ops[i] = clientv3.OpGet(s.prefix + k)
	}
	resp, err := s.client.Txn(ctx).Then(ops...).Commit()
	if err == nil && len(resp.Responses) != len(keys) {
		err = fmt.Errorf("get %d keys: %d answers", len(keys), len(resp.Responses))
	}
	if err != nil {
		for i := range replies {
			replies[i].Outcome = outcome(err)
		}
		return replies, fmt.Errorf("get %d keys: %w", len(keys), err)
	}
	for i := range keys {
		kvs := resp.Responses[i].GetResponseRange().GetKvs()
		if len(kvs) == 0 {
			replies[i].Outcome = core.Absent
			continue
		}
		replies[i] = core.Reply{Val: string(kvs[0].Value), Rev: kvs[0].ModRevision}
	}
	return replies, nil
}

// Scan reads at most limit rows of [from, end), ascending. An empty end is that of
// the store's prefix.
func (s *Store) Scan(ctx context.Context, from, end string, limit int) (core.Reply, error) {
	if limit < 1 || end != "" && end <= from {
		return core.Reply{Outcome: core.Refused}, fmt.Errorf("scan [%s, %s): empty, or a limit of %d", from, end, limit)
	}
	to := s.prefix + end
	if end == "" {
		to = clientv3.GetPrefixRangeEnd(s.prefix)
	}
	resp, err := s.client.Get(ctx, s.prefix+from, clientv3.WithRange(to), clientv3.WithLimit(int64(limit)))
	if err != nil {
		return core.Reply{Outcome: outcome(err)}, fmt.Errorf("scan [%s, %s): %w", from, end, err)
	}
	reply := core.Reply{Rows: make([]core.Row, len(resp.Kvs)), More: resp.More, Rev: resp.Header.GetRevision()}
	for i, kv := range resp.Kvs {
		reply.Rows[i] = core.Row{Mark: core.Mark{Key: string(kv.Key[len(s.prefix):]), Rev: kv.ModRevision}, Val: string(kv.Value)}
	}
	return reply, nil
}

// Txn applies a transaction, or nothing of it. One that breaks its contract is a
// bug of the core: it is refused before it is sent, and logged.
func (s *Store) Txn(ctx context.Context, ws []core.Write) (core.Reply, error) {
	if err := core.CheckTxn(ws); err != nil {
		s.log.Error("a transaction breaks its contract: this is a bug", "err", err, "txn", core.Txn(ws...).String())
		return core.Reply{Outcome: core.Refused}, err
	}
	lease, err := s.leaseFor(ctx, ws)
	if err != nil {
		return core.Reply{Outcome: outcome(err)}, err
	}
	var ifs []clientv3.Cmp
	var thens []clientv3.Op
	for i := range ws {
		w := &ws[i]
		key := s.prefix + w.At.Key
		switch w.Verb {
		case core.VIf:
			ifs = append(ifs, clientv3.Compare(clientv3.ModRevision(key), "=", w.At.Rev))
		case core.VPut:
			thens = append(thens, clientv3.OpPut(key, w.Val))
		case core.VPutLeased:
			thens = append(thens, clientv3.OpPut(key, w.Val, clientv3.WithLease(lease)))
		case core.VDel:
			thens = append(thens, clientv3.OpDelete(key))
		case core.VDelRange:
			thens = append(thens, clientv3.OpDelete(key, clientv3.WithRange(s.prefix+w.Val)))
		}
	}
	resp, err := s.client.Txn(ctx).If(ifs...).Then(thens...).Commit()
	if err != nil {
		s.session.refused(lease, err)
		return core.Reply{Outcome: outcome(err)}, fmt.Errorf("transaction of %d compares and %d writes: %w", len(ifs), len(thens), err)
	}
	if !resp.Succeeded {
		return core.Reply{Outcome: core.Conflict}, nil
	}
	return core.Reply{Rev: resp.Header.GetRevision()}, nil
}

// leaseFor is the session's lease if the transaction puts leased keys, else none.
func (s *Store) leaseFor(ctx context.Context, ws []core.Write) (clientv3.LeaseID, error) {
	for i := range ws {
		if ws[i].Verb == core.VPutLeased {
			return s.session.lease(ctx)
		}
	}
	return clientv3.NoLease, nil
}

// Watch calls wrote with the key of every row that is put in [from, end), until
// ctx ends: a hint that a queue has grown, never needed for anything but speed. A
// watch that broke is taken up again, with one call without a key for what it may
// have missed.
func (s *Store) Watch(ctx context.Context, from, end string, wrote func(key string)) {
	ctx = clientv3.WithRequireLeader(ctx)
	for ctx.Err() == nil {
		for resp := range s.client.Watch(ctx, s.prefix+from, clientv3.WithRange(s.prefix+end), clientv3.WithFilterDelete()) {
			for _, ev := range resp.Events {
				wrote(string(ev.Kv.Key[len(s.prefix):]))
			}
		}
		wait(ctx, sessionRetry)
		wrote("")
	}
}
