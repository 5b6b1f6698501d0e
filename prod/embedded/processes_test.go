package embedded

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestEtcdProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a server")
	}
	dir := t.TempDir()
	addr := ""
	for round := range 2 { // the second on the first's directory and address
		began := time.Now()
		p, err := StartEtcdProcess(t.Context(), ProcessConfig{Dir: dir, Addr: addr, QuotaBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("ready in %v", time.Since(began).Round(time.Millisecond))
		defer func() { _ = p.Stop() }()
		c, err := clientv3.New(clientv3.Config{Endpoints: p.Etcd})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if round == 0 {
			if _, err := c.Put(t.Context(), "k", "v"); err != nil {
				t.Fatal(err)
			}
		}
		wantKey(t, c, "k", "v")
		addr = p.Addr
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
	}
}

func TestVersityProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a server")
	}
	for _, sideCar := range []bool{false, true} {
		began := time.Now()
		p, err := StartVersityProcess(t.Context(), ProcessConfig{Buckets: []string{testBucket}, SideCar: sideCar})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("ready in %v", time.Since(began).Round(time.Millisecond))
		putObject(t, p.S3.Client(), "a/b", "bytes")
		wantObject(t, p.S3.Client(), "a/b", "bytes")
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(p.Dir); !os.IsNotExist(err) {
			t.Errorf("the temporary directory is still there: %v", err)
		}
	}
}

// TestKilled runs this test binary as a child that serves a stack and owns a
// server process, kills it, and expects the directory to start again with what
// was acknowledged, and the server process to be gone.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("NOVA_TEST_SERVE"); dir != "" {
		serveUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.short="+strconv.FormatBool(testing.Short()))
	cmd.Env = append(os.Environ(), "NOVA_TEST_SERVE="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := waitFor(t, filepath.Join(dir, "serving"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	s := start(t, Config{Dir: dir})
	wantObject(t, s.S3.Client(), "k", "v")
	wantKey(t, s.Client(), "k", "v")
	if pid, err := strconv.Atoi(said); err == nil && pid != 0 {
		deadline := time.Now().Add(5 * time.Second)
		for syscall.Kill(pid, 0) == nil && !zombie(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("server process %d outlived its parent", pid)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// zombie reports whether a process has ended and only waits to be reaped, as
// orphans do for ever where no init adopts them.
func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(b), ") Z ")
}

// serveUntilKilled writes the process id of its server process, or 0, to
// {dir}/serving when all is up.
func serveUntilKilled(t *testing.T, dir string) {
	s := start(t, Config{Dir: dir})
	putObject(t, s.S3.Client(), "k", "v")
	if _, err := s.Client().Put(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	pid := 0
	if !testing.Short() {
		p, err := StartEtcdProcess(t.Context(), ProcessConfig{Dir: filepath.Join(dir, "own")})
		if err != nil {
			t.Fatal(err)
		}
		pid = p.PID()
	}
	name := filepath.Join(dir, "serving")
	if err := os.WriteFile(name+".new", []byte(strconv.Itoa(pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
}

// waitFor returns what a file holds once it is there.
func waitFor(t *testing.T, name string) string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		b, err := os.ReadFile(name)
		if err == nil {
			return string(b)
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
