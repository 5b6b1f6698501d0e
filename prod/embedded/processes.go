package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// serverReady bounds how long a server process may take until it answers.
const serverReady = 20 * time.Second

// ProcessConfig says how a server process is run. Its zero value is a fresh
// server on a free port with a temporary directory.
type ProcessConfig struct {
	// Dir is a data directory with the layout of Start's. With "" a temporary
	// one is used, and removed by Stop.
	Dir string
	// Addr is host:port on loopback, "" a free port. Give a stopped process's
	// Dir and Addr to bring it back where its clients look for it.
	Addr string
	// Buckets are created unless they exist (gateway only).
	Buckets []string
	// QuotaBytes is etcd's quota; 0 is its default of 2 GiB (etcd only).
	QuotaBytes int64
	// SideCar keeps object metadata in files (gateway only).
	SideCar bool
}

// Process is a server that runs as a process of its own. It dies with the
// process that started it.
type Process struct {
	// Addr is where it listens, host:port.
	Addr string
	// Dir is its data directory, absolute.
	Dir string

	cmd  *exec.Cmd
	temp bool
	done chan struct{}
}

// EtcdProcess is an etcd server of its own.
type EtcdProcess struct {
	Process
	// Etcd are its client URLs.
	Etcd []string
}

// VersityProcess is an S3 gateway of its own.
type VersityProcess struct {
	Process
	// S3 is its endpoint.
	S3 Endpoint
}

// StartEtcdProcess builds etcd if this version was not built before (most of a
// minute), starts it and waits until it serves. Tests call it, from inside the
// module. The caller stops it.
func StartEtcdProcess(ctx context.Context, pc ProcessConfig) (*EtcdProcess, error) {
	p, err := startProcess(ctx, etcdBinary, pc, "/health", func(c Config, addr string) ([]string, error) {
		return []string{
			"--name", "nova",
			"--data-dir", c.etcdDir(),
			"--listen-client-urls", "http://" + addr,
			"--advertise-client-urls", "http://" + addr,
			"--listen-peer-urls", "http://" + anyPort,
			"--initial-advertise-peer-urls", "http://" + anyPort,
			"--initial-cluster", "nova=http://" + anyPort,
			"--heartbeat-interval", strconv.Itoa(etcdTickMs),
			"--election-timeout", strconv.Itoa(etcdElectionMs),
			"--quota-backend-bytes", strconv.FormatInt(c.QuotaBytes, 10),
			"--auto-compaction-retention", etcdKeepHistory.String(),
			"--log-level", "error",
		}, nil
	})
	if err != nil {
		return nil, err
	}
	return &EtcdProcess{Process: p, Etcd: []string{"http://" + p.Addr}}, nil
}

// StartVersityProcess builds the S3 gateway if this version was not built before
// (a minute or more), starts it, waits until it serves and creates the buckets.
// Tests call it, from inside the module. The caller stops it.
func StartVersityProcess(ctx context.Context, pc ProcessConfig) (*VersityProcess, error) {
	p, err := startProcess(ctx, versityBinary, pc, "/health", func(c Config, addr string) ([]string, error) {
		sideCar, err := sideCarDir(c)
		if err != nil {
			return nil, err
		}
		if err := repair(c.s3Dir(), sideCar); err != nil {
			return nil, err
		}
		args := []string{
			"--access", accessKey, "--secret", secretKey, "--region", region,
			"--port", addr, "--health", "/health",
			"--keep-alive", "--quiet", "--disable-acl",
			"posix", "--io-buffer-size", strconv.Itoa(gatewayBuffer),
		}
		if sideCar != "" {
			args = append(args, "--sidecar", sideCar)
		}
		return append(args, c.s3Dir()), nil
	})
	if err != nil {
		return nil, err
	}
	v := &VersityProcess{Process: p, S3: Endpoint{URL: "http://" + p.Addr, AccessKey: accessKey, SecretKey: secretKey, Region: region}}
	if err := createBuckets(ctx, v.S3, pc.Buckets); err != nil {
		return nil, errors.Join(err, v.Stop())
	}
	return v, nil
}

// Stop kills the process (SIGKILL) and waits for its end; a temporary directory
// goes too. Calling it again does nothing.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Kill() // fails only when it is dead
	<-p.done
	if !p.temp {
		return nil
	}
	if err := os.RemoveAll(p.Dir); err != nil {
		return fmt.Errorf("remove the temporary directory %s: %w", p.Dir, err)
	}
	return nil
}

// PID is the process's id, for signals such as SIGSTOP.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended, whoever ended it.
func (p *Process) Done() <-chan struct{} { return p.done }

// startProcess builds the server, runs it with args, and waits until it answers
// 200 on health. A free port may be gone by the time the server binds it, so
// then another one is tried.
func startProcess(ctx context.Context, b binary, pc ProcessConfig, health string, args func(Config, string) ([]string, error)) (Process, error) {
	exe, err := b.build(ctx)
	if err != nil {
		return Process{}, err
	}
	p := Process{Dir: pc.Dir}
	if p.Dir == "" {
		if p.Dir, err = os.MkdirTemp("", "nova-"+b.name+"-"); err != nil {
			return Process{}, fmt.Errorf("create a temporary directory for %s: %w", b.name, err)
		}
		p.temp = true
	}
	undo := func(err error) (Process, error) {
		if p.temp {
			err = errors.Join(err, os.RemoveAll(p.Dir))
		}
		return Process{}, err
	}
	c, err := Config{Dir: p.Dir, S3Addr: pc.Addr, QuotaBytes: pc.QuotaBytes, SideCar: pc.SideCar}.resolve()
	if err != nil {
		return undo(err)
	}
	p.Dir = c.Dir
	if err := os.MkdirAll(c.s3Dir(), 0o755); err != nil {
		return undo(fmt.Errorf("create data directory %s: %w", c.s3Dir(), err))
	}
	for try := 1; ; try++ {
		if p.Addr = pc.Addr; p.Addr == "" {
			if p.Addr, err = freePort(ctx, anyPort); err != nil {
				return undo(err)
			}
		}
		line, err := args(c, p.Addr)
		if err != nil {
			return undo(err)
		}
		err = p.run(ctx, exe, line, "http://"+p.Addr+health)
		if err == nil {
			return p, nil
		}
		if ctx.Err() != nil || pc.Addr != "" || try == 3 {
			return undo(fmt.Errorf("start %s on %s in %s: %w", b.name, p.Addr, p.Dir, err))
		}
	}
}

// run starts the process and waits until it answers on url. Its output goes to
// {dir}/{binary}.log, whose end is part of the error.
func (p *Process) run(ctx context.Context, exe string, args []string, url string) error {
	name := filepath.Join(p.Dir, filepath.Base(exe)+".log")
	log, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("create log file: %w", err)
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(exe, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.Dir, log, log
	p.cmd.SysProcAttr = dieWithParent()
	p.done = make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// The kernel ties the child's life to the thread that forked it, so this
		// one is kept until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("run %s: %w", exe, err)
	}
	ctx, cancel := context.WithTimeout(ctx, serverReady)
	defer cancel()
	if err := p.answers(ctx, url); err != nil {
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%w; its log ends: %s", err, tail(name))
	}
	return nil
}

// answers polls url until it says 200, the process ends, or ctx does.
func (p *Process) answers(ctx context.Context, url string) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.done:
			return fmt.Errorf("the server ended: %s", p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to answer: %w", url, ctx.Err())
		case <-ticker.C:
		}
	}
}

// tail returns the last kilobyte of a file, for an error message.
func tail(name string) string {
	const keep = 1 << 10
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-keep):])
}
