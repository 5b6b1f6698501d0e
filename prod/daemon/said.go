package daemon

import (
	"context"
	"log/slog"

	"nova/core"
)

// said are the notes that belong into the log as well: what went that nobody had
// asked to go, and what an operator has to look at.
var said = map[core.NoteKind]struct {
	level slog.Level
	text  string
}{
	core.NoteOrphanReclaimed:     {slog.LevelInfo, "reclaim: orphan reclaimed"},
	core.NoteOrphanUploadAborted: {slog.LevelInfo, "reclaim: unfinished uploads aborted"},
	core.NotePublishMidRow:       {slog.LevelError, "a swap was refused: the object that stands at its key ends in the middle of a row"},
	core.NoteLost:                {slog.LevelError, "records are lost: their bytes are truly gone; reads of them say so"},
	core.NoteDutyParked:          {slog.LevelWarn, "a marker failed for good and is parked: nova parked ls says why"},
	core.NoteFarAhead:            {slog.LevelWarn, "a marker was dated by a clock that is wrong: it is dated anew"},
	core.NoteStarGone:            {slog.LevelInfo, "a star is taken out of use for good"},
	core.NoteStarRefused:         {slog.LevelWarn, "a star that was taken out of use for good wants to serve: it is refused"},
}

// noted counts a note, and logs it if it is one to be said.
func noted(t *Tally, log *slog.Logger) func(core.Note) {
	return func(n core.Note) {
		t.Add(n)
		if s, ok := said[n.Kind]; ok {
			log.Log(context.Background(), s.level, s.text, "of", n.Key, "count", n.N)
		}
	}
}
