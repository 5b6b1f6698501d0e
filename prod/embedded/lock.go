package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockName is the file under a data directory that its user holds a flock on.
const lockName = "nova.lock"

// ErrLocked is wrapped by Start's error when another stack serves the directory.
var ErrLocked = errors.New("the data directory is in use")

// lockDir takes the exclusive lock of a data directory; closing the file that it
// returns lets go of it. The kernel lets go when the process dies, however it
// dies, so a file left behind means nothing. The holder's process id is written
// into it only for the error that the next one gets.
func lockDir(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock file %s: %w", name, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 64))
		_ = f.Close()
		return nil, fmt.Errorf("%w: %s belongs to the running process %s: stop it first, or give another directory (--data)",
			ErrLocked, dir, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s (the file system must support flock): %w", name, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write lock file %s: %w", name, err)
	}
	return f, nil
}
