package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/prod/s3store"
)

const (
	// lookParts is how many parts the streams are sorted into, and how many the
	// chains: of five million objects a part has ten thousand.
	lookParts = 512
	// batchBytes is how much of what was found is judged together. In memory, with
	// footers and what a judge makes of it, it becomes fifteen times as much.
	batchBytes = 4 << 20
)

// look is one look at a cluster: rows at one revision, and every object that stood
// when the listing before it or the one after it was taken. Objects that go while
// it looks are left out; see Verify for what that means.
type look struct {
	c   *Cluster
	ctx context.Context
	o   *VerifyOptions

	parts  *spill     // streams first, then chains
	shared []core.Row // that bear on many parts: the generation, and irrevocable records
	loose  *law.Judge // of the rows that bear on nothing else
	fed    int        // rows that it has been given
	desc   column     // of the streams, beside their rows
	trim   column
	now    streamRows
	far    core.Ms // what is dated later was dated by a clock that was wrong

	revision  int64
	standing  Standing
	notes     []string
	found     []law.Breach
	evaluated [law.Laws]int
	sums      summer
}

// streamRows is the rows that bear on all the rows of one stream.
type streamRows struct {
	id         string
	desc, trim core.Row // Rev 0: none
}

// look looks once.
func (c *Cluster) look(ctx context.Context, o *VerifyOptions) (*look, error) {
	l := &look{c: c, ctx: ctx, o: o, parts: newSpill(2 * lookParts), far: Now() + c.Dials.FarAhead}
	defer l.parts.close()
	l.sums = summer{c: c, ctx: ctx}
	defer l.sums.close()
	for _, step := range []func() error{l.list, l.uploads, l.rows, l.list, l.judge} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.found, func(a, b law.Breach) int {
		return cmp.Or(cmp.Compare(a.Law, b.Law), cmp.Compare(a.Key, b.Key), cmp.Compare(a.What, b.What))
	})
	l.found = slices.Compact(l.found) // of a row that is a guest elsewhere
	return l, nil
}

// ofStream and ofChain are the parts of what stands or is said about one.
func ofStream(id uint64) int { return keys.ShardOfStream(id, lookParts) }

func ofChain(star string, epoch uint64) int {
	return lookParts + keys.ShardOfChain(star, epoch, lookParts)
}

// ofObject is the part of an object. What is foreign is in some part.
func ofObject(key string) int {
	if strings.HasPrefix(key, "chain/") {
		if star, epoch, _, err := keys.ParseSlot(key); err == nil {
			return ofChain(star, epoch)
		}
	} else if at, err := keys.ParseSettled(key); err == nil {
		return ofStream(at.Stream)
	}
	return 0
}

// list notes every object of every store.
func (l *look) list() error {
	for _, name := range l.c.names() {
		var failed error
		err := l.c.list(l.ctx, name, func(it core.Item) {
			if failed == nil {
				failed = l.parts.put(ofObject(it.Key), &found{kind: foundObject, object: law.Object{Store: name, Key: it.Key, Size: it.Size}})
			}
		})
		if err = cmp.Or(err, failed); err != nil {
			return err
		}
	}
	return nil
}

// uploads notes the unfinished uploads of every store.
func (l *look) uploads() error {
	for _, name := range l.c.names() {
		u, ok := storeOf(l.c.objects[name]).(uploader)
		if !ok {
			continue
		}
		var failed error
		more, err := u.Uploads(l.ctx, func(it core.Item) {
			if failed == nil && !strings.HasPrefix(it.Key, s3store.ProbePrefix) {
				l.standing.Uploads++
				failed = l.parts.put(ofObject(it.Key), &found{kind: foundUpload, upload: law.Upload{Store: name, Key: it.Key, ID: it.Upload}})
			}
		})
		if err != nil {
			return fmt.Errorf("list the unfinished uploads of store %s: %w", name, err)
		}
		if failed != nil {
			return failed
		}
		if more {
			l.notes = append(l.notes, fmt.Sprintf("store %s has more unfinished uploads than its server lists: only the first %d were looked at", name, l.standing.Uploads))
		}
	}
	return nil
}

