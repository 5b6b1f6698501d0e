package serve

import (
	"fmt"
	"testing"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

func creating(c *Create, s Spec) func(t core.Turn, e *core.Env) core.Verdict {
	return func(t core.Turn, e *core.Env) core.Verdict { return c.Step(t, e, s) }
}

func TestCreateRefuses(t *testing.T) {
	w := newWorld(t, 1, "a")
	for _, x := range []struct {
		spec Spec
		want Reason
	}{
		{Spec{Bucket: "", Name: "n"}, BadName},
		{Spec{Bucket: "b", Name: ""}, BadName},
		{Spec{Bucket: "b", Name: "n", MaxAge: -1}, BadPolicy},
		{Spec{Bucket: "b", Name: "n", MaxAge: w.dials.FarAhead}, BadPolicy},
		{Spec{Bucket: "b", Name: "n", Class: 9}, Malformed},
		{Spec{Bucket: "b", Name: "n"}, None},
		{Spec{Bucket: "b", Name: "n"}, NameTaken},
	} {
		var c Create
		if v := once(w, "c", creating(&c, x.spec)); v != core.Done || c.Reason != x.want {
			t.Errorf("%+v: %s, %s; want %s", x.spec, v, c.Reason, x.want)
		}
	}
}

// Creators race, and replies are lost: every name has one stream, every id one
// name, and a creator that is told "created" was.
func TestCreateRaces(t *testing.T) {
	for seed := range uint64(200) {
		w := newWorld(t, seed, "a")
		w.fate = func(_ *proc, ef *core.Effect) fate {
			return []fate{landed, landed, landed, landed, lost, dropped, delayed}[w.rng.IntN(7)]
		}
		made := map[string]int{}
		var procs []*proc
		for i := range 5 {
			var c Create
			name := fmt.Sprint("n", i%3)
			v := core.Working
			procs = append(procs, w.start(fmt.Sprint("p", i), func(p *proc) func(core.Turn) bool {
				return func(t core.Turn) bool {
					if v == core.Working {
						if v = c.Step(t, &p.env, Spec{Bucket: "b", Name: name, MaxAge: core.Ms(1000 + i)}); v == core.Done && c.Reason == None {
							made[name]++
							d, err := format.DecodeStream(w.rows[keys.Stream(c.ID)].val)
							if err != nil || d.MaxAge != core.Ms(1000+i) {
								w.fail("created %d, stands %+v: %v", c.ID, d, err)
							}
						}
					}
					return v != core.Working
				}
			}))
		}
		for w.turnOnce() {
		}
		_ = procs
		for n, k := range made {
			if k > 1 {
				w.fail("seed %d: %s was created %d times", seed, n, k)
			}
		}
		ids := map[uint64]bool{}
		for _, k := range w.keys("name/") {
			id, _ := format.DecodeNumber(w.rows[k].val)
			if ids[id] {
				w.fail("seed %d: two names of stream %d", seed, id)
			}
			ids[id] = true
			d, err := format.DecodeStream(w.rows[keys.Stream(id)].val)
			if err != nil || keys.Name(d.Bucket, d.Name) != k {
				w.fail("seed %d: %s names %+v", seed, k, d)
			}
		}
		if len(ids) != len(w.keys("stream/")) {
			w.fail("seed %d: %d names, %d streams", seed, len(ids), len(w.keys("stream/")))
		}
	}
}

// C19, C44: the tombstone, the free address and the teardown come together; the
// address can be taken at once, under another id.
func TestDelete(t *testing.T) {
	w := newWorld(t, 1, "a")
	x := w.create("x")
	deleting := func() Reason {
		var d Delete
		if v := once(w, "d", func(t core.Turn, e *core.Env) core.Verdict { return d.Step(t, e, x) }); v != core.Done {
			t.Fatalf("delete: %s", v)
		}
		return d.Reason
	}
	if r := deleting(); r != None {
		t.Fatalf("delete: %s", r)
	}
	at := keys.DueTeardown(keys.ShardOfStream(x, w.dials.Shards), w.now, x, false)
	m, err := format.DecodeTeardownMark(w.rows[at].val)
	if err != nil || m.DeletedAt != w.now {
		t.Fatalf("teardown marker: %+v, %v", m, err)
	}
	if y := w.create("x"); y == x {
		t.Fatal("the id was given out twice")
	}
	if r := deleting(); r != Deleted {
		t.Fatalf("a second delete: %s", r)
	}
	if len(w.keys("name/")) != 1 {
		t.Fatal("the second delete took the new stream's name")
	}
	x = 77
	if r := deleting(); r != NoStream {
		t.Fatalf("delete of nothing: %s", r)
	}
}

func TestSetPolicy(t *testing.T) {
	w := newWorld(t, 1, "a")
	x := w.create("x")
	set := func(age core.Ms) Reason {
		var p SetPolicy
		if v := once(w, "p", func(t core.Turn, e *core.Env) core.Verdict { return p.Step(t, e, x, age) }); v != core.Done {
			t.Fatalf("policy: %s", v)
		}
		return p.Reason
	}
	if r := set(5000); r != None || len(w.keys("due/retention/")) != 0 {
		t.Fatalf("policy of an empty stream: %s; %v", r, w.keys("due/retention/"))
	}
	c, p := newClient(w), w.star("p1", "s1")
	c.mustOpen(p, x)
	c.append(p, x)
	c.await(p, c.close(p))
	if r := set(0); r != None {
		t.Fatalf("lifting: %s", r)
	}
	if r := set(5000); r != None || w.rows[keys.DueRetention(keys.ShardOfStream(x, w.dials.Shards), w.now+5000, x)].rev == 0 {
		t.Fatalf("policy: %s; %v", r, w.keys("due/retention/"))
	}
	rev := w.rev
	if r := set(5000); r != None || w.rev != rev {
		t.Fatalf("the same policy again: %s, wrote %v", r, w.rev != rev)
	}
	if r := set(-1); r != BadPolicy {
		t.Fatalf("a negative policy: %s", r)
	}
	if r := set(0); r != None {
		t.Fatalf("lifting: %s", r)
	}
	if d, _ := format.DecodeStream(w.rows[keys.Stream(x)].val); d.MaxAge != 0 {
		t.Fatalf("lifted, and it is %d", d.MaxAge)
	}
}

func trimTo(w *world, id, to uint64) (Trim, core.Verdict) {
	var m Trim
	v := once(w, "trim", func(t core.Turn, e *core.Env) core.Verdict { return m.Step(t, e, id, to) })
	return m, v
}

// Every verb, with each reply lost, dropped or late in turn: it ends as it says.
func TestTrim(t *testing.T) {
	w := newWorld(t, 1, "a")
	c := newClient(w)
	x := w.create("x")
	if m, v := trimTo(w, x, 1); v != core.Done || m.Reason != BeyondEnd || m.Mark != 0 {
		t.Fatalf("trim of an empty stream: %s %+v", v, m)
	}
	p := w.star("p1", "s1")
	c.mustOpen(p, x)
	for range 5 {
		c.append(p, x)
	}
	c.await(p, c.close(p))
	for _, k := range []struct {
		to, mark uint64
		want     Reason
	}{{3, 3, None}, {2, 3, None}, {5, 5, None}, {1000, 10, BeyondEnd}} {
		m, v := trimTo(w, x, k.to)
		if v != core.Done || m.Reason != k.want || m.Mark != k.mark {
			t.Fatalf("trim to %d: %s %+v, want %s at %d", k.to, v, m, k.want, k.mark)
		}
	}
	for _, f := range []fate{lost, dropped} {
		once1 := false
		w.fate = func(_ *proc, ef *core.Effect) fate {
			if ef.Op.Kind == core.KTxn && !once1 {
				once1 = true
				return f
			}
			return landed
		}
		n, _ := format.DecodeNumber(w.rows[keys.Trim(x)].val)
		if m, v := trimTo(w, x, n+1); v != core.Done || m.Reason != None || m.Mark != n+1 {
			t.Fatalf("trim with a reply %d: %s %+v", f, v, m)
		}
	}
}
