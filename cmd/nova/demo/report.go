package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"nova/prod/daemon"
)

// Report is what a run of the demo has to say: the object of --json.
type Report struct {
	Data    string         `json:"data"`
	Seconds float64        `json:"seconds"`
	Inputs  []*InputReport `json:"inputs"`
	// In is what this run took in; what an earlier run on the same directory had
	// taken in is in each input's Already.
	In Amount `json:"in"`
	// Reads is how many whole streams were read back while the auditors worked.
	Reads    int64                       `json:"reads_while_auditing"`
	Work     Work                        `json:"work"`
	Duties   map[string]daemon.DutyCount `json:"duties"`
	Standing daemon.Standing             `json:"standing"`
	Verify   daemon.Verdict              `json:"verify"`
	OK       bool                        `json:"ok"`
	Failures []string                    `json:"failures,omitempty"`
}

// Amount is records and their bytes.
type Amount struct {
	Records uint64 `json:"records"`
	Bytes   int64  `json:"bytes"`
}

// InputReport is one input's part.
type InputReport struct {
	File    string `json:"file"`
	Stream  string `json:"stream"`
	Class   string `json:"class"`
	Records uint64 `json:"records"`
	Bytes   int64  `json:"bytes"`
	Already uint64 `json:"already"` // records that an earlier run had taken in
	SHA256  string `json:"sha256"`  // over the records: lengths, bytes, order
	Before  bool   `json:"read_back_before"`
	After   bool   `json:"read_back_after"`
}

// Work is what the duties did in this run.
type Work struct {
	SettledBytes   int64 `json:"settled_bytes"`
	SettledOutputs int64 `json:"settled_outputs"`
	SlotsWritten   int64 `json:"slots_written"`
	SlotsTrimmed   int64 `json:"slots_trimmed"`
	ObjectsReaped  int64 `json:"objects_reaped"`
	OrphansJudged  int64 `json:"orphans_judged"`
	OrphansDeleted int64 `json:"orphans_deleted"`
	UploadsAborted int64 `json:"uploads_aborted"`
	ChainsSettled  int64 `json:"chains_settled"`
	StreamsGone    int64 `json:"streams_torn_down"`
	GCMoved        int64 `json:"gc_moved_bytes"`
	Retained       int64 `json:"retention_trims"`
	CacheDeletes   int64 `json:"deletes_through_the_cache"` // keys; 0 without --object-cache
}

// JSON writes the report as one object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Table writes the report for people.
func (r *Report) Table(w io.Writer) error {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row("INPUT", "CLASS", "RECORDS", "BYTES", "BEFORE THIS RUN", "READ BACK", "AFTER THE AUDITORS", "SHA-256")
	for _, in := range r.Inputs {
		t.row(in.Stream, in.Class, count(in.Records), size(in.Bytes), count(in.Already), mark(in.Before), mark(in.After), short(in.SHA256))
	}
	t.gap()
	t.row("IN", count(r.In.Records)+" records", size(r.In.Bytes), count(r.Work.SlotsWritten)+" slots")
	t.row("SETTLED", count(r.Work.SettledOutputs)+" objects", size(r.Work.SettledBytes), count(r.Work.ChainsSettled)+" chains")
	t.row("RECLAIMED", count(r.Work.SlotsTrimmed)+" slots trimmed", count(r.Work.ObjectsReaped)+" objects reaped", size(r.Work.GCMoved)+" moved by GC")
	t.row("ORPHANS", count(r.Work.OrphansJudged)+" judged", count(r.Work.OrphansDeleted)+" deleted", count(r.Work.UploadsAborted)+" uploads aborted")
	t.row("STREAMS", count(r.Work.StreamsGone)+" torn down", count(r.Work.Retained)+" trimmed by age", count(r.Reads)+" read meanwhile")
	if r.Work.CacheDeletes > 0 {
		t.row("CACHE", count(r.Work.CacheDeletes)+" deletes through it")
	}
	t.gap()
	t.row("DUTY", "RUNS", "PUT BACK", "PARKED", "STANDING")
	for _, q := range daemon.QueueNames() {
		d := r.Duties[q]
		t.row(q, count(d.Runs), count(d.Backoffs), count(d.Parked), count(r.Standing.Markers[q]))
	}
	t.gap()
	t.row("STANDS", count(r.Standing.Rows)+" rows", count(r.Standing.Objects)+" objects", size(r.Standing.Bytes), count(r.Standing.Uploads)+" uploads", count(r.Standing.Parked)+" parked")
	if err := t.flush(); err != nil {
		return err
	}
	if err := r.Verify.Print(w); err != nil {
		return err
	}
	for _, f := range r.Failures {
		if _, err := fmt.Fprintln(w, "FAILED:", f); err != nil {
			return err
		}
	}
	verdict := "Nothing leaked and nothing was lost."
	if !r.OK {
		verdict = "This run did not do what it promises; the directory is kept as it is."
	}
	_, err := fmt.Fprintf(w, "%s %.1f s\n", verdict, r.Seconds)
	return err
}

// table writes aligned rows; the first error sticks.
type table struct {
	w   *tabwriter.Writer
	err error
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		if i > 0 {
			c = "\t" + c
		}
		if _, err := io.WriteString(t.w, c); t.err == nil {
			t.err = err
		}
	}
	if _, err := io.WriteString(t.w, "\n"); t.err == nil {
		t.err = err
	}
}

// gap ends a block of columns.
func (t *table) gap() {
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	if _, err := io.WriteString(t.w, "\n"); t.err == nil {
		t.err = err
	}
}

func (t *table) flush() error {
	t.gap()
	return t.err
}

// count writes a number with its thousands apart.
func count[T int | int64 | uint64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

func mark(ok bool) string {
	if ok {
		return "the same"
	}
	return "NO"
}

func short(sum string) string {
	if len(sum) > 12 {
		return sum[:12] + "…"
	}
	return sum
}
