//go:build !linux

package embedded

import "syscall"

// dieWithParent does nothing here: a child outlives a parent that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }
