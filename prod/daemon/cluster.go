package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	clientv3 "go.etcd.io/etcd/client/v3"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/prod/etcdmeta"
	"nova/prod/exec"
	"nova/prod/journal"
	"nova/prod/s3store"
)

// Config says which cluster a process belongs to.
type Config struct {
	// Etcd calls the metastore; the cluster does not close it.
	Etcd *clientv3.Client
	// Prefix stands before every key, "nova/" say.
	Prefix string
	// S3 is the endpoint that serves all buckets.
	S3 s3store.Config
	// Buckets are the S3 buckets of each class. The first of a class is the home
	// of its settled objects; up to three hold a chain's slots. Both classes need
	// at least one.
	Buckets [core.Classes][]string
	// Directory marks the express buckets as S3 directory buckets.
	Directory bool
	// Caches are addresses of the instances of an object cache that deletes go
	// through (prod/cache), the same list for all who use it. CacheCredentials sign
	// for them; nil are those of S3.
	Caches           []string
	CacheCredentials aws.CredentialsProvider
	Dials            core.Dials
	Log              *slog.Logger
}

// Cluster is an opened metastore and opened stores, with what every process of a
// cluster must agree on: which stores serve a class, and the generation.
type Cluster struct {
	Dials      core.Dials
	Stores     core.Stores
	Generation uint32
	Log        *slog.Logger
	// Journal records every machine that is started from now on; nil records none. It
	// is its opener's to close, once nothing of the cluster runs any more.
	Journal *journal.Journal

	etcd    *clientv3.Client
	prefix  string
	s3      *s3store.Endpoint
	caches  []*s3store.Endpoint
	objects map[core.Store]exec.ObjectStore
}

// Now is the clock of every process of production: the wall clock in ms.
func Now() core.Ms { return core.Ms(time.Now().UnixMilli()) }

// Open opens a cluster: it probes every store for what Nova cannot do without,
// and reads the generation, or begins it. It refuses dials that break a contract,
// and a store that lacks an ability, naming it.
func Open(ctx context.Context, c Config) (*Cluster, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if err := c.Dials.Check(); err != nil {
		return nil, fmt.Errorf("open the cluster: %w", err)
	}
	if c.Etcd == nil {
		return nil, errors.New("open the cluster: no etcd client given")
	}
	if c.S3.Now == nil {
		c.S3.Now = Now
	}
	end, err := s3store.Connect(c.S3)
	if err != nil {
		return nil, fmt.Errorf("open the cluster: %w", err)
	}
	cl := &Cluster{Dials: c.Dials, Log: c.Log, etcd: c.Etcd, prefix: c.Prefix, s3: end, objects: map[core.Store]exec.ObjectStore{}}
	if err := cl.openStores(ctx, &c); err != nil {
		return nil, err
	}
	if cl.Generation, err = cl.generation(ctx); err != nil {
		return nil, err
	}
	return cl, nil
}

// openStores opens every bucket as the store of its own name, and probes it.
func (c *Cluster) openStores(ctx context.Context, from *Config) error {
	if err := c.connectCaches(from); err != nil {
		return err
	}
	for class, buckets := range from.Buckets {
		if len(buckets) == 0 {
			return fmt.Errorf("open the cluster: no bucket for class %s: give it at least one", core.Class(class))
		}
		for _, b := range buckets {
			name := core.Store(b)
			c.Stores.Of[class] = append(c.Stores.Of[class], name)
			if _, ok := c.objects[name]; ok {
				continue
			}
			bucket := s3store.Bucket{Name: b, Express: from.Directory && core.Class(class) == core.Express}
			s, err := c.s3.Store(name, bucket)
			if err != nil {
				return fmt.Errorf("open the cluster: %w", err)
			}
			if _, err := s.Probe(ctx); err != nil {
				return fmt.Errorf("open the cluster: %w", err)
			}
			if c.objects[name], err = c.behindCaches(from, s, name, bucket); err != nil {
				return err
			}
		}
	}
	return nil
}

