package daemon

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
)

// Standing is what stands in a cluster.
type Standing struct {
	Rows    int64            `json:"rows"`
	Objects int64            `json:"objects"`
	Bytes   int64            `json:"object_bytes"`
	Uploads int64            `json:"uploads"` // unfinished
	Markers map[string]int64 `json:"markers"` // by queue; a schedule row is no marker of its own
	Parked  int64            `json:"parked"`
	Streams int64            `json:"streams"` // tombstones included
}

// row counts one row.
func (s *Standing) row(key string) {
	s.Rows++
	kind, rest, _ := strings.Cut(key, "/")
	switch kind {
	case "park":
		s.Parked++
	case "stream":
		s.Streams++
	case "due":
		if s.Markers == nil {
			s.Markers = map[string]int64{}
		}
		queue, _, _ := strings.Cut(rest, "/")
		s.Markers[queue]++
	}
}

// QueueNames is the names of all queues, in the order of the specification.
func QueueNames() []string {
	all := make([]string, keys.Queues)
	for q := range all {
		all[q] = keys.Queue(q).String()
	}
	return all
}

// Breach is one place where a law does not hold.
type Breach struct {
	Law  int    `json:"law"`
	Key  string `json:"key"`
	What string `json:"what"`
}

// Verdict is what Verify found.
type Verdict struct {
	OK       bool     `json:"ok"`
	Breaches []Breach `json:"breaches"`
	// Evaluated is on how many things each law was evaluated: one that was
	// evaluated on nothing proves nothing.
	Evaluated [law.Laws]int `json:"evaluated"`
	Notes     []string      `json:"notes,omitempty"` // what is worth knowing and breaks no law
	Standing  Standing      `json:"standing"`
	Revision  int64         `json:"revision"`
	Summed    int64         `json:"bytes_read"` // bytes whose checksum was compared
	Looks     int           `json:"looks"`
	Seconds   float64       `json:"seconds"`
}

// VerifyOptions says how to look.
type VerifyOptions struct {
	Quick bool          // do not read the chunks' bytes: their checksums are not compared
	Again time.Duration // pause before a look that a breach is looked at again; 0 is 2 s

	batch int64 // bytes of what was found that are judged together; 0 is batchBytes
}

// verifyLooks is how often a breach must be seen, one look after the other.
const verifyLooks = 3

// Verify holds a live cluster to the laws. It reads the metastore at one
// revision and lists the stores before and after that, so every object that a
// row of that revision can name is seen. What goes on meanwhile can look like a
// breach (an object that was published after the rows were read has no watcher
// in them); so a breach counts only when three looks in a row show it.
//
// What it finds it sorts into parts, by stream and by chain, and judges them one
// after the other: what it holds in memory is bounded by a part, and by the largest
// stream and chain, whatever the cluster's size (see lookParts). What does not fit
// goes to a temporary file, about 250 bytes an object and the rows as they are.
func (c *Cluster) Verify(ctx context.Context, o VerifyOptions) (Verdict, error) {
	if o.Again <= 0 {
		o.Again = 2 * time.Second
	}
	if o.batch <= 0 {
		o.batch = batchBytes
	}
	began := time.Now()
	var v Verdict
	var suspects map[law.Breach]bool
	for look := 1; ; look++ {
		s, err := c.look(ctx, &o)
		if err != nil {
			return v, fmt.Errorf("verify: %w", err)
		}
		v.Standing, v.Revision, v.Notes = s.standing, s.revision, s.notes
		v.Evaluated, v.Looks, v.Summed = s.evaluated, look, v.Summed+s.sums.bytes
		v.Breaches = []Breach{}
		now := map[law.Breach]bool{}
		for _, b := range s.found {
			if suspects == nil || suspects[b] {
				now[b] = true
				v.Breaches = append(v.Breaches, Breach{b.Law, b.Key, b.What})
			}
		}
		suspects = now
		if len(suspects) == 0 || look == verifyLooks {
			v.OK = len(suspects) == 0
			v.Seconds = time.Since(began).Seconds()
			return v, nil
		}
		select {
		case <-time.After(o.Again):
		case <-ctx.Done():
			return v, fmt.Errorf("verify: %w", ctx.Err())
		}
	}
}

// footerSums takes every footer at its word: a checksum is what the object's own
// footer says.
func footerSums(s *law.Snapshot) law.Checksum {
	tails := make(map[core.Obj]format.Footer, len(s.Objects))
	for i := range s.Objects {
		o := &s.Objects[i]
		if t, err := format.ParseTail(o.Tail, o.Size); err == nil {
			tails[core.Obj{Store: o.Store, Key: o.Key}] = t.Footer
		}
	}
	return func(o core.Obj, off, n int64) (uint32, bool) {
		f := tails[o]
		k := sort.Search(f.Len(), func(i int) bool { return f.At(i).Off >= off })
		if k == f.Len() || f.At(k).Off != off || f.At(k).Len != n {
			return 0, false
		}
		return f.At(k).CRC, true
	}
}

// Print writes the verdict for people.
func (v *Verdict) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %d rows at revision %d, %d objects, %d unfinished uploads, %d looks, %.1f s; evaluated:", v.Standing.Rows, v.Revision, v.Standing.Objects, v.Standing.Uploads, v.Looks, v.Seconds)
	for n, count := range v.Evaluated {
		if count > 0 {
			fmt.Fprintf(&b, " law %d on %d,", n, count)
		}
	}
	line := strings.TrimSuffix(b.String(), ",") + "\n"
	for _, n := range v.Notes {
		line += "note: " + n + "\n"
	}
	for _, br := range v.Breaches {
		line += fmt.Sprintf("BROKEN law %d: %s: %s\n", br.Law, br.Key, br.What)
	}
	if v.OK {
		line += "verify: every law holds\n"
	} else {
		line += fmt.Sprintf("verify: %d breaches\n", len(v.Breaches))
	}
	_, err := io.WriteString(w, line)
	return err
}