// rows reads the metastore at one revision. A stream's descriptor and watermark are
// read beside its rows: they go with those of them that name slots.
func (l *look) rows() (err error) {
	refs, refsEnd := keys.RefsRange()
	if l.revision, err = l.c.Rows(l.ctx, 0, "", refs, l.row); err != nil {
		return err
	}
	l.desc, l.trim = l.column(keys.StreamsRange()), l.column(keys.TrimRange())
	if _, err = l.c.Rows(l.ctx, l.revision, refs, refsEnd, l.ref); err != nil {
		return err
	}
	for _, c := range []*column{&l.desc, &l.trim} {
		if _, err := c.at(l, "\xff"); err != nil {
			return err
		}
	}
	streams, streamsEnd := keys.StreamsRange()
	trims, trimsEnd := keys.TrimRange()
	for _, r := range [][2]string{{refsEnd, streams}, {streamsEnd, trims}, {trimsEnd, ""}} {
		if _, err = l.c.Rows(l.ctx, l.revision, r[0], r[1], l.row); err != nil {
			return err
		}
	}
	l.settleLoose()
	return nil
}

// row notes a row in the part that it belongs to.
func (l *look) row(r core.Row) error {
	l.standing.row(r.Key)
	l.dated(r.Key)
	part, ok := partOf(r)
	if ok {
		return l.parts.put(part, &found{kind: foundRow, row: r})
	}
	if r.Key == keys.GenerationKey || strings.HasPrefix(r.Key, "gone/") || strings.HasPrefix(r.Key, "star/") || strings.HasPrefix(r.Key, "mint/") {
		l.shared = append(l.shared, r)
	}
	if l.loose == nil {
		l.loose = law.NewJudge(&l.c.Dials, &l.c.Stores, nil)
	}
	l.loose.Apply(law.Change{Kind: law.RowPut, Row: r})
	if l.fed++; l.fed == rowPage {
		l.settleLoose()
	}
	return nil
}

// settleLoose judges the rows that no part has, and forgets them.
func (l *look) settleLoose() {
	if l.loose != nil {
		l.verdict(l.loose)
	}
	l.loose, l.fed = nil, 0
}

// partOf is the part that a row belongs to, if it bears on a stream or a chain.
func partOf(r core.Row) (part int, ok bool) {
	key := r.Key
	head, _, _ := strings.Cut(key, "/")
	var id, epoch uint64
	var star string
	var err error
	switch head {
	case "stream":
		id, err = keys.ParseStream(key)
	case "trim":
		id, err = keys.ParseTrim(key)
	case "writer":
		id, err = keys.ParseWriter(key)
	case "producer":
		id, err = keys.ParseProducer(key)
	case "name": // it leads to the stream
		if _, _, err = keys.ParseName(key); err == nil {
			id, err = format.DecodeNumber(r.Val)
		}
	case "ref":
		id, _, err = keys.ParseRef(key)
	case "chain":
		star, epoch, _, err = keys.ParseChain(key)
		return ofChain(star, epoch), err == nil
	case "park":
		if _, key, err = keys.ParsePark(key); err != nil {
			return 0, false
		}
		return ofMarker(key)
	case "due", "sched":
		return ofMarker(key)
	default:
		return 0, false
	}
	return ofStream(id), err == nil
}

func ofMarker(key string) (part int, ok bool) {
	d, err := keys.ParseDue(key)
	if err != nil {
		return 0, false
	}
	switch d.Queue {
	case keys.Settle, keys.TrimCheck, keys.Denorm:
		return ofChain(d.Star, d.Epoch), true
	case keys.Teardown, keys.Retention:
		return ofStream(d.Stream), true
	}
	at, err := keys.ParseSettled(d.Object)
	return ofStream(at.Stream), err == nil
}

// dated notes a marker that is dated further ahead than any policy allows, by a
// clock that was wrong: it will not ripen.
func (l *look) dated(key string) {
	if !strings.HasPrefix(key, "due/") && !strings.HasPrefix(key, "sched/") {
		return
	}
	if d, err := keys.ParseDue(key); err == nil && d.At > l.far {
		l.notes = append(l.notes, fmt.Sprintf("marker %s is dated %s: by a clock that was wrong; it will not ripen", key, time.UnixMilli(int64(d.At)).UTC().Format(time.RFC3339)))
	}
}