// generation reads the cluster's generation, or begins with 1.
func (c *Cluster) generation(ctx context.Context) (uint32, error) {
	m, err := c.metastore()
	if err != nil {
		return 0, err
	}
	for {
		rows, err := m.Get(ctx, []string{keys.GenerationKey})
		switch {
		case err != nil:
			return 0, fmt.Errorf("read the cluster's generation from etcd: %w", err)
		case rows[0].Outcome == core.OK:
			n, err := format.DecodeNumber(rows[0].Val)
			if err != nil || n == 0 || n > 1<<32-1 {
				return 0, fmt.Errorf("read the cluster's generation: row %s holds %q: is %q the prefix of a cluster?", keys.GenerationKey, rows[0].Val, c.prefix)
			}
			return uint32(n), nil
		}
		r, err := m.Txn(ctx, []core.Write{core.Missing(keys.GenerationKey), core.Put(keys.GenerationKey, format.EncodeNumber(1))})
		if err != nil && r.Outcome != core.Unknown {
			return 0, fmt.Errorf("begin the cluster's generation: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("begin the cluster's generation: %w", err)
		}
	}
}

// Close drops the connections to the stores. Nothing of the cluster may be running
// any more; the etcd client is its owner's to close.
func (c *Cluster) Close() {
	for _, end := range c.caches {
		end.Close()
	}
	c.s3.Close()
}

// metastore is a metastore with a session of its own. It sends nothing yet.
func (c *Cluster) metastore() (*etcdmeta.Store, error) {
	return etcdmeta.Open(etcdmeta.Config{Client: c.etcd, Prefix: c.prefix, SessionTTL: c.Dials.SessionTTL, Log: c.Log})
}

// process names one start of one process: no other has this name, ever.
func process(id string) string { return id + "-" + strings.ToLower(rand.Text()[:10]) }

// host is what every process of production has: a session of its own, a driver,
// and the environment of its machines.
type host struct {
	env    core.Env
	meta   *etcdmeta.Store
	driver *exec.Driver
	tally  *Tally
}

// newHost makes a host for the process id. change may adjust the driver's
// options.
func (c *Cluster) newHost(id string, tally *Tally, log *slog.Logger, change func(*exec.Options)) (*host, error) {
	meta, err := c.metastore()
	if err != nil {
		return nil, err
	}
	if tally == nil {
		tally = &Tally{}
	}
	o := exec.Options{Dials: c.Dials, Meta: meta, Stores: c.objects, Now: Now, OnNote: noted(tally, log), Log: log}
	if change != nil {
		change(&o)
	}
	d, err := exec.New(o)
	if err != nil {
		return nil, err
	}
	env := core.Env{Dials: c.Dials, Stores: c.Stores, Process: process(id), Generation: c.Generation}
	return &host{env: env, meta: meta, driver: d, tally: tally}, nil
}

// leave ends the host: what it holds by lease goes at once, so that others need
// not wait. Nothing of it may be running any more.
func (h *host) leave(ctx context.Context) error {
	h.driver.Close()
	return h.meta.Close(ctx)
}

// die ends the host as a crash would: what it holds by lease stays until the
// lease runs out.
func (h *host) die() {
	h.driver.Close()
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.meta.Close(gone) // its only failure is that the lease was not revoked
}

// Markers counts the markers that stand, by queue, ripe or not.
func (c *Cluster) Markers(ctx context.Context) (map[string]int64, error) {
	all := map[string]int64{}
	for q := range keys.Queue(keys.Queues) {
		from, _ := keys.DueAll(q, 0)
		_, end := keys.DueAll(q, keys.Shards-1)
		resp, err := c.etcd.Get(ctx, c.prefix+from, clientv3.WithRange(c.prefix+end), clientv3.WithCountOnly())
		if err != nil {
			return nil, fmt.Errorf("count the markers of queue %s: %w", q, err)
		}
		all[q.String()] = resp.Count
	}
	return all, nil
}
