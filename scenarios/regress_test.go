package scenarios_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nova/faults"
	"nova/sim"
	"nova/sim/story"
)

// regressed is every record of regress, by its file's name.
func regressed(t *testing.T) map[string]*sim.Record {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("regress", "*"+sim.RecordExt))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files in regress, %v", len(files), err)
	}
	recs := map[string]*sim.Record{}
	for _, f := range files {
		rec, err := sim.ReadRecord(f)
		if err != nil {
			t.Fatal(err)
		}
		recs[f] = rec
	}
	return recs
}

// What was found once is not found again: every law holds to the end of the run. A
// file half of which no longer fits says nothing any more, and is to be made anew.
func TestRegress(t *testing.T) {
	for path, rec := range regressed(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), sim.RecordExt), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(text, rec.Encode()) {
				t.Errorf("it is not written as it reads (%v)", err)
			}
			if rec.Breach == nil || rec.Tape != nil {
				t.Error("it is not the shrunk record of a breach")
			}
			x := sim.Replay(rec, sim.Nova, nil)
			if x.Report.Breach != nil {
				t.Errorf("%s", x.Says())
			}
			if f := x.Report.Fit; 2*len(f.Missing) > f.Lines {
				t.Errorf("it has gone stale: %s", f)
			}
		})
	}
}

// Each file names a bug that there is; where the bug is put into the source again,
// the file breaks its law, and tells its story in a few lines.
func TestRegressPlanted(t *testing.T) {
	root, err := faults.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := faults.Load(filepath.Join(root, "faults", "planted"))
	if err != nil {
		t.Fatal(err)
	}
	recs := regressed(t)
	bugs = slices.DeleteFunc(bugs, func(p faults.Planted) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(recs)), func(r *sim.Record) bool { return r.Planted == p.Name })
	})
	builds, err := faults.NewBuilds(t.Context(), root, t.TempDir(), bugs)
	if err != nil {
		t.Fatal(err)
	}
	laws := map[sim.Law]bool{}
	for path, rec := range recs {
		bug := slices.IndexFunc(bugs, func(p faults.Planted) bool { return p.Name == rec.Planted })
		if bug < 0 {
			t.Errorf("%s: it names no planted bug: %q", path, rec.Planted)
			continue
		}
		laws[rec.Breach.Law] = true
		awake, _, err := builds.Wake(t.Context(), bug)
		if err != nil {
			t.Fatal(err)
		}
		out, err := awake.Command(t.Context(), filepath.Join(root, "scenarios"), "replay", "-story", path).CombinedOutput()
		var code *exec.ExitError
		if !errors.As(err, &code) || code.ExitCode() != 1 || !strings.Contains(string(out), "breaks law "+string('0'+rune(rec.Breach.Law))) {
			t.Errorf("%s: with its bug it breaks nothing (%v):\n%s", path, err, out)
			continue
		}
		_, told, ok := strings.Cut(string(out), "\n\n")
		told, _, _ = strings.Cut(told, "planted passed")
		lines := strings.Split(strings.TrimSpace(told), "\n")
		events := 0
		for _, l := range lines {
			if f := strings.Fields(l); len(f) > 3 && strings.Trim(f[0], "0123456789") == "" {
				events++
			}
		}
		if !ok || len(lines) > story.MostLines || events == 0 || events > story.Most {
			t.Errorf("%s: %d lines, %d events:\n%s", path, len(lines), events, told)
		}
		t.Logf("%s\n%s", path, told)
	}
	if len(laws) < 5 {
		t.Errorf("files of %d laws only", len(laws))
	}
}
