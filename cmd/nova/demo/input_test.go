package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInputsThatCannotBeAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		files []string
		says  string
	}{
		{[]string{filepath.Join(dir, "none")}, "does not exist"},
		{[]string{dir}, "is no regular file"},
		{[]string{file, file}, "is given twice"},
		{[]string{file, dir + "/./a.txt"}, "is given twice"},
		{[]string{strings.Repeat("long/", 300)}, "stream name has"},
	} {
		if _, err := inputs(c.files); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60q: %v, want an error that says %q", c.files, err, c.says)
		}
	}
	t.Chdir(dir)
	all, err := inputs([]string{"./a.txt"})
	if err != nil || all[0].name != "a.txt" || all[0].path != file {
		t.Errorf("%+v, %v", all, err)
	}
	t.Chdir("/") // as the stack does
	if r, err := all[0].open(); err != nil {
		t.Error(err)
	} else {
		_ = r.Close()
	}
}
