package scenarios_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"nova/core"
	"nova/prod/embedded"
	"nova/prod/etcdmeta"
	"nova/prod/exec"
	"nova/prod/s3store"
	"nova/scenarios"
	"nova/sim/world"
)

// blob is the suite's blob: the simulator's, so that both kinds of host have the
// same bytes.
var blob = sync.OnceValue(func() string {
	b := world.BlobRange(1, 0, scenarios.BlobSize)
	return b.Read(0, b.Size())
})

var buckets = [2]core.Store{"alpha", "beta"}

// conform runs every case, each under a prefix of its own.
func conform(t *testing.T, h scenarios.Host, now func() core.Ms, partMin int64) {
	for i, c := range scenarios.Cases() {
		t.Run(strings.ReplaceAll(c.Name, " ", "-"), func(t *testing.T) {
			c.Run(t, scenarios.Setting{Host: h, Stores: buckets, Prefix: fmt.Sprintf("c%02d/", i), Now: now, PartMin: partMin,
				Blob: func(off, n int64) string { return blob()[off : off+n] }})
		})
	}
}

// simulated is the simulator's world as a host: one operation after the other,
// admitted when it lands.
type simulated struct {
	mu      sync.Mutex
	w       *world.World
	now     core.Ms
	session int
}

func (s *simulated) id() string { return fmt.Sprint("session-", s.session) }

func (s *simulated) Do(op core.Op) core.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	if op.Kind == core.KStage { // the driver's own affair
		return core.Reply{}
	}
	s.w.Meta.Grant(s.id(), 1<<60)
	return s.w.Apply(&op, world.When{Now: s.now, Admitted: s.now, Session: s.id()})
}

func (s *simulated) Now() core.Ms {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *simulated) EndSession() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.Revoke(s.id())
	s.session++
}

func (s *simulated) SetNoSpace(up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.Meta.SetNoSpace(up)
}

func TestWorldConforms(t *testing.T) {
	for _, repeat := range []core.Outcome{core.OK, core.Exists, core.Absent} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("repeat=%s,late=%v", repeat, late), func(t *testing.T) {
				l := world.LimitsOf(new(core.Spec()))
				l.PartMin = 4096
				h := &simulated{now: 1_000_000, w: world.New(l, world.Dialect{RepeatComplete: repeat, LateParts: late}, buckets[:]...)}
				conform(t, h, h.Now, l.PartMin)
			})
		}
	}
}

// real is the production driver over some servers.
type real struct {
	t      *testing.T
	driver *exec.Driver
	client *clientv3.Client
	admin  *clientv3.Client
	meta   *meta
}

// meta is the metastore of a process that can lose its session and get another.
type meta struct {
	mu sync.Mutex
	at *etcdmeta.Store
}

func (m *meta) now() *etcdmeta.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *meta) Get(ctx context.Context, keys []string) ([]core.Reply, error) {
	return m.now().Get(ctx, keys)
}

func (m *meta) Scan(ctx context.Context, from, end string, limit int) (core.Reply, error) {
	return m.now().Scan(ctx, from, end, limit)
}

func (m *meta) Txn(ctx context.Context, ws []core.Write) (core.Reply, error) {
	return m.now().Txn(ctx, ws)
}

func (r *real) Do(op core.Op) core.Reply { return r.driver.Do(context.Background(), op) }

func (r *real) open() *etcdmeta.Store {
	s, err := etcdmeta.Open(etcdmeta.Config{Client: r.client, Prefix: "/conform/", SessionTTL: 5000, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *real) EndSession() {
	next := r.open()
	r.meta.mu.Lock()
	defer r.meta.mu.Unlock()
	if err := r.meta.at.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
	r.meta.at = next
}

func (r *real) SetNoSpace(up bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if !up {
		if _, err := r.admin.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
			r.t.Error(err)
		}
		return
	}
	members, err := r.admin.MemberList(ctx)
	if err != nil {
		r.t.Error(err)
		return
	}
	_, err = pb.NewMaintenanceClient(r.admin.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE,
		MemberID: members.Members[0].ID, Alarm: pb.AlarmType_NOSPACE})
	if err != nil {
		r.t.Error(err)
	}
}

