package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// daemonOf starts a command, waits until its output has what is looked for, and
// returns what the expressions' groups matched. It is terminated at the end, and
// must then end well.
func daemonOf(t *testing.T, args []string, want ...string) (c *exec.Cmd, found []string) {
	t.Helper()
	c = command(t, args...)
	text := &watched{want: "\x00", seen: make(chan struct{})}
	c.Stdout, c.Stderr = text, text
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	stop := func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("nova %s: %v\n%s", args[0], err, text)
			}
		case <-time.After(30 * time.Second):
			_ = c.Process.Kill()
			t.Errorf("nova %s did not end\n%s", args[0], text)
		}
	}
	for deadline := time.Now().Add(30 * time.Second); len(found) < len(want); {
		found = found[:0]
		for _, w := range want {
			if m := regexp.MustCompile(w).FindStringSubmatch(text.String()); m != nil {
				found = append(found, m[1])
			}
		}
		if len(found) == len(want) {
			break
		}
		if time.Now().After(deadline) {
			stop()
			t.Fatalf("nova %s does not say %q:\n%s", args[0], want, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Cleanup(stop)
	return c, found
}

// The daemons and the client as processes of their own, over the stores of nova dev.
func TestDaemons(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	_, at := daemonOf(t, []string{"dev", "--data", data, "--listen", "127.0.0.1:0"},
		`--server (\S+)`, `--etcd (\S+)`, `--s3 (\S+)`, `AWS_ACCESS_KEY_ID=(\S+)`, `AWS_SECRET_ACCESS_KEY=(\S+)`)
	dev, on := at[0], []string{"--etcd", at[1], "--s3", at[2], "--local-dials"}
	t.Setenv("AWS_ACCESS_KEY_ID", at[3])
	t.Setenv("AWS_SECRET_ACCESS_KEY", at[4])
	_, cache := daemonOf(t, []string{"cache", "--s3", at[2], "--listen", "127.0.0.1:0"}, `for="S3 clients" address=(\S+)`)
	daemonOf(t, append([]string{"auditor", "--auditor", "third", "--metrics-listen", "127.0.0.1:0", "--object-cache-instances", "http://" + cache[0]}, on...), `msg=(auditing)`)
	star, at := daemonOf(t, append([]string{"star", "--star", "extra", "--listen", "127.0.0.1:0"}, on...), `for=clients address=(\S+)`)
	extra := at[0]

	does := func(stdin string, want int, says string, args ...string) string {
		t.Helper()
		code, out, errs := nova(t, stdin, args...)
		if code != want || !strings.Contains(out+errs, says) {
			t.Errorf("nova %s: %d\n%s%swant %d and %q", strings.Join(args, " "), code, out, errs, want, says)
		}
		return out
	}
	does("", 0, "created default/a/b", "stream", "create", "a/b", "--server", dev)
	does("", 1, "the address is taken", "stream", "create", "a/b", "--server", extra)
	does("one\n\nthree", 0, "appended 3 records, sequence numbers from 0, the next is 3", "stream", "append", "a/b", "--server", extra)
	does("four\n", 0, "the next is 4", "stream", "append", "a/b", "--server", extra)
	if out := does("", 0, "", "stream", "read", "a/b", "--server", extra); out != "one\n\nthree\nfour\n" {
		t.Errorf("read back %q", out)
	}
	does("", 0, `{"seq":3,"time_ms":`, "stream", "read", "a/b", "--from", "3", "--json", "--server", dev)
	does("", 0, "extra", "stream", "ls", "--server", dev)
	does("", 0, "", "stream", "trim", "a/b", "2", "--server", dev)
	does("", 1, "trimmed: the stream begins at 2", "stream", "read", "a/b", "--server", dev)
	does("", 1, "beyond the end, which is at 4", "stream", "trim", "a/b", "9", "--server", dev)
	does("", 1, "no such stream", "stream", "append", "none", "--server", dev)
	does("", 0, "created default/x", "stream", "create", "x", "--class", "express", "--server", extra)
	does("x\n", 1, "no star of that class runs here", "stream", "append", "x", "--server", extra)
	does("x\n", 0, "appended 1 records", "stream", "append", "x", "--server", dev)
	does("", 0, "every law holds", append([]string{"verify"}, on...)...)
	does("", 0, `"ok": true`, append([]string{"verify", "--json"}, on...)...)
	does("", 0, "extra ", append([]string{"node", "ls"}, on...)...)
	does("", 0, "REASON", append([]string{"parked", "ls"}, on...)...)
	does("", 0, "[]", append([]string{"parked", "ls", "--json", "--duty", "reap"}, on...)...)
	does("", 1, "no such marker is parked", append([]string{"parked", "retry", "due/reap/x"}, on...)...)
	does("", 0, "0 stay parked", append([]string{"parked", "retry", "--all"}, on...)...)
	does("", 1, "it is not drained", append([]string{"node", "decommission", "--star", "extra"}, on...)...)
	does("", 1, "no such star", append([]string{"node", "decommission", "--star", "nobody"}, on...)...)

	// A star that is told to end hands its streams back: another leads them at once.
	if err := star.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	does("five\n", 0, "sequence numbers from 4, the next is 5", "stream", "append", "a/b", "--server", dev)
	does("", 1, "in the way: ", append([]string{"node", "decommission", "--star", "extra", "--json=false"}, on...)...)
	does("", 0, "", "stream", "delete", "a/b", "--server", dev)
	does("", 1, "no such stream", "stream", "read", "a/b", "--server", dev)
}
