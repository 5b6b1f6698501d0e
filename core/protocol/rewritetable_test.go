package protocol

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"nova/core"
	"nova/core/keys"
)

// stepName says where a rewrite stands, for the table.
func stepName(m *Rewrite, op *core.Op) string {
	if m.step == rewritePublish && m.publish.step == pubParts && op.Kind == core.KGet {
		return "confirm the right"
	}
	switch m.step {
	case rewriteCommit:
		return [...]string{"commit", "commit: look for the entry", "commit: read the intent"}[m.commit.step]
	case rewriteResolve:
		return "resolve the intent"
	}
	return [...]string{"read a footer", "announce", "read the intent", "adopt", "share the intent", "confirm the right", "create",
		"begin an upload", "send a part", "complete", "read the tail", "read the footer behind it", "abort"}[m.publish.step]
}

// TestRewriteTable is C5: every reply at every step, and what it leads to. The
// reply stands for a request that was not applied, unless it is "landed". None
// leads to a deletion, and the intent goes only where everything was answered.
func TestRewriteTable(t *testing.T) {
	table := map[string]map[string][]string{} // step → outcome → ends
	for _, scene := range []string{"single", "multipart", "tail-fill", "adopted", "adopted multipart", "lost race", "aborted", "unsure", "shared meanwhile", "stale"} {
		for o := range core.Outcomes + 1 {
			if o == int(core.OK) {
				continue // the empty OK of a request that was not sent: no host says it
			}
			for k := 0; ; k++ {
				step, end := tableCase(t, scene, k, core.Outcome(o))
				if step == "" {
					break
				}
				name := "landed"
				if o < core.Outcomes {
					name = core.Outcome(o).String()
				}
				if table[step] == nil {
					table[step] = map[string][]string{}
				}
				if !slices.Contains(table[step][name], end) {
					table[step][name] = append(table[step][name], end)
				}
			}
		}
	}
	var b strings.Builder
	steps := make([]string, 0, len(table))
	for s := range table {
		steps = append(steps, s)
	}
	slices.Sort(steps)
	for _, s := range steps {
		fmt.Fprintf(&b, "%s\n", s)
		for o := 1; o <= core.Outcomes; o++ {
			name := "landed"
			if o < core.Outcomes {
				name = core.Outcome(o).String()
			}
			ends := table[s][name]
			slices.Sort(ends)
			fmt.Fprintf(&b, "\t%s: %s\n", name, strings.Join(ends, " | "))
		}
	}
	const golden = "testdata/rewrite.table"
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		if os.Getenv("NOVA_GOLDEN") != "" {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("the table has changed (NOVA_GOLDEN=1 writes it): %v\n%s", err, b.String())
	}
}

// tableCase runs a scene with reply o to its k-th effect, and says at which step
// that was and how it ended. Outcomes stands for a request that landed and whose
// reply was lost.
func tableCase(t *testing.T, scene string, k int, o core.Outcome) (step, end string) {
	r, m, v, a := tableScene(t, scene)
	r.now += 5
	o2 := o
	landed := o == core.Outcome(core.Outcomes)
	if landed {
		o2 = core.Unknown
	}
	kind := core.KNone
	for n := 0; !a.over(); n++ {
		e := a.pending[0]
		a.pending = a.pending[1:]
		rep := core.Reply{Outcome: o2}
		if n == k {
			step = stepName(m, &e.Op)
			kind = e.Op.Kind
		}
		if n != k || landed {
			got := r.w.Apply(&e.Op, rigWhen(r))
			r.laws(&e.Op)
			if n != k {
				rep = got
			}
		}
		r.now++
		r.turn(a, &core.Event{At: e.At, Reply: rep})
	}
	switch scene {
	case "multipart", "tail-fill", "stale": // alone: its own upload goes whatever failed, unless it never heard of it
		if o2 != core.Unknown && step != "abort" && (step != "complete" || o2 != core.Absent) && len(r.w.Bucket("std").Uploads()) > 0 {
			t.Errorf("%s: %v at %q left its upload", scene, o2, step)
		}
	}
	if len(r.broken) > 0 {
		t.Errorf("%s: %v", scene, r.broken)
	}
	end = v.String()
	if m.Fault != NoFault {
		end += " (" + m.Fault.String() + ")"
	}
	if a.noted(core.NoteIntentResolved) > 0 {
		if end += ", resolved"; o2 == core.Unknown && kind >= core.KCreate {
			t.Errorf("%s: the intent went after %s was not answered", scene, kind)
		}
	}
	if _, ok := r.w.Meta.Lookup(m.Durable.Intent.Key); !ok && m.Durable.Intent.Key != "" && *v != core.Done && kind != core.KTxn {
		t.Errorf("%s: no intent after %s was answered %v", scene, kind, o)
	}
	return step, end
}

