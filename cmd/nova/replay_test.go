package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nova/cmd/nova/demo"
	"nova/core"
	"nova/core/admin"
	"nova/core/serve"
	"nova/core/transcript"
	"nova/prod/daemon"
	"nova/prod/embedded"
	"nova/prod/journal"
	"nova/sim/incident"
)

// secret stands in every record of the recording.
const secret = "this text must not be in any journal"

// filmed runs a cluster before a journal: a stream whose first star is killed, so
// that its slots' tails are read; an auditor that settles it, and reaps what a
// deleted stream leaves.
func filmed(t *testing.T) (dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	on, err := openBrisk(ctx, t, log)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "journal")
	if on.Journal, err = journal.Open(journal.Config{Dir: dir, Cap: 4 << 20, Segment: 16 << 10, Log: log}); err != nil {
		t.Fatal(err)
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := on.NewSession(nil)
	do(err)
	take := func(star *daemon.Star, id uint64) {
		t.Helper()
		_, err := star.Open(ctx, id)
		do(err)
		a := star.Appender(id)
		for i := range 20 {
			do(a.Add(ctx, fmt.Appendf(nil, "%s %d", secret, i)))
		}
		do(a.Flush(ctx))
	}
	first, err := on.StartStar(daemon.StarConfig{ID: "first"})
	do(err)
	kept, err := s.Create(ctx, serve.Spec{Bucket: "b", Name: "kept"})
	do(err)
	lost, err := s.Create(ctx, serve.Spec{Bucket: "b", Name: "deleted"})
	do(err)
	take(first, kept)
	first.Kill()
	second, err := on.StartStar(daemon.StarConfig{ID: "second"})
	do(err)
	take(second, kept)
	take(second, lost)
	auditor, err := on.StartAuditor(daemon.AuditorConfig{ID: "auditor"})
	do(err)
	for {
		n, err := s.Unsettled(ctx, kept)
		do(err)
		if n == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	do(s.Delete(ctx, lost))
	records := 0
	_, err = s.Read(ctx, kept, 0, 0, func(r daemon.Record) error {
		if records++; !strings.HasPrefix(string(r.Data), secret) {
			return fmt.Errorf("record %d is %q", r.Seq, r.Data)
		}
		return nil
	})
	do(err)
	if records != 40 {
		t.Fatalf("read %d records", records)
	}
	do(s.SetPolicy(ctx, kept, 3_600_000))
	_, err = s.Trim(ctx, kept, 1)
	do(err)
	_, _, err = s.Decommission(ctx, admin.Order{Star: "first"}, nil) // as far as it goes
	do(err)
	do(second.Close(ctx))
	do(auditor.Close(ctx))
	do(s.Close(ctx))
	do(on.Journal.Close())
	if st := on.Journal.Stats(); st.Dropped != 0 || st.Turns == 0 {
		t.Errorf("the journal: %+v", st)
	}
	return dir
}

// openBrisk opens a cluster on an embedded stack.
func openBrisk(ctx context.Context, t *testing.T, log *slog.Logger) (*daemon.Cluster, error) {
	t.Helper()
	stack, err := embedded.Start(ctx, embedded.Config{Dir: t.TempDir(), Buckets: demo.AllBuckets(), NoFsync: true})
	if err != nil {
		return nil, err
	}
	on, err := demo.OpenLocal(ctx, stack, daemon.Brisk(), log)
	t.Cleanup(func() {
		if on != nil {
			on.Close()
		}
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	return on, err
}

// A recording of production, replayed: nothing diverges; with other dials the first
// difference is named; no record is in it; and the simulator goes on from it.
func TestJournalOfProduction(t *testing.T) {
	dir := filmed(t)
	code, out, errs := nova(t, "", "sim", "replay", dir)
	if code != 0 || !strings.Contains(out, "no divergence") || strings.Contains(out, "note:") {
		t.Errorf("nova sim replay: %d\n%s%s", code, out, errs)
	}
	t.Log(out)

	tails, roles, last := 0, map[transcript.Role]int{}, uint64(0)
	asked := map[uint64]map[core.Path]core.Kind{}
	err := incident.Read(dir, func(_ incident.Place, r *transcript.Record) error {
		switch r.Kind {
		case transcript.KBegin:
			roles[r.Begin.Role]++
			asked[r.Begin.Root] = map[core.Path]core.Kind{}
		case transcript.KTurn:
			last = r.Turn.Serial
			of := asked[r.Turn.Root]
			if of[r.Turn.At] == core.KReadTail && r.Turn.Reply.Val != "" {
				tails++
			}
			for _, e := range r.Turn.Out {
				of[e.At] = e.Op.Kind
			}
		}
		return nil
	}, func(d incident.Damage) { t.Error(d) })
	if err != nil {
		t.Fatal(err)
	}
	for role := transcript.Auditor; role <= transcript.Decommission; role++ {
		if roles[role] == 0 {
			t.Errorf("no %s was recorded: %v", role, roles)
		}
	}
	if tails == 0 {
		t.Error("no tail was read: nothing had to be blanked")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || bytes.Contains(b, []byte(secret[:16])) {
			t.Errorf("%s holds bytes of records: %v", f, err)
		}
	}

	r, err := incident.Replay(dir, incident.Options{})
	if err != nil || r.States == 0 || r.Segments < 3 {
		t.Errorf("no state was compared: %+v, %v", r, err)
	}
	r, err = incident.Replay(dir, incident.Options{Change: func(b *transcript.Begin) { b.Env.Dials.AgeCap[core.Standard]++ }})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Diverged; d == nil || d.Serial == 0 || len(d.Want) == 0 || len(d.Got) == 0 {
		t.Errorf("with another age cap: %+v", d)
	} else {
		t.Logf("with another age cap, turn %d of %s: %s", d.Serial, d.Machine, d.What)
	}

	for seed := range uint64(3) {
		from := fmt.Sprint(last * (seed + 2) / 5)
		code, out, errs = nova(t, "", "sim", "replay", dir, "--from", from, "--seed", fmt.Sprint(seed), "--whole", "--effects", "2000")
		if code != 0 || !strings.Contains(out, "no law that is judged breaks") || !strings.Contains(out, "1 watched") {
			t.Errorf("from turn %s, seed %d: %d\n%s%s", from, seed, code, out, errs)
		}
	}
	for _, wrong := range [][]string{{"--from", "5", "--to", "6"}, {"--from", "5", "--plan", "nonsense"}} {
		if code, _, _ := nova(t, "", append([]string{"sim", "replay", dir}, wrong...)...); code == 0 {
			t.Errorf("%v is taken", wrong)
		}
	}
}

// A journal that is damaged in the middle says where, and is not taken for sound.
func TestJournalThatIsDamaged(t *testing.T) {
	dir := t.TempDir()
	seg := []byte(transcript.Magic)
	for range 3 {
		seg = transcript.AppendFrame(seg, &transcript.Record{Kind: transcript.KSegment, Segment: transcript.Segment{Seq: 1, Go: "go"}})
	}
	seg[len(seg)/2] ^= 1
	if err := os.WriteFile(filepath.Join(dir, journal.Name(1)), seg, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, _ := nova(t, "", "sim", "replay", dir)
	if code != 1 || !strings.Contains(out, "DAMAGED "+journal.Name(1)+" at offset") {
		t.Errorf("%d\n%s", code, out)
	}
}

// The daemons' flags: each writes its own journal, which is replayed once it ended.
func TestDaemonsKeepJournals(t *testing.T) {
	dir := t.TempDir()
	mine := func(name string) []string {
		return []string{"--journal", filepath.Join(dir, name), "--journal-max-mib", "2"}
	}
	t.Run("record", func(t *testing.T) {
		_, at := daemonOf(t, []string{"dev", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"},
			`--server (\S+)`, `--etcd (\S+)`, `--s3 (\S+)`, `AWS_ACCESS_KEY_ID=(\S+)`, `AWS_SECRET_ACCESS_KEY=(\S+)`)
		on := []string{"--etcd", at[1], "--s3", at[2], "--local-dials"}
		t.Setenv("AWS_ACCESS_KEY_ID", at[3])
		t.Setenv("AWS_SECRET_ACCESS_KEY", at[4])
		daemonOf(t, append(append([]string{"auditor", "--auditor", "third"}, on...), mine("auditor")...), `msg=(auditing)`)
		_, star := daemonOf(t, append(append([]string{"star", "--star", "extra", "--listen", "127.0.0.1:0"}, on...), mine("star")...), `for=clients address=(\S+)`)
		for _, args := range [][]string{{"stream", "create", "a/b", "--server", star[0]}, {"stream", "append", "a/b", "--server", star[0]}} {
			if code, out, errs := nova(t, secret+"\n", args...); code != 0 {
				t.Errorf("nova %v: %d\n%s%s", args, code, out, errs)
			}
		}
		code, _, errs := nova(t, "", append(append([]string{"auditor", "--auditor", "fourth"}, on...), mine("auditor")...)...)
		if code != 1 || !strings.Contains(errs, "another process writes to it") {
			t.Errorf("a journal is shared: %d\n%s", code, errs)
		}
	})
	for _, name := range []string{"auditor", "star", "data/" + demo.JournalDir} {
		code, out, errs := nova(t, "", "sim", "replay", filepath.Join(dir, name))
		if code != 0 || !strings.Contains(out, "no divergence") || strings.Contains(out, " 0 turns") {
			t.Errorf("%s: %d\n%s%s", name, code, out, errs)
		}
	}
	for _, args := range [][]string{{"auditor", "--auditor", "a"}, {"star", "--star", "s"}} {
		if code, _, errs := nova(t, "", append(args, "--journal", dir, "--journal-max-mib", "0")...); code != 2 || !strings.Contains(errs, "--journal-max-mib") {
			t.Errorf("%v with a journal of no size: %d\n%s", args, code, errs)
		}
	}
}
