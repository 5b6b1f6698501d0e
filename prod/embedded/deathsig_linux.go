package embedded

import "syscall"

// dieWithParent has the kernel kill a child when its parent dies, however the
// parent dies.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