func tableScene(t *testing.T, scene string) (*rig, *Rewrite, *core.Verdict, *rigActor) {
	base, ok := map[string]string{"adopted": "single", "lost race": "multipart", "unsure": "single", "shared meanwhile": "single"}[scene]
	switch {
	case ok:
	case scenes[scene] != nil:
		base = scene
	default:
		base = "multipart"
	}
	r, _ := scenes[base](t)
	until := func(a *rigActor, kind core.Kind) *rigActor {
		for !a.over() && a.pending[0].Op.Kind != kind {
			r.land(a, 0)
		}
		return a
	}
	last := core.KCreate
	if base == "multipart" {
		last = core.KComplete
	}
	switch scene {
	case "adopted", "adopted multipart":
		a, _, _ := r.rewrite("first", r.output())
		until(a, core.KTxn)
		r.land(a, 0)
	case "lost race":
		a, _, _ := r.rewrite("first", r.output())
		until(a, core.KComplete)
		b, m, v := r.rewrite("second", r.output())
		until(b, core.KComplete)
		r.land(a, 0)
		return r, m, v, b
	case "aborted":
		a, m, v := r.rewrite("first", r.output())
		until(a, last)
		b := r.w.Bucket("std").Uploads()[0]
		r.apply(core.Abort(core.Obj{Store: "std", Key: b.Key}, b.ID))
		return r, m, v, a
	case "unsure":
		a, m, v := r.rewrite("first", r.output())
		until(a, last)
		a.fault = func(int, *core.Op) rigFault { return rigLost }
		r.land(a, 0)
		a.fault = nil
		return r, m, v, a
	case "shared meanwhile":
		a, m, v := r.rewrite("first", r.output())
		until(a, core.KTxn)
		r.land(a, 0)
		until(a, core.KTxn) // about to commit
		b, _, _ := r.rewrite("second", r.output())
		for range 2 { // its announce, and its share
			until(b, core.KTxn)
			r.land(b, 0)
		}
		return r, m, v, a
	case "stale":
		a, m, v := r.rewrite("first", r.output())
		for !a.over() && a.pending[0].Op.Kind != core.KUploadPart && a.pending[0].Op.Kind != core.KCopyPart {
			r.land(a, 0)
		}
		r.now += r.dials.Confirm
		return r, m, v, a
	}
	a, m, v := r.rewrite("only", r.output())
	return r, m, v, a
}

// TestRewriteConfirms: a right that is no longer fresh is confirmed before every
// mutation, and one that is lost sends nothing more but an abort.
func TestRewriteConfirms(t *testing.T) {
	for _, name := range []string{"single", "multipart", "tail-fill"} {
		for _, condemn := range []bool{false, true} {
			r, end := scenes[name](t)
			o := r.output()
			a, _, v := r.rewrite("a", o)
			confirms, gone := 0, false
			seen := map[core.Path]bool{}
			for n := 0; !a.over(); n++ {
				for _, e := range a.pending { // what was sent at this very time
					op := &e.Op
					if seen[e.At] || !op.Mutates() || !op.IsStore() || op.Kind == core.KAbort {
						continue
					}
					if fresh := r.now + r.dials.Admission; op.Until > fresh || op.Until <= fresh-2*r.dials.Confirm { // what was confirmed may have taken a while to answer
						t.Errorf("%s is sent at %d under a stale right", op, r.now)
					}
					if gone {
						t.Errorf("sent without a right: %s", op)
					}
					seen[e.At] = true
				}
				e := a.pending[0]
				a.pending = a.pending[1:]
				delete(seen, e.At)
				if !e.Op.Mutates() && e.Op.Kind == core.KGet {
					confirms++
				}
				rep := r.w.Apply(&e.Op, rigWhen(r))
				if e.Op.Kind != core.KGet {
					r.now += r.dials.Confirm
				}
				if condemn && n == len(o.Sources) && !gone { // every footer but the last has been read, or all
					derived := o.Key.Key()
					r.apply(core.Txn(core.Del(keys.DueOrphan(keys.ShardOfObject(derived, r.dials.Shards), derived))))
					gone = true
				}
				r.turn(a, &core.Event{At: e.At, Reply: rep})
			}
			switch {
			case condemn && *v != core.Again:
				t.Errorf("%s without its right: %v", name, *v)
			case condemn && len(r.w.Bucket("std").Uploads()) > 0:
				t.Errorf("%s left its upload", name)
			case !condemn && (*v != core.Done || confirms == 0):
				t.Errorf("%s: %v after %d confirmations", name, *v, confirms)
			case !condemn:
				r.whole(end)
			}
		}
	}
}

// TestRewriteLargeFooter: the footer of what stands may be longer than a tail.
func TestRewriteLargeFooter(t *testing.T) {
	r := newRig(t)
	r.dials.OutputCap, r.lawless = 1<<20, true
	end := uint64(0)
	for i := range uint64(40) {
		end = r.span(end, 100*i, slices.Repeat([]int64{1}, 40)...)
	}
	a, _, _ := r.rewrite("a", r.output())
	for !a.over() && a.noted(core.NotePublishMultipart) == 0 {
		r.land(a, 0)
	}
	a.dead = true
	r.dials.OutputCap = 900 // this attempt sees fewer rows than the winner: it must not guess
	b, _, v := r.rewrite("b", r.output())
	r.run(inOrder, b)
	if *v != core.Again {
		t.Errorf("%v", *v)
	}
	r.dials.OutputCap = 1 << 20
	r.settle()
	r.whole(end)
}
