package law

import (
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// Monotone judges law 5 on two versions of one row, of which next follows prev;
// Rev 0 means that the row is absent. Cursors, watermarks, ends and counters only
// rise; constants never change; a tombstone never comes to life again, and nor does
// a star that was decommissioned, phase by phase. What does
// not decode is law 0's affair.
func Monotone(prev, next core.Row) []Breach {
	bs, _ := monotone(prev, next)
	return bs
}

// monotone also says whether law 5 knows the row.
func monotone(prev, next core.Row) (bad []Breach, known bool) {
	key := next.Key
	refuse := func(ok bool, what string) {
		if !ok {
			bad = append(bad, Breach{5, key, what})
		}
	}
	head, _, _ := strings.Cut(key, "/")
	switch head {
	case "chain", "stream", "trim", "writer", "mint", "counter", "generation", "gone":
	default:
		return nil, false
	}
	if prev.Rev == 0 || next.Rev == 0 {
		// Rows come and go: the record of a chain that is gone, what served a stream
		// that is torn down. Counters stay, and what is irrevocable.
		refuse(prev.Rev == 0 || head != "counter" && head != "generation" && head != "gone", "the row is gone")
		if prev.Rev != 0 && head == "stream" {
			a, err := format.DecodeStream(prev.Val)
			refuse(err != nil || a.Deleted, "the descriptor is gone, and was no tombstone")
		}
		return bad, true
	}
	switch head {
	case "chain":
		monotoneChain(prev, next, refuse)
	case "stream":
		a, b, ok := both(format.DecodeStream, prev, next)
		refuse(!ok || !a.Deleted || b.Deleted, "the stream was deleted, and lives again")
		refuse(!ok || !a.Deleted || a.DeletedAt == b.DeletedAt, "the time of the deletion changed")
		refuse(!ok || a.Bucket == b.Bucket && a.Born == b.Born, "the id was given out again")
	case "gone":
		a, b, ok := both(format.DecodeGone, prev, next)
		refuse(!ok || a.Phase <= b.Phase, "the decommission went back")
		refuse(!ok || b.Phase <= a.Phase+1, "the decommission skipped a sweep")
	case "writer":
		a, b, ok := both(format.DecodeWriter, prev, next)
		refuse(!ok || a.End <= b.End, "the writer's end fell")
		refuse(!ok || a.Total <= b.Total && a.Base <= b.Base, "the writer's bytes fell")
	default:
		a, b, ok := both(format.DecodeNumber, prev, next)
		refuse(!ok || a <= b, "the number fell")
	}
	return bad, true
}

func monotoneChain(prev, next core.Row, refuse func(bool, string)) {
	_, _, part, err := keys.ParseChain(next.Key)
	if err != nil {
		return
	}
	switch part {
	case keys.PartConst:
		refuse(prev.Val == next.Val, "the chain's constants changed")
	case keys.PartHead:
		a, b, ok := both(format.DecodeChainHead, prev, next)
		refuse(!ok || a.State <= b.State, "the chain's state went back")
		refuse(!ok || a.Checkpoint <= b.Checkpoint, "the checkpoint fell")
		refuse(!ok || a.State < format.ChainCut || a.Cut == b.Cut && a.CutAt == b.CutAt, "the cut was published, and moved")
	case keys.PartTrim:
		a, b, ok := both(format.DecodeChainTrim, prev, next)
		refuse(!ok || a.Trimmed <= b.Trimmed, "trimmed fell")
		refuse(!ok || a.Rewritten <= b.Rewritten, "rewritten fell")
	}
}

func both[T any](decode func(string) (T, error), prev, next core.Row) (a, b T, ok bool) {
	a, err := decode(prev.Val)
	if err != nil {
		return a, b, false
	}
	b, err = decode(next.Val)
	return a, b, err == nil
}
