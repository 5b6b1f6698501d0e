package embedded

import (
	"context"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// One member elects itself, so its timers can be short: it is ready in tens of
// milliseconds, and lease TTLs are honoured down to a second.
const (
	etcdTickMs     = 10
	etcdElectionMs = 100
	// etcdKeepHistory is how long revisions stay readable: far longer than a
	// watcher lags, short enough that a stack left running does not fill up.
	etcdKeepHistory = 5 * time.Minute
	// etcdGoAway is how long connected clients get to end their calls.
	etcdGoAway = 50 * time.Millisecond
)

// etcd is an etcd server in this process.
type etcd struct {
	server *embed.Etcd
	client *clientv3.Client // calls the server without a socket
	url    string
}

// startEtcd starts a member on c.etcdDir and waits until it serves, or ctx ends.
// The error of a directory that another etcd holds, or of a port that is taken,
// is etcd's own.
func startEtcd(ctx context.Context, c Config) (*etcd, error) {
	cfg := embed.NewConfig()
	cfg.Name = "nova"
	cfg.Dir = c.etcdDir()
	cfg.TickMs, cfg.ElectionMs = etcdTickMs, etcdElectionMs
	cfg.Logger, cfg.LogLevel, cfg.LogOutputs = "zap", "fatal", []string{"stderr"}
	cfg.QuotaBackendBytes = c.QuotaBytes
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModePeriodic, etcdKeepHistory.String()
	cfg.UnsafeNoFsync = c.NoFsync
	cfg.EnableGRPCGateway = false
	client := url.URL{Scheme: "http", Host: c.EtcdAddr}
	peer := url.URL{Scheme: "http", Host: anyPort}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd on %s in %s: %w", c.EtcdAddr, cfg.Dir, err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err = <-server.Err():
	case <-server.Server.StopNotify():
		err = context.Canceled
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("wait for etcd in %s to serve: %w", cfg.Dir, err)
	}
	return &etcd{
		server: server,
		client: v3client.New(server.Server),
		url:    "http://" + server.Clients[0].Addr().String(),
	}, nil
}

// close stops the server and frees its directory. Clients that are still
// connected are first told to go away, then their watches are ended: in any
// other order they open new ones, which embed.Etcd.Close waits five seconds for.
func (e *etcd) close() {
	_ = e.client.Close() // says "context canceled" when all is well
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.server.Close()
	}()
	select {
	case <-closed:
	case <-time.After(etcdGoAway):
		e.server.Server.Stop()
		<-closed
	}
}
