package etcdmeta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"nova/core"
)

// sessionRetry is the pause after which a lease that could not be had, or a
// watch that broke, is tried again.
const sessionRetry = 200 * time.Millisecond

// grantWithin bounds one request for a lease.
const grantWithin = 5 * time.Second

// Loss tells that the session's lease went although nobody closed it: the keys
// that were put under it are gone.
type Loss struct {
	Lease clientv3.LeaseID
	Err   error
}

// session owns the process's lease: one at a time, kept alive from the moment
// that somebody needs it until Close.
type session struct {
	client *clientv3.Client
	ttl    int64 // seconds
	log    *slog.Logger
	lost   chan Loss
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	id    clientv3.LeaseID // NoLease: none stands
	grant chan struct{}    // closed when the request in flight has ended; nil: none is
	err   error            // why the last request failed
}

func newSession(client *clientv3.Client, ttl core.Ms, log *slog.Logger) *session {
	s := &session{client: client, ttl: max(1, int64(ttl+999)/1000), log: log, lost: make(chan Loss, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// lease is the lease that stands, or a new one. It waits for it until ctx ends.
// Its error has the outcome of the transaction that wanted the lease: NoSpace
// when etcd has none for leases, otherwise Unknown.
func (s *session) lease(ctx context.Context) (clientv3.LeaseID, error) {
	s.mu.Lock()
	if s.id != clientv3.NoLease {
		defer s.mu.Unlock()
		return s.id, nil
	}
	if s.ctx.Err() != nil {
		defer s.mu.Unlock()
		return clientv3.NoLease, fmt.Errorf("take the session's lease: the session is closed: %w", rpctypes.ErrLeaseNotFound)
	}
	if s.grant == nil {
		s.grant = make(chan struct{})
		s.wg.Go(s.take)
	}
	done := s.grant
	s.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return clientv3.NoLease, fmt.Errorf("wait for the session's lease: %w", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == clientv3.NoLease {
		return clientv3.NoLease, fmt.Errorf("take the session's lease: %w", s.err)
	}
	return s.id, nil
}

// take asks for a lease once, and begins to keep it alive.
func (s *session) take() {
	ctx, cancel := context.WithTimeout(s.ctx, grantWithin)
	defer cancel()
	resp, err := s.client.Grant(ctx, s.ttl)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.grant)
	s.grant, s.err = nil, err
	if err == nil {
		s.id = resp.ID
		s.wg.Go(func() { s.keep(resp.ID) })
	}
}

// keep keeps a lease alive until it is lost or the session closes.
func (s *session) keep(id clientv3.LeaseID) {
	alive, err := s.client.KeepAlive(s.ctx, id)
	if err == nil {
		for range alive { //nolint:revive // its answers say nothing but that it stands
		}
		err = errors.New("it was not kept alive in time, or revoked")
	}
	s.drop(id, err)
}

// refused looks at why a transaction under a lease failed: the server may know
// earlier than the keep-alive that the lease has gone.
func (s *session) refused(id clientv3.LeaseID, err error) {
	if id != clientv3.NoLease && etcdError(err) == rpctypes.ErrLeaseNotFound {
		s.drop(id, err)
	}
}

// drop forgets a lease that is lost, and tells once.
func (s *session) drop(id clientv3.LeaseID, err error) {
	s.mu.Lock()
	mine := s.id == id
	if mine {
		s.id = clientv3.NoLease
	}
	s.mu.Unlock()
	if !mine || s.ctx.Err() != nil {
		return
	}
	s.log.Warn("the session's lease is lost, and its keys with it", "lease", int64(id), "err", err)
	select {
	case s.lost <- Loss{Lease: id, Err: err}:
	default: // an earlier loss was not read yet: the reader learns enough from that
	}
}

// Join takes the session's lease now rather than at the first leased put.
func (s *Store) Join(ctx context.Context) error {
	_, err := s.session.lease(ctx)
	return err
}

// Lost delivers a loss of the session's lease. The next leased put takes a new
// one; what stood under the old is gone, and its holders learn it by compare. It
// is never closed.
func (s *Store) Lost() <-chan Loss { return s.session.lost }

// Close ends the session: it stops keeping its lease alive and revokes it, so
// that the process's leased keys go at once. To die like a crash, drop the store
// instead. The client stays open.
func (s *Store) Close(ctx context.Context) error {
	s.session.mu.Lock()
	id := s.session.id
	s.session.id = clientv3.NoLease
	s.session.cancel()
	s.session.mu.Unlock()
	s.session.wg.Wait()
	if id == clientv3.NoLease {
		return nil
	}
	if _, err := s.session.client.Revoke(ctx, id); err != nil {
		return fmt.Errorf("revoke the session's lease: its keys go within its TTL: %w", err)
	}
	return nil
}

// wait sleeps for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
