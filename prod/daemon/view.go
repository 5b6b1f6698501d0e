package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"

	"nova/core"
	"nova/core/format"
	"nova/core/law"
	"nova/prod/exec"
	"nova/prod/s3store"
)

const (
	rowPage   = 1000 // rows of one read
	listPage  = 1000 // objects of one listing
	tailWidth = 32   // tails read abreast
	tailFirst = 4096 // bytes of an object's tail that are asked for first
	readTries = 4
)

// Rows calls f for every row in [from, end) at one revision (0: the newest), in
// the order of their keys, and returns the revision. An empty end is that of the
// cluster. Use it for looks at a live metastore, not on a path that must be quick.
func (c *Cluster) Rows(ctx context.Context, rev int64, from, end string, f func(core.Row) error) (int64, error) {
	to := c.prefix + end
	if end == "" {
		to = clientv3.GetPrefixRangeEnd(c.prefix)
	}
	page := rowPages{c: c, rev: rev, key: c.prefix + from, to: to}
	for !page.done {
		rows, err := page.next(ctx)
		if err != nil {
			return page.rev, err
		}
		for i := range rows {
			if err := f(rows[i]); err != nil {
				return page.rev, err
			}
		}
	}
	return page.rev, nil
}

// rowPages reads the rows of a range page by page, at one revision: that of the
// first page, where it is 0.
type rowPages struct {
	c       *Cluster
	rev     int64
	key, to string // with the cluster's prefix
	done    bool
}

