package serve

import (
	"reflect"
	"strings"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func planned(w *world, id, from, limit uint64) (ReadPlan, core.Verdict) {
	var p ReadPlan
	v := once(w, "reader", func(t core.Turn, e *core.Env) core.Verdict { return p.Step(t, e, id, from, limit) })
	return p, v
}

// fetched is the bytes of a plan.
func fetched(w *world, p ReadPlan) (string, Fetch) {
	clear(w.sinks)
	var f Fetch
	once(w, "fetch", func(t core.Turn, e *core.Env) core.Verdict {
		if f.Step(t, e, p.Extents, p.Until, 10) {
			return core.Done
		}
		return core.Working
	})
	var b strings.Builder
	for i := range p.Extents {
		b.WriteString(w.sinks[10+i])
	}
	return b.String(), f
}

// shelf is a stream whose first half lies in a settled object and whose second
// half in slots.
func shelf(t *testing.T) (w *world, id uint64, all string, mid, end uint64, obj core.Obj) {
	w = newWorld(t, 31, "a", "b")
	w.dials.SettleBatch, w.dials.SpansPerRow, w.dials.ScanPage = 2, 2, 2
	c := newClient(w)
	id = w.create("x")
	p := w.star("p1", "s1")
	c.mustOpen(p, id)
	for range 12 {
		c.await(p, c.append(p, id, id))
	}
	c.await(p, c.close(p))
	c.verify()
	rows := w.keys("ref/")
	var chunks []format.Chunk
	var body strings.Builder
	for i, x := range w.content(id) {
		all += x.bytes
		if i < 8 {
			chunks = append(chunks, format.Chunk{Stream: id, First: x.first, Count: x.count, CRC: format.CRC([]byte(x.bytes)), Off: int64(body.Len()), Len: int64(len(x.bytes))})
			body.WriteString(x.bytes)
			mid = x.first + uint64(x.count)
		}
		end = x.first + uint64(x.count)
	}
	tail, win := format.Finish(format.SettledObject, int64(body.Len()), chunks)
	s := keys.Settled{Bucket: "b", Stream: id, Epoch: 1, Inc: keys.Incarnation{Generation: 1, Created: 5}, HasInc: true}
	obj = core.Obj{Store: "a", Key: s.Key()}
	w.objects[obj] = body.String() + tail
	e := format.Entry{Epoch: 1, Count: mid, Generation: 1, Created: 5, Footer: win, Bytes: int64(body.Len() + len(tail))}
	for _, k := range rows {
		if row, _ := format.DecodeRow(w.rows[k].val); row.End <= mid {
			delete(w.rows, k)
		}
	}
	w.rev++
	w.rows[keys.Ref(id, mid-1)] = rowOf{val: format.Row{Kind: format.CatalogRow, End: mid, Entries: []format.Entry{e}}.Encode(), rev: w.rev}
	return w, id, all, mid, end, obj
}

func TestReadBack(t *testing.T) {
	w, id, all, mid, end, _ := shelf(t)
	p, v := planned(w, id, 0, 1<<40)
	if v != core.Done || p.Reason != None || p.Next != end || p.Until != w.now+w.dials.PlanTTL {
		t.Fatalf("plan: %s %s, next %d of %d, until %d", v, p.Reason, p.Next, end, p.Until)
	}
	got, f := fetched(w, p)
	if f.Reason != None || got != all {
		t.Fatalf("fetch: %s at %d\n%s\n%s", f.Reason, f.Failed, got, all)
	}
	for from := range end { // from everywhere, a few records at a time
		var next = from
		for next < end {
			q, v := planned(w, id, next, 3)
			if v != core.Done || q.Reason != None || q.Next <= next || q.Extents[0].First > next || q.Extents[0].End() <= next {
				t.Fatalf("plan from %d: %s %s %+v", next, v, q.Reason, q.Extents)
			}
			for i := 1; i < len(q.Extents); i++ {
				if q.Extents[i].First != q.Extents[i-1].End() {
					t.Fatalf("plan from %d has a gap: %+v", next, q.Extents)
				}
			}
			next = q.Next
		}
		if from > mid {
			break
		}
	}
	if q, v := planned(w, id, end, 10); v != core.Done || q.Reason != None || len(q.Extents) > 0 || q.Next != end {
		t.Fatalf("plan at the end: %s %+v", v, q)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Run("below the watermark", func(t *testing.T) {
		w, id, _, _, _, _ := shelf(t)
		if m, v := trimTo(w, id, 5); v != core.Done || m.Reason != None {
			t.Fatal(v, m.Reason)
		}
		if p, v := planned(w, id, 4, 10); v != core.Done || p.Reason != Trimmed || p.Mark != 5 {
			t.Fatalf("%s %+v", v, p)
		}
		if p, v := planned(w, id, 5, 10); v != core.Done || p.Reason != None {
			t.Fatalf("%s %+v", v, p)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		w, id, _, _, _, _ := shelf(t)
		var d Delete
		once(w, "d", func(t core.Turn, e *core.Env) core.Verdict { return d.Step(t, e, id) })
		if p, v := planned(w, id, 0, 10); v != core.Done || p.Reason != Deleted {
			t.Fatalf("%s %+v", v, p)
		}
	})
	t.Run("no stream", func(t *testing.T) {
		w, _, _, _, _, _ := shelf(t)
		if p, v := planned(w, 99, 0, 10); v != core.Done || p.Reason != NoStream {
			t.Fatalf("%s %+v", v, p)
		}
	})
	t.Run("missing object", func(t *testing.T) {
		w, id, _, mid, _, obj := shelf(t)
		delete(w.objects, obj)
		if p, v := planned(w, id, 0, 10); v != core.Done || p.Reason != Missing {
			t.Fatalf("%s %+v", v, p)
		}
		if p, v := planned(w, id, mid, 10); v != core.Done || p.Reason != None {
			t.Fatalf("%s %+v", v, p)
		}
	})
	t.Run("hole", func(t *testing.T) {
		w, id, _, _, _, _ := shelf(t)
		delete(w.rows, w.keys("ref/")[1])
		if p, v := planned(w, id, 0, 1<<40); v != core.Done || p.Reason != Missing {
			t.Fatalf("%s %+v", v, p)
		}
	})
	t.Run("lost range", func(t *testing.T) {
		w, id, _, mid, end, _ := shelf(t)
		k := keys.Ref(id, mid-1)
		row, _ := format.DecodeRow(w.rows[k].val)
		row.Entries[0].Lost = true
		w.rows[k] = rowOf{val: row.Encode(), rev: 1 << 40}
		p, v := planned(w, id, 0, 1<<40)
		if v != core.Done || p.Reason != None || p.Next != end || !p.Extents[0].Lost || p.Extents[0].End() != mid {
			t.Fatalf("%s %+v", v, p)
		}
		if _, f := fetched(w, p); f.Reason != Lost || f.Failed != 0 {
			t.Fatalf("%+v", f)
		}
	})
	t.Run("damaged bytes", func(t *testing.T) {
		w, id, _, _, _, obj := shelf(t)
		p, _ := planned(w, id, 0, 3)
		w.objects[obj] = "?" + w.objects[obj][1:]
		if _, f := fetched(w, p); f.Reason != Damaged || f.Failed != 0 {
			t.Fatalf("%+v", f)
		}
	})
	t.Run("expired", func(t *testing.T) {
		w, id, _, _, _, _ := shelf(t)
		p, _ := planned(w, id, 0, 3)
		w.now = p.Until + 1
		if _, f := fetched(w, p); f.Reason != Expired {
			t.Fatalf("%+v", f)
		}
	})
	t.Run("not definite", func(t *testing.T) {
		w, id, _, _, _, _ := shelf(t)
		for k := range 12 { // C4: any read of it may fail
			n := 0
			w.fate = func(_ *proc, ef *core.Effect) fate {
				if n++; n == k+1 {
					return dropped
				}
				return landed
			}
			if p, v := planned(w, id, 0, 1<<40); v == core.Done && p.Reason != None {
				t.Fatalf("read %d fails: %+v", k, p.Reason)
			} else if v == core.Again && n < k {
				t.Fatalf("read %d: %s", k, v)
			}
		}
	})
}

// A replica that is away, fenced or torn is passed over.
func TestReadAnyReplica(t *testing.T) {
	w, id, all, mid, _, _ := shelf(t)
	p, _ := planned(w, id, mid, 1<<40)
	for i, x := range p.Extents {
		switch i % 3 {
		case 0:
			delete(w.objects, x.At[0])
		case 1:
			w.objects[x.At[0]] = format.Fence("s1", 1, 3)
		case 2:
			w.objects[x.At[0]] = "torn"
		}
	}
	got, f := fetched(w, p)
	if f.Reason != None || !strings.HasSuffix(all, got) || got == "" {
		t.Fatalf("%+v %q", f, got)
	}
}

// RT6, by decision 0023: a watermark that is raised straight in the metastore
// binds every read that is planned afterwards, though a star leads the stream, and
// disturbs the star in nothing. There is no other watermark: no machine of the
// serving side keeps one from one request to the next.
func TestAWatermarkNeedsNoLeader(t *testing.T) {
	w := newWorld(t, 5, "a")
	w.check = w.laws
	c := newClient(w)
	x := w.create("x")
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	for range 6 {
		c.await(p, c.append(p, x))
	}
	w.until("all is absorbed", func() bool { return w.notes[core.NoteAbsorbed] >= 6 })
	if q, v := planned(w, x, 0, 100); v != core.Done || q.Reason != None {
		t.Fatalf("before: %s %s", v, q.Reason)
	}
	w.txn("another", []core.Write{core.Missing(keys.Trim(x)), core.Put(keys.Trim(x), format.EncodeNumber(3))})
	if q, v := planned(w, x, 2, 100); v != core.Done || q.Reason != Trimmed || q.Mark != 3 {
		t.Errorf("below the watermark: %s %s, at %d", v, q.Reason, q.Mark)
	}
	if q, v := planned(w, x, 3, 100); v != core.Done || q.Reason != None {
		t.Errorf("at the watermark: %s %s", v, q.Reason)
	}
	if a := c.await(p, c.append(p, x)); a.Outcome != Acked || a.Acks[0].Reason != None {
		t.Errorf("the leader's next append: %+v", a)
	}
	var holds func(at string, of reflect.Type)
	holds = func(at string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				f := of.Field(i)
				if n := strings.ToLower(f.Name); strings.Contains(n, "watermark") || strings.Contains(n, "trimmed") || n == "mark" && f.Type.Kind() == reflect.Uint64 {
					t.Errorf("%s.%s keeps a watermark", at, f.Name)
				}
				holds(at+"."+f.Name, f.Type)
			}
		case reflect.Slice, reflect.Array:
			holds(at, of.Elem())
		}
	}
	holds("Star", reflect.TypeFor[Star]())
}
