package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// nova runs one command line in this process.
func nova(t *testing.T, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &o, &e)
	return code, o.String(), e.String()
}

// actAs makes the test's own binary act as nova: tests that kill it need a process
// of its own, and need not build it twice.
const actAs = "NOVA_TEST_ACT_AS_NOVA"

func TestMain(m *testing.M) {
	if os.Getenv(actAs) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is nova as a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), actAs+"=1")
	c.Dir = os.TempDir() // a demo in this process moves its working directory
	return c
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range [][]string{
		nil, {"demo"}, {"dev"}, {"star"}, {"auditor"}, {"cache"}, {"verify"}, {"node"}, {"node", "ls"}, {"node", "decommission"}, {"parked"}, {"parked", "ls"}, {"parked", "retry"}, {"sim"}, {"sim", "run"}, {"sim", "replay"}, {"sim", "shrink"}, {"sim", "mutants"},
		{"stream"}, {"stream", "create"}, {"stream", "ls"}, {"stream", "append"}, {"stream", "read"}, {"stream", "trim"}, {"stream", "delete"},
	} {
		code, out, errs := nova(t, "", append(c, "--help")...)
		if code != 0 || errs != "" || !strings.Contains(out, "Usage:") || len(out) < 80 {
			t.Errorf("nova %s --help: %d\n%s%s", strings.Join(c, " "), code, out, errs)
		}
	}
}

// A daemon's flags carry the specification's names and defaults: the whole table,
// for every command that belongs to a cluster. What the specification fixes as a
// constant has no flag.
func TestDaemonsHaveTheSpecificationsFlags(t *testing.T) {
	table := map[string]string{
		"auditor-read-grace":      "10m0s",
		"auditor-orphan-grace":    "1h0m0s",
		"auditor-markers-per-era": "1",
		"auditor-member-parallel": "8",
		"denorm-output-cap-mib":   "256",
		"denorm-linger":           "5m0s",
		"express-denorm-linger":   "5m0s",
		"denorm-age-cap":          "24h0m0s",
		"express-denorm-age-cap":  "1h0m0s",
		"object-cache-instances":  "[]",
	}
	for _, path := range [][]string{{"star"}, {"auditor"}, {"verify"}, {"node", "ls"}, {"node", "decommission"}, {"parked", "ls"}, {"parked", "retry"}} {
		c, rest, err := newRoot().Find(path)
		if err != nil || len(rest) > 0 {
			t.Fatalf("no command %q: %v", path, err)
		}
		got := map[string]string{}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, prefix := range []string{"auditor-", "denorm-", "express-denorm-", "object-cache-"} {
				if strings.HasPrefix(f.Name, prefix) {
					got[f.Name] = f.DefValue
				}
			}
		})
		if d := cmp.Diff(table, got); d != "" {
			t.Errorf("nova %s:\n%s", strings.Join(path, " "), d)
		}
	}
}

func TestWrongCommandLinesAreRefused(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"nonsense", 1, `unknown command "nonsense"`},
		{"star --nonsense", 2, "unknown flag: --nonsense"},
		{"star extra", 2, `unknown command "extra"`},
		{"star --auditor-read-grace 5m", 2, "these dials break a contract: read-plan TTL is 300000 ms"},
		{"auditor --auditor-read-grace 5m", 2, "the TTL must be at most half of the grace"},
		{"verify --auditor-orphan-grace 1m", 2, "orphan grace is 60000 ms and must exceed the request lifetime"},
		{"star --class gold", 2, `"gold" is no storage class: choose standard or express`},
		{"star --star=", 2, "star name"},
		{"star --log-level loud", 2, `--log-level "loud"`},
		{"auditor --log-format xml", 2, `--log-format "xml"`},
		{"auditor --fetch-cache-mib 0", 2, "--fetch-cache-mib is 0"},
		{"cache --s3 http://127.0.0.1:1 --cache-mib 0", 2, "--cache-mib is 0"},
		{"cache", 2, "--s3 is empty"},
		{"cache --s3 nowhere", 2, `"nowhere" is no address of an S3 endpoint`},
		{"star --slot-mib 0", 2, "--slot-mib 0"},
		{"stream trim a b", 2, `"b" is no sequence number`},
		{"stream read", 2, "accepts 1 arg(s), received 0"},
		{"stream ls --server http://", 2, "is no address of a star"},
		{"stream ls --server 127.0.0.1:1", 1, "does it run? --server names another"},
		{"verify --etcd http://127.0.0.1:1 --s3 http://127.0.0.1:1", 1, "does it run? --etcd names another"},
		{"demo --input /does/not/exist", 1, "input /does/not/exist does not exist"},
		{"parked retry", 2, "Give keys as nova parked ls prints them, or --all"},
		{"parked retry --all due/x", 2, "give keys or --all, not both"},
		{"parked retry due/x --duty reap", 2, "--duty goes with --all"},
		{"parked retry --all --duty nonsense", 2, `--duty "nonsense": give one of teardown, settle,`},
		{"parked ls --duty nonsense", 2, `--duty "nonsense"`},
		{"sim run --seeds 5..5", 2, `--seeds "5..5"`},
		{"sim run --seeds x", 2, `--seeds "x"`},
		{"sim run --plan nonsense", 2, "--plan: "},
		{"sim replay x", 2, `"x" is no seed`},
		{"sim shrink", 2, "accepts 1 arg(s)"},
	} {
		code, out, errs := nova(t, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("nova %s: %d, %q%q, want %d and %q", c.args, code, out, errs, c.code, c.says)
		}
	}
}

func TestSimRunsASeed(t *testing.T) {
	code, out, errs := nova(t, "", "sim", "run", "--seeds", "3..5", "--effects", "300")
	if code != 0 || !strings.Contains(out, "2 runs, ") || !strings.Contains(out, "; 0 broken") || !strings.Contains(out, "points cut before ") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	code, out, errs = nova(t, "", "sim", "run", "--seeds", "0..4", "--effects", "2000", "--at", "intent before put")
	if code != 0 || !strings.Contains(out, "crash table: intent-before-put=") || strings.Contains(out, "intent-before-put=0") {
		t.Errorf("at a row: %d\n%s%s", code, out, errs)
	}
	if code, out, errs = nova(t, "", "sim", "run", "--at", "nowhere"); code != 2 || !strings.Contains(errs, "no row of the crash table") {
		t.Errorf("at no row: %d\n%s%s", code, out, errs)
	}
	code, out, errs = nova(t, "", "sim", "replay", "3", "--effects", "300")
	if lines := strings.Count(out, "\n"); code != 0 || lines < 300 || !strings.Contains(out, "seed 3: ") {
		t.Errorf("replay: %d, %d lines\n%s", code, lines, errs)
	}
}
