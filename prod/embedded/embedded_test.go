package embedded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const testBucket = "nova-standard-0"

// start runs a stack on dir and closes it at the test's end.
func start(t *testing.T, c Config) *Stack {
	t.Helper()
	c.Buckets = append(c.Buckets, testBucket)
	began := time.Now()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func putObject(t *testing.T, c *s3.Client, key, body string) {
	t.Helper()
	_, err := c.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(testBucket), Key: aws.String(key), Body: strings.NewReader(body), IfNoneMatch: aws.String("*"),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func wantObject(t *testing.T, c *s3.Client, key, want string) {
	t.Helper()
	out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(testBucket), Key: aws.String(key)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Body.Close() }()
	got, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("object %s holds %q, want %q", key, got, want)
	}
}

func wantKey(t *testing.T, c *clientv3.Client, key, want string) {
	t.Helper()
	out, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Kvs) != 1 || string(out.Kvs[0].Value) != want {
		t.Errorf("key %s holds %v, want %q", key, out.Kvs, want)
	}
}

func TestDataOutlivesTheStack(t *testing.T) {
	for _, sideCar := range []bool{false, true} {
		name := map[bool]string{false: "attributes", true: "side-car"}[sideCar]
		t.Run(name, func(t *testing.T) {
			home, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			s := start(t, Config{Dir: dir, SideCar: sideCar, NoFsync: true})
			if got := s.Path("x"); got != filepath.Join(home, "x") {
				t.Errorf("Path(x) = %s", got)
			}
			putObject(t, s.S3.Client(), "a/b", "bytes")
			if _, err := s.Client().Put(t.Context(), "k", "v"); err != nil {
				t.Fatal(err)
			}
			closeQuickly(t, s)
			if now, _ := os.Getwd(); now != home {
				t.Errorf("Close left the process in %s", now)
			}

			// SideCar is not given again: the directory remembers.
			s = start(t, Config{Dir: dir, NoFsync: true})
			wantObject(t, s.S3.Client(), "a/b", "bytes")
			wantKey(t, s.Client(), "k", "v")
			if _, err := os.Stat(filepath.Join(dir, "objmeta")); (err == nil) != sideCar {
				t.Errorf("side-car directory: %v", err)
			}
		})
	}
}

// closeQuickly fails the test when Close waits for something.
func closeQuickly(t *testing.T, s *Stack) {
	t.Helper()
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("closed in %v", took.Round(time.Millisecond))
	if took > 3*time.Second {
		t.Errorf("Close took %v", took)
	}
	select {
	case err := <-s.Lost():
		t.Errorf("Close was reported as a loss: %v", err)
	default:
	}
}

func TestEtcdOverTCP(t *testing.T) {
	s := start(t, Config{Dir: t.TempDir()})
	c, err := clientv3.New(clientv3.Config{Endpoints: s.Etcd})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := s.Client().Put(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	wantKey(t, c, "k", "v")
	// Close does not wait for a watch that a TCP client still has open.
	watch := c.Watch(t.Context(), "k", clientv3.WithRev(1))
	if ev := <-watch; ev.Err() != nil || len(ev.Events) != 1 {
		t.Fatalf("watch: %v %v", ev.Events, ev.Err())
	}
	closeQuickly(t, s)
}

func TestOneStackADirectory(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Config{Dir: dir, NoFsync: true})
	_, err := Start(t.Context(), Config{Dir: dir})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second Start on the directory: %v", err)
	}
	_, err = Start(t.Context(), Config{Dir: t.TempDir()})
	if err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("second Start in the process: %v", err)
	}
	putObject(t, s.S3.Client(), "still", "served")
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]Config{
		"no directory":    {},
		"negative quota":  {Dir: t.TempDir(), QuotaBytes: -1},
		"public address":  {Dir: t.TempDir(), S3Addr: "0.0.0.0:0"},
		"no port":         {Dir: t.TempDir(), EtcdAddr: "127.0.0.1"},
		"bad bucket name": {Dir: t.TempDir(), Buckets: []string{"UPPER"}, NoFsync: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Start(t.Context(), c)
			if err == nil {
				t.Error("started")
				_ = s.Close()
			}
		})
	}
	// A failed start leaves nothing behind that blocks the next one.
	s := start(t, Config{Dir: t.TempDir(), NoFsync: true})
	putObject(t, s.S3.Client(), "k", "v")
}

func TestStartHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx, Config{Dir: t.TempDir()}); err == nil {
		t.Error("started with a cancelled context")
		_ = s.Close()
	}
}

func TestPartCopyAndLostServer(t *testing.T) {
	s := start(t, Config{Dir: t.TempDir(), NoFsync: true})
	c := s.S3.Client()
	putObject(t, c, "source", string(bytes.Repeat([]byte("x"), 1024)))
	up, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(testBucket), Key: aws.String("copy")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{
		Bucket: aws.String(testBucket), Key: aws.String("copy"), UploadId: up.UploadId, PartNumber: aws.Int32(1),
		CopySource: aws.String(testBucket + "/source"), CopySourceRange: aws.String("bytes=0-99"),
	})
	if err != nil {
		t.Errorf("copy a part: %v", err)
	}
	s.gateway.cancel()
	select {
	case err := <-s.Lost():
		t.Log(err)
	case <-time.After(5 * time.Second):
		t.Error("a server that stopped was not reported")
	}
}

// TestSilence keeps `nova demo --json` parseable: nothing but the command itself
// may write to standard output.
func TestSilence(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	stdout := os.Stdout
	os.Stdout = f
	defer func() { os.Stdout = stdout }()
	for _, sideCar := range []bool{false, true} {
		s := start(t, Config{Dir: t.TempDir(), SideCar: sideCar, NoFsync: true})
		putObject(t, s.S3.Client(), "k", "v")
		closeQuickly(t, s)
	}
	said, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if len(said) > 0 {
		t.Errorf("printed %q", said)
	}
}
