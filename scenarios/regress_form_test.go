package scenarios_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"nova/sim"
)

var rewrite = flag.Bool("rewrite", false, "bring the files of regress into the form of today, with the checksum of what they say")

// formed is a record's text with the first and the last line of today.
func formed(text []byte) []byte {
	text = bytes.TrimSuffix(text, []byte("\n"))
	lines := bytes.Split(text, []byte("\n"))
	lines[0] = []byte(sim.RecordVersion)
	if n := len(lines) - 1; bytes.Equal(lines[n], []byte("end")) || bytes.HasPrefix(lines[n], []byte("end ")) {
		lines = lines[:n]
	}
	out := append(bytes.Join(lines, []byte("\n")), '\n')
	return append(out, sim.RecordEnd(out)...)
}

// The files of regress are of the form of today, and nobody has edited one without
// its checksum. With -rewrite they are made so.
func TestRegressForm(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("regress", "*"+sim.RecordExt))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want := formed(text)
		if *rewrite {
			err = os.WriteFile(f, want, 0o644)
			text = want
		}
		if err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s is of another form, or was edited (%v): go test ./scenarios -run TestRegressForm -rewrite", f, err)
		}
	}
}
