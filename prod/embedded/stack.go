package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// errStopped is the cause of a loss that has no other.
var errStopped = errors.New("it stopped by itself")

// Stack is a running pair of stores. Its fields are read-only.
type Stack struct {
	// S3 is the gateway's endpoint.
	S3 Endpoint
	// Etcd are client URLs, for processes that are not this one.
	Etcd []string
	// Dir is the data directory, absolute.
	Dir string

	home    string
	lock    *os.File
	etcd    *etcd
	gateway *gateway
	lost    chan error
	closing chan struct{}
	once    sync.Once
	err     error
}

// Start serves both stores from c.Dir, creates the buckets and returns when all
// of it answers, usually in under half a second. ctx bounds the start only;
// Close ends the stack. A directory that another stack serves is refused with
// ErrLocked, and so is a second stack in one process. Until Close the process's
// working directory is not the caller's: see the package comment.
func Start(ctx context.Context, c Config) (_ *Stack, err error) {
	if c, err = c.resolve(); err != nil {
		return nil, err
	}
	home, err := os.Getwd()
	if err != nil {
		home = c.Dir
	}
	if err := os.MkdirAll(c.s3Dir(), 0o755); err != nil {
		return nil, fmt.Errorf("create data directory %s: %w", c.s3Dir(), err)
	}
	s := &Stack{Dir: c.Dir, home: home, lost: make(chan error, 1), closing: make(chan struct{})}
	if s.lock, err = lockDir(c.Dir); err != nil {
		return nil, err
	}
	if err := s.serve(ctx, c); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	go s.watch()
	return s, nil
}

// serve starts the two servers side by side and creates the buckets.
func (s *Stack) serve(ctx context.Context, c Config) error {
	var etcdErr error
	etcdUp := make(chan struct{})
	go func() {
		defer close(etcdUp)
		s.etcd, etcdErr = startEtcd(ctx, c)
	}()
	var err error
	if s.gateway, err = startGateway(ctx, c); err == nil {
		s.S3 = Endpoint{URL: s.gateway.url, AccessKey: accessKey, SecretKey: secretKey, Region: region}
		err = createBuckets(ctx, s.S3, c.Buckets)
	}
	<-etcdUp
	if err := errors.Join(err, etcdErr); err != nil {
		return err
	}
	s.Etcd = []string{s.etcd.url}
	return nil
}

// Client calls etcd inside the process, without a socket: twice the
// transactions a second of a TCP client. All callers share it; Close closes it.
func (s *Stack) Client() *clientv3.Client { return s.etcd.client }

// Path resolves a path against the working directory that the caller had when
// it called Start.
func (s *Stack) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.home, name)
}

// Lost delivers one error if a server stops although nobody called Close. It is
// never closed. The stack is then of no more use than for Close.
func (s *Stack) Lost() <-chan error { return s.lost }

// watch turns the end of either server into an error on lost.
func (s *Stack) watch() {
	server, cause := "the S3 gateway", error(nil)
	select {
	case <-s.closing:
	case <-s.gateway.done:
		cause = s.gateway.err
	case cause = <-s.etcd.server.Err():
		server = "etcd"
	case <-s.etcd.server.Server.StopNotify():
		server = "etcd"
	}
	select {
	case <-s.closing: // before any server stopped, or as the reason that it did
		return
	default:
	}
	if cause == nil {
		cause = errStopped
	}
	s.lost <- fmt.Errorf("%s on %s is gone, start the stack again: %w", server, s.Dir, cause)
}

// Close stops both servers, gives the directory free and the working directory
// back. Close the clients of the stack first: a request in flight is waited for,
// up to ten seconds. Calling it again returns the first result.
func (s *Stack) Close() error {
	s.once.Do(func() { s.err = s.stop() })
	return s.err
}

// stop undoes as much of Start as was done.
func (s *Stack) stop() error {
	close(s.closing)
	etcdDown := make(chan struct{})
	go func() {
		defer close(etcdDown)
		if s.etcd != nil {
			s.etcd.close()
		}
	}()
	var gatewayErr error
	if s.gateway != nil {
		gatewayErr = s.gateway.close()
	}
	<-etcdDown
	if err := errors.Join(gatewayErr, s.lock.Close()); err != nil {
		return fmt.Errorf("close the stack on %s: %w", s.Dir, err)
	}
	return nil
}
