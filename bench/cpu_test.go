//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpu is the time that all threads of the process have computed so far: other
// processes on the machine move it little, and the garbage collector's work counts.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
