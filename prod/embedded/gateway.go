package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/debuglogger"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

const (
	gatewayMaxConns = 4096     // and as many requests at once; beyond them it answers 503
	gatewayMaxParts = 10_000   // a multipart upload, as in S3
	gatewayMaxCopy  = 5 << 30  // bytes of one copy, as in S3; unset means that every copy is refused
	gatewayBuffer   = 64 << 10 // bytes of a request's copy buffer
	portTries       = 8        // free ports that another process may snatch before the gateway binds
)

// gatewayRuns is held while a gateway serves in this process: it keeps global
// state and owns the working directory.
var gatewayRuns sync.Mutex

// gateway is the S3 gateway in this process.
type gateway struct {
	url    string
	home   string // the working directory before it started; "" when there was none
	cancel context.CancelFunc
	done   chan struct{} // closed when it no longer serves
	err    error         // why, once done is closed; nil after close
}

// startGateway serves c.s3Dir until close, and returns once it is bound, or ctx
// ends. It moves the process into c.s3Dir. Refused while another gateway of this
// process runs.
func startGateway(ctx context.Context, c Config) (*gateway, error) {
	if !gatewayRuns.TryLock() {
		return nil, errors.New("start the S3 gateway: one already runs in this process: close its stack first, or run one as a process of its own")
	}
	home, err := os.Getwd()
	if err != nil {
		home = ""
	}
	g, err := bindGateway(ctx, c)
	if err != nil {
		leave(home)
		gatewayRuns.Unlock()
		return nil, err
	}
	g.home = home
	return g, nil
}

// bindGateway runs the gateway on c.S3Addr. The gateway cannot say which port it
// was given, so for port 0 a free one is picked first and another one tried
// should it be gone by then.
func bindGateway(ctx context.Context, c Config) (*gateway, error) {
	free := strings.HasSuffix(c.S3Addr, ":0")
	for try := 1; ; try++ {
		addr := c.S3Addr
		if free {
			var err error
			if addr, err = freePort(ctx, c.S3Addr); err != nil {
				return nil, err
			}
		}
		g, err := runGateway(ctx, c, addr)
		if err == nil || ctx.Err() != nil || !free || try == portTries {
			return g, err
		}
	}
}

// runGateway runs the gateway on one address and waits until it is bound.
func runGateway(ctx context.Context, c Config, addr string) (*gateway, error) {
	sideCar, err := sideCarDir(c)
	if err != nil {
		return nil, err
	}
	store, err := metadataStore(sideCar)
	if err != nil {
		return nil, err
	}
	if err := repair(c.s3Dir(), sideCar); err != nil {
		return nil, err
	}
	// The options leave SideCarDir out: it only makes posix.New print a line.
	backend, err := posix.New(c.s3Dir(), store, posix.PosixOpts{
		CopyObjectThreshold: gatewayMaxCopy,
		IOBufferSize:        gatewayBuffer,
		ForceNoObjLockFile:  true, // the directory's lock already keeps other processes out
	})
	if err != nil {
		return nil, fmt.Errorf("open S3 directory %s: %w", c.s3Dir(), err)
	}
	bound := make(chan struct{})
	run, cancel := context.WithCancel(context.Background())
	g := &gateway{url: "http://" + addr, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		g.err = embedgw.RunVersityGW(run, backend, &embedgw.Config{
			RootUserAccess:    accessKey,
			RootUserSecret:    secretKey,
			Region:            region,
			Ports:             []string{addr},
			MaxConnections:    gatewayMaxConns,
			MaxRequests:       gatewayMaxConns,
			MultipartMaxParts: gatewayMaxParts,
			KeepAlive:         true,
			Quiet:             true,
			LogLevel:          debuglogger.LevelSilent,
			DisableACLs:       true,
			// Left to itself it would print which accounts it knows.
			IAMService: auth.NewIAMServiceSingle(auth.Account{Access: accessKey, Secret: secretKey, Role: auth.RoleAdmin}),
			S3Options:  []s3api.Option{s3api.WithOnListen(func() { close(bound) })},
		})
	}()
	select {
	case <-bound:
		return g, nil
	case <-g.done:
		cancel()
		return nil, fmt.Errorf("serve S3 on %s from %s: %w", addr, c.s3Dir(), g.err)
	case <-ctx.Done():
		cancel()
		<-g.done
		return nil, fmt.Errorf("wait for S3 on %s to serve: %w", addr, ctx.Err())
	}
}

// close stops the gateway, waiting up to ten seconds for requests in flight, and
// brings the process back to the working directory that it had before.
func (g *gateway) close() error {
	g.cancel()
	<-g.done
	err := leave(g.home)
	gatewayRuns.Unlock()
	return errors.Join(g.err, err)
}

// leave changes the working directory back to home.
func leave(home string) error {
	if home == "" {
		return nil
	}
	if err := os.Chdir(home); err != nil {
		return fmt.Errorf("go back to working directory %s: %w", home, err)
	}
	return nil
}

// freePort returns addr with its port 0 replaced by one that was free just now.
func freePort(ctx context.Context, addr string) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("find a free port on %s: %w", addr, err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}
