package sim_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"nova/core"
	"nova/faults"
	"nova/sim"
)

// A record repeats its run to the byte: from its tape, and by identity.
func TestRecordRepeats(t *testing.T) {
	for seed := range uint64(6) {
		var logs [2]bytes.Buffer
		a := sim.Run(sim.Config{Seed: seed, Effects: 900, Scene: sim.Nova, Log: &logs[0], Record: true})
		b := sim.Run(sim.Config{Script: a.Record, Scene: sim.Nova, Log: &logs[1]})
		if a.Sum != b.Sum || logs[0].String() != logs[1].String() || !b.Fit.Exact() {
			t.Errorf("seed %d: by identity it is another run: %s\n%s", seed, b.Fit, differ(logs[0].String(), logs[1].String()))
		}
	}
}

// differ shows where two logs part, with a few lines before.
func differ(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range as {
		if i >= len(bs) || as[i] != bs[i] {
			other := "(the end)"
			if i < len(bs) {
				other = bs[i]
			}
			return strings.Join(as[max(0, i-6):i], "\n") + "\n- " + as[i] + "\n+ " + other
		}
	}
	return "the first is the beginning of the other"
}

// A record says the same after it was written and read.
func TestRecordText(t *testing.T) {
	for seed := range uint64(4) {
		rec := sim.Recorded(sim.Config{Seed: seed, Effects: 800, Scene: sim.Nova}).Record
		text := rec.Encode()
		got, err := sim.DecodeRecord(text)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again := got.Encode(); !bytes.Equal(text, again) {
			t.Fatalf("seed %d: %s", seed, differ(string(text), string(again)))
		}
		if x := sim.Replay(got, sim.Nova, nil); !x.Identical || x.Report.Fit != nil {
			t.Errorf("seed %d: from its tape: %s", seed, x.Says())
		}
		got.Tape = nil
		if x := sim.Replay(got, sim.Nova, nil); !x.Identical || !strings.HasPrefix(x.Says(), "identical: every law holds") {
			t.Errorf("seed %d: by identity: %s", seed, x.Says())
		}
	}
}

// What no longer fits is passed by or goes by default, and is said; the run comes to
// its end all the same, and every law holds.
func TestRecordRealigns(t *testing.T) {
	var rec *sim.Record
	for seed := uint64(40); ; seed++ {
		rec = sim.Recorded(sim.Config{Seed: seed, Effects: 1500, Scene: sim.Nova}).Record
		if rec.Plan.Has(faults.CutAfter) && rec.Plan.Has(faults.LostReply) {
			break
		}
	}
	rec.Tape = nil
	lines := rec.Lines
	for what, edit := range map[string]func() []*sim.Line{
		"an effect that the record does not know": func() []*sim.Line {
			return slices.DeleteFunc(slices.Clone(lines), func(l *sim.Line) bool {
				return strings.HasPrefix(l.Key, "star/") || l.ID.Kind == core.KReadTail
			})
		},
		"lines that nothing fits": func() []*sim.Line {
			i := len(lines) / 2
			for !strings.Contains(lines[i].String(), " land ") {
				i++
			}
			odd := *lines[i]
			odd.ID.Path += ".9"
			return slices.Insert(slices.Clone(lines), i, &odd)
		},
		"an actor is gone": func() []*sim.Line {
			return slices.DeleteFunc(slices.Clone(lines), func(l *sim.Line) bool {
				return strings.HasPrefix(l.ID.Proc+l.Proc, "auditor-0/")
			})
		},
		"two neighbours change places": func() []*sim.Line {
			out := slices.Clone(lines)
			for i := 0; i+1 < len(out); i += 5 {
				out[i], out[i+1] = out[i+1], out[i]
			}
			return out
		},
		"nothing is left": func() []*sim.Line { return nil },
	} {
		edited := *rec
		edited.Lines = edit()
		x := sim.Replay(&edited, sim.Nova, nil)
		if x.Report.Breach != nil {
			t.Errorf("%s: %v", what, x.Report.Breach)
		}
		if what != "nothing is left" && x.Report.Fit.Exact() {
			t.Errorf("%s: it says that all is as it was: %s", what, x.Says())
		}
		if x.Report.Count.Effects < 50 {
			t.Errorf("%s: %d effects", what, x.Report.Count.Effects)
		}
		if what == "lines that nothing fits" && !strings.Contains(x.Says(), "no longer match") {
			t.Errorf("%s: %s", what, x.Says())
		}
		if f := x.Report.Fit; what == "an effect that the record does not know" && (len(f.Missing) > f.Lines/2 || f.New == 0) {
			t.Errorf("%s: %s", what, x.Says())
		}
		t.Logf("%s: %s", what, x.Says())
	}
}

// A run that was told where to cut, or to strike, is repeated from its record alone.
func TestRecordOfAnAim(t *testing.T) {
	for _, at := range []string{"protocol.Absorb.Step/absorbWrite:txn=silent", "serve.lane.stepPut/putSend:create=pause", "serve.lane.stepLooks:get=slow", "put-before-commit"} {
		aim, err := faults.ParseAim(at)
		if err != nil {
			t.Fatal(err)
		}
		c := sim.Config{Seed: 3, Effects: 1500, Scene: sim.Nova, At: aim}
		rec := sim.Recorded(c).Record
		if plain := sim.Run(sim.Config{Seed: 3, Effects: 1500, Scene: sim.Nova}); plain.Sum == rec.Sum {
			t.Errorf("%s strikes nothing", at)
		}
		got, err := sim.DecodeRecord(rec.Encode())
		if err != nil || !got.Plan.Aimed() {
			t.Fatalf("%s: the record's plan is %q, %v", at, got.Plan, err)
		}
		if x := sim.Replay(got, sim.Nova, nil); !x.Identical || x.Report.Fit != nil {
			t.Errorf("%s: from its tape: %s", at, x.Says())
		}
		got.Tape = nil
		if x := sim.Replay(got, sim.Nova, nil); !x.Identical {
			t.Errorf("%s: by identity: %s", at, x.Says())
		}
	}
}

// A fault that is named by what it strikes alone strikes the first such effect at its
// time or later, wherever it comes from.
func TestRecordNamesAnyEffect(t *testing.T) {
	c := sim.Config{Seed: 4, Effects: 900, Scene: sim.Nova, Plan: &faults.Plan{}}
	rec := sim.Recorded(c).Record
	rec.Tape = nil
	i := slices.IndexFunc(rec.Lines, func(l *sim.Line) bool { return l.Do == sim.DoLand && l.ID.Kind == core.KCreate && l.At > 100 })
	if i < 0 {
		t.Fatal("nothing is created")
	}
	x := rec.Lines[i].Loosen()
	x.Fault, x.Reply = faults.LostReply, false
	rec.Lines = slices.Insert(rec.Lines, i, x)
	got, err := sim.DecodeRecord(rec.Encode())
	if err != nil {
		t.Fatal(err)
	}
	r := sim.Run(sim.Config{Script: got, Scene: sim.Nova})
	if n := r.Count.Faults[faults.LostReply]; n != 1 || r.Breach != nil {
		t.Errorf("it struck %d times, %v", n, r.Breach)
	}
	x.At += 1 << 30
	if r := sim.Run(sim.Config{Script: rec, Scene: sim.Nova}); r.Count.Faults[faults.LostReply] != 0 {
		t.Error("it struck before its time")
	}
}
