package daemon

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func readLines(t testing.TB, r io.Reader) (all []string) {
	t.Helper()
	l := NewLines(r)
	for {
		line, err := l.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3*lineBuffer+17)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"an empty file", "", nil},
		{"one empty line", "\n", []string{""}},
		{"a last line without a newline", "a\nb", []string{"a", "b"}},
		{"empty lines are records", "a\n\n\nb\n", []string{"a", "", "", "b"}},
		{"a carriage return is a byte like any other", "a\r\nb\r", []string{"a\r", "b\r"}},
		{"no text at all", "\x00\xff\n\xfe", []string{"\x00\xff", "\xfe"}},
		{"a line beyond the buffer", long + "\nb\n", []string{long, "b"}},
		{"a last line beyond the buffer", "a\n" + long, []string{"a", long}},
		{"a line that fills the buffer", strings.Repeat("y", lineBuffer) + "\n", []string{strings.Repeat("y", lineBuffer)}},
		{"a line that fills it with its newline", strings.Repeat("y", lineBuffer-1) + "\n", []string{strings.Repeat("y", lineBuffer-1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, readLines(t, strings.NewReader(c.text))); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.want, readLines(t, iotest.HalfReader(strings.NewReader(c.text)))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLinesJoinedAreTheText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[ab\n]{0,40}`).Draw(rt, "text")
		got := strings.Join(readLines(t, strings.NewReader(text)), "\n")
		if strings.HasSuffix(text, "\n") {
			got += "\n"
		}
		if got != text {
			rt.Fatalf("%q came back as %q", text, got)
		}
	})
}

func TestALineBeyondEveryRecordIsRefused(t *testing.T) {
	l := NewLines(io.LimitReader(endless{}, MaxRecord+1))
	if _, err := l.Next(); err == nil || !strings.Contains(err.Error(), "line 1 is longer than 64 MiB") {
		t.Fatalf("a line of %d bytes: %v", MaxRecord+1, err)
	}
	l = NewLines(io.LimitReader(endless{}, MaxRecord))
	if line, err := l.Next(); err != nil || len(line) != MaxRecord {
		t.Fatalf("a line of %d bytes: %d bytes, %v", MaxRecord, len(line), err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'z'
	}
	return len(p), nil
}

func TestAFailingFileIsReported(t *testing.T) {
	broken := errors.New("the disk has gone")
	l := NewLines(iotest.TimeoutReader(iotest.ErrReader(broken)))
	if _, err := l.Next(); !errors.Is(err, broken) {
		t.Fatalf("%v, want the reader's error", err)
	}
}