type blobs struct{}

func (blobs) Blob(uint64) ([]byte, bool) { return []byte(blob()), true }

type sinks struct{}

func (sinks) Put(int, []byte) error { return nil }

// newReal makes the driver. client calls etcd the way that is to be tested,
// endpoints are for the administration.
func newReal(t *testing.T, client *clientv3.Client, endpoints []string, s3 s3store.Config, names [2]string) *real {
	t.Helper()
	admin, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	if client == nil {
		client = admin
	}
	r := &real{t: t, client: client, admin: admin}
	r.meta = &meta{at: r.open()}
	t.Cleanup(func() { _ = r.meta.now().Close(context.Background()) })
	end, err := s3store.Connect(s3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end.Close)
	d := core.Spec()
	o := exec.Options{Dials: d, Meta: r.meta, Stores: map[core.Store]exec.ObjectStore{}, Blobs: blobs{}, Sinks: sinks{}, Log: slog.New(slog.DiscardHandler)}
	for i, b := range buckets {
		s, err := end.Store(b, s3store.Bucket{Name: names[i]})
		if err != nil {
			t.Fatal(err)
		}
		can, err := s.Probe(t.Context())
		if err != nil || !can.Copyable || !can.MultiDelete {
			t.Fatalf("probe of %s: %+v %v", names[i], can, err)
		}
		o.Stores[b] = s
	}
	if r.driver, err = exec.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.driver.Close)
	return r
}

func wall() core.Ms { return core.Ms(time.Now().UnixMilli()) }

func config(e embedded.Endpoint) s3store.Config {
	return s3store.Config{URL: e.URL, Region: e.Region, AccessKey: e.AccessKey, SecretKey: e.SecretKey}
}

var names = [2]string{"alpha", "beta-1"}

func TestEmbeddedConforms(t *testing.T) {
	dir, err := os.MkdirTemp("", "conform")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	stack, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Buckets: names[:], NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	conform(t, newReal(t, stack.Client(), stack.Etcd, config(stack.S3), names), wall, core.Spec().PartMin)
}

func TestProcessesConform(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs two servers")
	}
	for _, sideCar := range []bool{false, true} {
		t.Run(fmt.Sprintf("sidecar=%v", sideCar), func(t *testing.T) {
			etcd, err := embedded.StartEtcdProcess(t.Context(), embedded.ProcessConfig{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = etcd.Stop() })
			s3, err := embedded.StartVersityProcess(t.Context(), embedded.ProcessConfig{Buckets: names[:], SideCar: sideCar})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s3.Stop() })
			conform(t, newReal(t, nil, etcd.Etcd, config(s3.S3), names), wall, core.Spec().PartMin)
		})
	}
}

// TestServerConforms runs the suite against a server of your own: any S3 at
// NOVA_S3_URL with the keys NOVA_S3_ACCESS and NOVA_S3_SECRET, in the two buckets
// of NOVA_S3_BUCKETS (comma-separated; they are created, and should be empty).
// seaweed.sh does that for SeaweedFS.
func TestServerConforms(t *testing.T) {
	url := os.Getenv("NOVA_S3_URL")
	if url == "" {
		t.Skip("NOVA_S3_URL is not set")
	}
	e := embedded.Endpoint{URL: url, AccessKey: os.Getenv("NOVA_S3_ACCESS"), SecretKey: os.Getenv("NOVA_S3_SECRET"), Region: "us-east-1"}
	own := names
	if b := strings.Split(os.Getenv("NOVA_S3_BUCKETS"), ","); len(b) == 2 {
		own = [2]string{b[0], b[1]}
	}
	etcd, err := embedded.StartEtcdProcess(t.Context(), embedded.ProcessConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Stop() })
	for _, b := range own {
		if err := create(t.Context(), e, b); err != nil {
			t.Fatal(err)
		}
	}
	conform(t, newReal(t, nil, etcd.Etcd, config(e), own), wall, core.Spec().PartMin)
}