func (p *rowPages) next(ctx context.Context) ([]core.Row, error) {
	o := []clientv3.OpOption{clientv3.WithRange(p.to), clientv3.WithLimit(rowPage)}
	if p.rev != 0 {
		o = append(o, clientv3.WithRev(p.rev))
	}
	resp, err := p.c.etcd.Get(ctx, p.key, o...)
	if err != nil {
		return nil, fmt.Errorf("read rows from %q at revision %d: %w", strings.TrimPrefix(p.key, p.c.prefix), p.rev, err)
	}
	if p.rev == 0 {
		p.rev = resp.Header.GetRevision()
	}
	rows := make([]core.Row, len(resp.Kvs))
	for i, kv := range resp.Kvs {
		rows[i] = core.Row{Mark: core.Mark{Key: string(kv.Key[len(p.c.prefix):]), Rev: kv.ModRevision}, Val: string(kv.Value)}
	}
	if p.done = !resp.More; !p.done {
		p.key = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
	return rows, nil
}

// uploader is a store whose unfinished uploads can all be listed.
type uploader interface {
	Uploads(ctx context.Context, f func(core.Item)) (more bool, err error)
}

// read does one read of a store until its answer is definite.
func read(ctx context.Context, s exec.ObjectStore, op core.Op) (core.Reply, error) {
	var r core.Reply
	var err error
	for range readTries {
		if r, err = s.Do(ctx, op, nil); r.Outcome != core.Unknown || ctx.Err() != nil {
			break
		}
	}
	switch r.Outcome {
	case core.OK, core.Absent, core.OutOfRange:
		return r, nil
	}
	return r, fmt.Errorf("%s: %s: %w", op.String(), r.Outcome, errors.Join(err, ctx.Err()))
}

// list calls f for every object of a store but the probe's, in order.
func (c *Cluster) list(ctx context.Context, name core.Store, f func(core.Item)) error {
	after := ""
	for {
		r, err := read(ctx, c.objects[name], core.List(name, "", after, listPage))
		if err != nil {
			return err
		}
		for _, it := range r.Items {
			if !strings.HasPrefix(it.Key, s3store.ProbePrefix) {
				f(it)
			}
		}
		if !r.More || len(r.Items) == 0 {
			return nil
		}
		after = r.Items[len(r.Items)-1].Key
	}
}

// names is the cluster's stores, in order.
func (c *Cluster) names() []core.Store {
	all := make([]core.Store, 0, len(c.objects))
	for name := range c.objects {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// tails reads the footer and trailer of every object, and drops the objects that
// have gone.
func (c *Cluster) tails(ctx context.Context, s *law.Snapshot) error {
	gone := make([]bool, len(s.Objects))
	var mu sync.Mutex
	var first error
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(tailWidth, len(s.Objects)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(s.Objects) {
					return
				}
				there, err := c.tail(ctx, &s.Objects[i])
				gone[i] = !there
				if err != nil {
					mu.Lock()
					first = cmp.Or(first, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	kept := s.Objects[:0]
	for i := range s.Objects {
		if !gone[i] {
			kept = append(kept, s.Objects[i])
		}
	}
	s.Objects = kept
	return nil
}

// tail reads an object's footer and trailer, as law.Object wants them.
func (c *Cluster) tail(ctx context.Context, o *law.Object) (there bool, err error) {
	at := core.Obj{Store: o.Store, Key: o.Key}
	for n := int64(tailFirst); ; n = format.TailRead {
		r, err := read(ctx, c.objects[o.Store], core.ReadTail(at, n))
		switch {
		case err != nil:
			return false, err
		case r.Outcome == core.Absent:
			return false, nil
		case r.Outcome == core.OutOfRange: // an empty object
			o.Size, o.Tail = 0, ""
			return true, nil
		}
		o.Size, o.Tail = r.Size, ""
		if len(r.Val) < format.TrailerSize {
			return true, nil
		}
		t, err := format.ParseTail(r.Val, r.Size)
		switch {
		case err != nil:
			o.Tail = r.Val
			return true, nil
		case t.Whole:
			o.Tail = r.Val[int64(len(r.Val))-format.TrailerSize-t.Window.Len:]
			return true, nil
		case n < format.TailRead:
			continue
		}
		w, err := read(ctx, c.objects[o.Store], core.ReadRange(at, t.Window.Off, t.Window.Len))
		if err != nil || w.Outcome != core.OK {
			return w.Outcome != core.Absent, err
		}
		o.Tail = w.Val + r.Val[len(r.Val)-format.TrailerSize:]
		return true, nil
	}
}

// summer reads bytes of objects for their checksum. Chunks that follow each other
// in one object are one read.
type summer struct {
	c    *Cluster
	ctx  context.Context
	obj  core.Obj
	at   int64
	left int64 // that the open read still has
	r    io.ReadCloser
	buf  []byte

	bytes int64 // how many were read
}

// sumAhead is how much of an object one read asks for.
const sumAhead = 16 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the CRC-32C of bytes [off, off+n) of an object; see law.Checksum.
func (s *summer) sum(o core.Obj, off, n int64) (uint32, bool) {
	for range readTries {
		crc, ok := s.try(o, off, n)
		if ok {
			s.bytes += n
			return crc, true
		}
		s.close()
		if s.ctx.Err() != nil {
			break
		}
	}
	return 0, false
}

func (s *summer) try(o core.Obj, off, n int64) (uint32, bool) {
	if s.r == nil || s.obj != o || s.at != off || s.left < n {
		s.close()
		store, ok := s.c.objects[o.Store]
		if !ok {
			return 0, false
		}
		ask := max(n, sumAhead)
		r, reply, err := store.Open(s.ctx, o.Key, off, ask)
		if err != nil || reply.Outcome != core.OK {
			return 0, false
		}
		s.r, s.obj, s.at, s.left = r, o, off, min(ask, reply.Size-off)
	}
	if s.buf == nil {
		s.buf = make([]byte, 256<<10)
	}
	crc := uint32(0)
	for n > 0 {
		k, err := io.ReadFull(s.r, s.buf[:min(n, int64(len(s.buf)))])
		if err != nil {
			return 0, false
		}
		crc = crc32.Update(crc, castagnoli, s.buf[:k])
		s.at, s.left, n = s.at+int64(k), s.left-int64(k), n-int64(k)
	}
	return crc, true
}

func (s *summer) close() {
	if s.r != nil {
		_ = s.r.Close()
		s.r = nil
	}
}
