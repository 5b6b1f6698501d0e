package law

import (
	"cmp"
	"fmt"
	"slices"

	"nova/core"
)

// Laws is one more than the highest law.
const Laws = 10

// Object is an object of a store as the laws see it. Tail is its footer and
// trailer as they are stored: the last bytes of the object, "" where it is
// shorter than a trailer, the last TailRead bytes or fewer where it has no sound
// trailer.
type Object struct {
	Store core.Store
	Key   string
	Size  int64
	Tail  string
}

// Upload is an unfinished multipart upload.
type Upload struct {
	Store   core.Store
	Key, ID string
}

// Snapshot is a metastore and its stores at one instant.
type Snapshot struct {
	Rows    []core.Row // sorted by key
	Objects []Object   // sorted by store and key
	Uploads []Upload
}

// Ack is one chunk that a star acknowledged to a client.
type Ack struct {
	Stream uint64
	First  uint64
	Count  uint32
	CRC    uint32 // CRC-32C of the chunk's bytes
}

// End is the sequence number after the chunk's last.
func (a *Ack) End() uint64 { return a.First + uint64(a.Count) }

// Breach is one place where a law does not hold.
type Breach struct {
	Law  int
	Key  string // metastore key, object key or upload that it is about
	What string
}

func (b Breach) String() string { return fmt.Sprintf("law %d: %s: %s", b.Law, b.Key, b.What) }

func compare(a, b Breach) int {
	return cmp.Or(cmp.Compare(a.Law, b.Law), cmp.Compare(a.Key, b.Key), cmp.Compare(a.What, b.What))
}

func sorted(bs []Breach) []Breach {
	slices.SortFunc(bs, compare)
	return slices.Compact(bs)
}

// Checksum returns the CRC-32C of bytes [off, off+n) of an object that stands.
// It is called once for each chunk of an object that a live ref names. False
// means that the bytes could not be read.
type Checksum func(o core.Obj, off, n int64) (crc uint32, ok bool)

// Report says on how many things each law was evaluated (law 9: a law that was
// evaluated on nothing proves nothing).
type Report struct{ Evaluated [Laws]int }

// Instant judges laws 0, 1, 2, 3 (as far as it can be told without knowing what
// was acknowledged), 5, 6 and what of law 8 holds at every instant, on a whole
// snapshot.
func Instant(s *Snapshot, d *core.Dials, st *core.Stores, ck Checksum) []Breach {
	j := Of(s, d, st, ck)
	return j.Check()
}

// Acked judges law 3 on what was acknowledged.
func Acked(s *Snapshot, acks []Ack, d *core.Dials, st *core.Stores, ck Checksum) []Breach {
	j := Of(s, d, st, ck)
	for _, a := range acks {
		j.Apply(Change{Kind: Acknowledged, Ack: a})
	}
	return slices.DeleteFunc(j.Check(), func(b Breach) bool { return b.Law != 3 })
}

// Of makes a judge of a whole snapshot.
func Of(s *Snapshot, d *core.Dials, st *core.Stores, ck Checksum) *Judge {
	j := NewJudge(d, st, ck)
	j.Take(s)
	return j
}

// Take takes everything in a snapshot as standing.
func (j *Judge) Take(s *Snapshot) {
	for i := range s.Rows {
		j.Apply(Change{Kind: RowPut, Row: s.Rows[i]})
	}
	for i := range s.Objects {
		j.Apply(Change{Kind: ObjectPut, Object: s.Objects[i]})
	}
	for i := range s.Uploads {
		j.Apply(Change{Kind: UploadPut, Upload: s.Uploads[i]})
	}
}
