package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"nova/cmd/nova/demo"
	"nova/core"
	"nova/prod/daemon"
	"nova/prod/embedded"
	"nova/prod/s3store"
)

// openWithin bounds the opening of a cluster: every store is probed.
const openWithin = time.Minute

// clusterFlags say which cluster a process belongs to.
type clusterFlags struct {
	dials             dialFlags
	etcd              []string
	prefix            string
	user, password    string
	ca, cert, key     string
	endpoint, region  string
	hostStyle         bool
	standard, express []string
	directory         bool
	local             bool
}

func (c *clusterFlags) register(f *pflag.FlagSet) {
	f.StringSliceVar(&c.etcd, "etcd", []string{"http://127.0.0.1:2379"}, "client addresses of etcd")
	f.StringVar(&c.prefix, "etcd-prefix", demo.Prefix, "what stands before every key in etcd: one for each cluster")
	f.StringVar(&c.user, "etcd-user", "", "user name for etcd")
	f.StringVar(&c.password, "etcd-password", "", "and its password")
	f.StringVar(&c.ca, "etcd-ca", "", "file with the certificate authority that etcd's certificate is checked against")
	f.StringVar(&c.cert, "etcd-cert", "", "file with this client's certificate")
	f.StringVar(&c.key, "etcd-key", "", "file with the key of --etcd-cert")
	f.StringVar(&c.endpoint, "s3", "", "address of the S3 endpoint (none: AWS); credentials come from AWS_ACCESS_KEY_ID and its kin")
	f.StringVar(&c.region, "s3-region", "us-east-1", "region that requests are signed for")
	f.BoolVar(&c.hostStyle, "s3-host-style", false, "the bucket goes into the host name, not into the path")
	f.StringSliceVar(&c.standard, "standard-bucket", demo.Buckets[core.Standard], "buckets of the standard class: the first is the home of settled objects, up to three hold a chain's slots; the same in every process")
	f.StringSliceVar(&c.express, "express-bucket", demo.Buckets[core.Express], "buckets of the express class")
	f.BoolVar(&c.directory, "express-directory", false, "the express buckets are S3 directory buckets")
	f.BoolVar(&c.local, "local-dials", false, "the short dials of nova dev and nova demo, for a process beside them; no other dial's flag counts then")
	c.dials.register(f)
}

// chosen is the dials, or why they are refused.
func (c *clusterFlags) chosen() (core.Dials, error) {
	if c.local {
		return daemon.Local(), nil
	}
	return c.dials.dials()
}

// cluster is an opened cluster and what must be closed with it.
type cluster struct {
	*daemon.Cluster
	close func() error
}

// open connects to etcd and S3 and opens the cluster on them.
func (c *clusterFlags) open(ctx context.Context, dials core.Dials, log *slog.Logger) (*cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	etcd, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	s3, err := c.s3(ctx)
	var caches aws.CredentialsProvider
	if err == nil {
		caches, err = cacheCredentials()
	}
	if err == nil {
		var cl *daemon.Cluster
		cl, err = daemon.Open(ctx, daemon.Config{
			Etcd: etcd, Prefix: c.prefix, S3: s3,
			Buckets:   [core.Classes][]string{core.Standard: c.standard, core.Express: c.express},
			Directory: c.directory, Caches: c.dials.caches, CacheCredentials: caches, Dials: dials, Log: log,
		})
		if err == nil {
			return &cluster{cl, func() error { cl.Close(); return etcd.Close() }}, nil
		}
	}
	return nil, errors.Join(err, etcd.Close())
}

// opened opens the cluster for the work of one command: check looks at the
// command's own flags first (nil: there is nothing to look at).
func (c *clusterFlags) opened(ctx context.Context, cmd *cobra.Command, logs *logFlags, check func() error, work func(on *cluster, log *slog.Logger) error) error {
	log, err := logs.logger()
	if err == nil && check != nil {
		err = check()
	}
	var dials core.Dials
	if err == nil {
		dials, err = c.chosen()
	}
	if err != nil {
		return usage(cmd, err)
	}
	on, err := c.open(ctx, dials, log)
	if err != nil {
		return err
	}
	defer func() { _ = on.close() }()
	return work(on, log)
}

// inSession is opened, with a session of the cluster's that ends with the work.
func (c *clusterFlags) inSession(ctx context.Context, cmd *cobra.Command, logs *logFlags, check func() error, work func(s *daemon.Session) error) error {
	return c.opened(ctx, cmd, logs, check, func(on *cluster, _ *slog.Logger) error {
		s, err := on.NewSession(nil)
		if err != nil {
			return err
		}
		err = work(s)
		end, cancel := graceful(ctx)
		defer cancel()
		return errors.Join(err, s.Close(end))
	})
}

func (c *clusterFlags) connect(ctx context.Context) (*clientv3.Client, error) {
	cfg := clientv3.Config{
		Endpoints: c.etcd, Username: c.user, Password: c.password, DialTimeout: 5 * time.Second,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second, Logger: zap.NewNop(),
	}
	if c.ca != "" || c.cert != "" {
		tls, err := transport.TLSInfo{CertFile: c.cert, KeyFile: c.key, TrustedCAFile: c.ca}.ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("read the certificates for etcd: %w", err)
		}
		cfg.TLS = tls
	}
	cl, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", strings.Join(c.etcd, ", "), err)
	}
	ask, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := cl.Get(ask, c.prefix, clientv3.WithCountOnly()); err != nil {
		return nil, errors.Join(fmt.Errorf("ask etcd at %s (does it run? --etcd names another): %w", strings.Join(c.etcd, ", "), err), cl.Close())
	}
	return cl, nil
}

func (c *clusterFlags) s3(ctx context.Context) (s3store.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(c.region))
	if err != nil {
		return s3store.Config{}, fmt.Errorf("read the configuration of AWS: %w", err)
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return s3store.Config{}, fmt.Errorf("find credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", err)
	}
	return s3store.Config{URL: c.endpoint, Region: c.region, Credentials: cfg.Credentials, HostStyle: c.hostStyle}, nil
}

// openData starts the embedded stack on a directory and opens the cluster there.
func openData(ctx context.Context, cfg embedded.Config, log *slog.Logger) (*cluster, *embedded.Stack, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("make data directory %s absolute: %w", cfg.Dir, err)
	}
	cfg.Dir, cfg.Buckets = dir, demo.AllBuckets()
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	stack, err := embedded.Start(ctx, cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("start the stores: %w", err)
	}
	cl, err := demo.OpenLocal(ctx, stack, daemon.Local(), log)
	if err != nil {
		return nil, nil, errors.Join(err, stack.Close())
	}
	return &cluster{cl, func() error { cl.Close(); return stack.Close() }}, stack, nil
}
