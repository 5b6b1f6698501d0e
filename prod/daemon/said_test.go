package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"nova/core"
)

// OR7: a reclaimed orphan is in the log under the specification's words; what an
// operator has to look at is there too; what is only counted is not.
func TestWhatIsSaid(t *testing.T) {
	var out bytes.Buffer
	tally := &Tally{}
	note := noted(tally, slog.New(slog.NewTextHandler(&out, nil)))
	for _, x := range []struct {
		n    core.Note
		says string
	}{
		{core.Note{Kind: core.NoteOrphanReclaimed, N: 1, Key: "data/b/x"}, `level=INFO msg="reclaim: orphan reclaimed" of=data/b/x count=1`},
		{core.Note{Kind: core.NoteLost, N: 7, Key: "data/b/y"}, "level=ERROR msg=\"records are lost"},
		{core.Note{Kind: core.NotePublishMidRow, N: 1}, "level=ERROR msg=\"a swap was refused"},
		{core.Note{Kind: core.NoteDutyParked, N: 1, Key: "due/reap/k"}, "level=WARN msg=\"a marker failed for good"},
		{core.Note{Kind: core.NoteReapDeleted, N: 1, Key: "data/b/z"}, ""},
	} {
		out.Reset()
		note(x.n)
		if got := out.String(); x.says == "" && got != "" || !strings.Contains(got, x.says) {
			t.Errorf("%s: says %q, want %q", x.n.Kind, got, x.says)
		}
		if tally.Of(x.n.Kind) != x.n.N {
			t.Errorf("%s: counted %d of %d", x.n.Kind, tally.Of(x.n.Kind), x.n.N)
		}
	}
}
