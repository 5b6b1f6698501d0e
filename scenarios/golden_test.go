package scenarios_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"nova/scenarios/script"
)

// TestGolden plays every script of the folder golden. With -rewrite it writes what
// came of each command into the scripts anew: read what changed before it is
// committed.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("golden/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in golden: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := script.New()
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				out, err := s.Do(d.Cmd, arguments(d), strings.Split(d.Input, "\n"))
				if err != nil {
					t.Errorf("%s: %v\n%s", d.Pos, err, out)
				}
				if out == "" {
					out = "ok"
				}
				return out
			})
		})
	}
}

// arguments puts a command's arguments together again.
func arguments(d *datadriven.TestData) (args []string) {
	for _, a := range d.CmdArgs {
		if len(a.Vals) > 0 {
			args = append(args, a.Key+"="+strings.Join(a.Vals, ","))
		} else {
			args = append(args, a.Key)
		}
	}
	return args
}