// ref notes a stream's row; and where it names slots, beside the chain, with what
// bears on it.
func (l *look) ref(r core.Row) error {
	if err := l.row(r); err != nil {
		return err
	}
	id, _, err := keys.ParseRef(r.Key)
	if err != nil {
		return nil
	}
	if text := r.Key[len("ref/") : len("ref/")+16]; text != l.now.id {
		l.now.id = text
		if l.now.desc, err = l.desc.at(l, keys.Stream(id)); err != nil {
			return err
		}
		if l.now.trim, err = l.trim.at(l, keys.Trim(id)); err != nil {
			return err
		}
	}
	row, err := format.DecodeRow(r.Val)
	if err != nil || row.Kind != format.SpanRow {
		return nil
	}
	for _, g := range []core.Row{l.now.desc, l.now.trim, r} {
		if g.Rev != 0 {
			if err := l.parts.put(ofChain(row.Star, row.Epoch), &found{kind: foundGuest, row: g}); err != nil {
				return err
			}
		}
	}
	return nil
}

// column is the rows of one kind, one a stream, read beside another.
type column struct {
	pages rowPages
	rows  []core.Row
}

func (l *look) column(from, end string) column {
	return column{pages: rowPages{c: l.c, rev: l.revision, key: l.c.prefix + from, to: l.c.prefix + end}}
}

// at is the row of a key, or none, and notes every row up to it.
func (c *column) at(l *look, key string) (core.Row, error) {
	for {
		for len(c.rows) > 0 && c.rows[0].Key <= key {
			r := c.rows[0]
			c.rows = c.rows[1:]
			if err := l.row(r); err != nil || r.Key == key {
				return r, err
			}
		}
		if len(c.rows) > 0 || c.pages.done {
			return core.Row{}, nil
		}
		var err error
		if c.rows, err = c.pages.next(l.ctx); err != nil {
			return core.Row{}, err
		}
	}
}

// judge judges part after part: as many together as are small enough. What fits as
// a whole is judged as a whole.
func (l *look) judge() error {
	if l.parts.bytes <= l.o.batch {
		return l.batch(0, 2*lookParts, law.Whole)
	}
	for _, s := range []law.Scope{law.Streams, law.Chains} {
		from, end := 0, lookParts
		if s == law.Chains {
			from, end = lookParts, 2*lookParts
		}
		for from < end {
			to, bytes := from+1, l.parts.parts[from].bytes
			for to < end && bytes+l.parts.parts[to].bytes <= l.o.batch {
				bytes += l.parts.parts[to].bytes
				to++
			}
			if bytes > 0 {
				if err := l.batch(from, to, s); err != nil {
					return err
				}
			}
			from = to
		}
	}
	return l.ctx.Err()
}

// batch judges parts [from, to) together.
func (l *look) batch(from, to int, scope law.Scope) error {
	var s law.Snapshot
	var guests []core.Row
	seen := map[core.Obj]bool{}
	for p := from; p < to; p++ {
		err := l.parts.each(p, func(f *found) {
			switch f.kind {
			case foundRow:
				s.Rows = append(s.Rows, f.row)
			case foundGuest:
				guests = append(guests, f.row)
			case foundUpload:
				s.Uploads = append(s.Uploads, f.upload)
			case foundObject:
				if o := (core.Obj{Store: f.object.Store, Key: f.object.Key}); !seen[o] {
					seen[o] = true
					s.Objects = append(s.Objects, f.object)
				}
			}
		})
		if err != nil {
			return err
		}
		l.parts.drop(p)
	}
	clear(seen)
	if err := l.c.tails(l.ctx, &s); err != nil {
		return err
	}
	// In the order of their keys, the chunks of an object are one read.
	slices.SortFunc(s.Rows, func(a, b core.Row) int { return strings.Compare(a.Key, b.Key) })
	for i := range s.Objects {
		l.standing.Objects++
		l.standing.Bytes += s.Objects[i].Size
	}
	check := l.sums.sum
	if l.o.Quick {
		check = footerSums(&s)
	}
	j := law.NewJudge(&l.c.Dials, &l.c.Stores, check)
	j.Narrow(scope)
	for _, r := range l.shared {
		j.Guest(r)
	}
	if scope == law.Chains {
		for _, r := range guests {
			j.Guest(r)
		}
	}
	j.Take(&s)
	l.verdict(j)
	return l.ctx.Err()
}

// verdict adds what a judge says.
func (l *look) verdict(j *law.Judge) {
	l.found = append(l.found, j.Check()...)
	for i, n := range j.Report().Evaluated {
		l.evaluated[i] += n
	}
}
