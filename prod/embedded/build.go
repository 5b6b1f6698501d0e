package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// binary is a server that is built from a module that go.mod requires.
type binary struct {
	name, module, pkg string
}

var (
	etcdBinary    = binary{"etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"}
	versityBinary = binary{"versitygw", "github.com/versity/versitygw", "github.com/versity/versitygw/cmd/versitygw"}
)

// startDir is the working directory at the program's start, before a gateway
// moves the process: the go command must run inside the module.
var startDir, _ = os.Getwd()

// build returns the path of the server's executable. It is built once for each
// version, Go release and platform, and kept in nova-servers under the user's
// cache directory. Processes that want it at once wait for the one that builds.
func (b binary) build(ctx context.Context) (string, error) {
	version, err := goCommand(ctx, "list", "-m", "-f", "{{.Version}}", b.module)
	if err != nil {
		return "", fmt.Errorf("find the version of %s (run inside Nova's module): %w", b.module, err)
	}
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, strings.Join([]string{b.name, version, runtime.Version(), runtime.GOOS, runtime.GOARCH}, "-"))
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	lock, err := os.OpenFile(filepath.Join(dir, b.name+".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", fmt.Errorf("open the build lock of %s: %w", b.name, err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("take the build lock of %s: %w", b.name, err)
	}
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	half := exe + ".half"
	if _, err := goCommand(ctx, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", half, b.pkg); err != nil {
		return "", fmt.Errorf("build %s %s: %w", b.name, version, err)
	}
	if err := os.Rename(half, exe); err != nil {
		return "", fmt.Errorf("keep the built %s: %w", b.name, err)
	}
	return exe, nil
}

// cacheDir returns the directory that built servers are kept in, and makes it.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir() // no home directory, as in some CI containers
	}
	dir := filepath.Join(base, "nova-servers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the cache of built servers %s: %w", dir, err)
	}
	return dir, nil
}

// goCommand runs the go command where this program was started, and returns
// what it printed.
func goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = startDir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("go %s (is the go command on PATH?): %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
