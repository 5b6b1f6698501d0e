package embedded

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
)

// The gateway's one account. It is no secret: the gateway listens on loopback
// only, beside an etcd that asks for no password at all. The access key is the
// owner that buckets remember, so it must not change between runs.
const (
	accessKey = "nova"
	secretKey = "nova-on-loopback"
	region    = "us-east-1"
)

// anyPort is the address of a server whose port the kernel chooses.
const anyPort = "127.0.0.1:0"

// Config says what Start serves. Only Dir is required.
type Config struct {
	// Dir holds everything that the stack keeps. It is created when missing; a
	// relative path counts from the working directory at the call.
	Dir string
	// Buckets are created unless they exist, by S3's rules for names.
	Buckets []string
	// QuotaBytes is the size at which etcd raises NOSPACE; 0 is etcd's default
	// of 2 GiB.
	QuotaBytes int64
	// S3Addr and EtcdAddr are host:port on loopback; "" is a free port.
	S3Addr, EtcdAddr string
	// NoFsync stops etcd from syncing its log: several times the transactions a
	// second, still safe against SIGKILL, not against a power cut.
	NoFsync bool
	// SideCar keeps object metadata in files even where the file system has
	// extended attributes. A directory that once was started so stays so.
	SideCar bool
}

// Endpoint is how an S3 client reaches a gateway: path-style addressing over
// plain HTTP.
type Endpoint struct {
	URL, AccessKey, SecretKey, Region string
}

// resolve returns c with absolute paths and its defaults filled in, or an error
// that says which field is wrong.
func (c Config) resolve() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("embedded: no data directory given: set Config.Dir (--data)")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("make data directory %q absolute: %w", c.Dir, err)
	}
	c.Dir = dir
	if c.QuotaBytes < 0 {
		return c, fmt.Errorf("embedded: etcd quota of %d bytes is negative: use 0 for the default", c.QuotaBytes)
	}
	if c.S3Addr, err = loopback(c.S3Addr); err != nil {
		return c, fmt.Errorf("check the S3 address: %w", err)
	}
	if c.EtcdAddr, err = loopback(c.EtcdAddr); err != nil {
		return c, fmt.Errorf("check the etcd address: %w", err)
	}
	return c, nil
}

// loopback returns addr, or anyPort for "", and refuses an address that other
// machines could reach, since neither server asks for a real password.
func loopback(addr string) (string, error) {
	if addr == "" {
		return anyPort, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("split %q into host and port: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("%q is not a loopback address: use 127.0.0.1:PORT", addr)
	}
	return addr, nil
}

func (c Config) etcdDir() string { return filepath.Join(c.Dir, "etcd") }
func (c Config) s3Dir() string   { return filepath.Join(c.Dir, "s3") }

// metaDir is the side-car directory. The gateway's program takes any path that
// begins with the text of s3Dir for one inside it, so "s3meta" would not do.
func (c Config) metaDir() string { return filepath.Join(c.Dir, "objmeta") }
