package scenarios_test

import (
	"testing"

	"nova/core"
	"nova/scenarios"
	"nova/sim/world"
)

// bent is a world with one promise broken.
type bent struct {
	simulated
	before func(b *bent, op *core.Op)
	after  func(op *core.Op, r *core.Reply)
}

func (b *bent) Do(op core.Op) core.Reply {
	if b.before != nil {
		b.before(b, &op)
	}
	r := b.simulated.Do(op)
	if b.after != nil {
		b.after(&op, &r)
	}
	return r
}

// counted is a TB that counts what fails.
type counted struct{ n int }

func (*counted) Helper()                 {}
func (c *counted) Errorf(string, ...any) { c.n++ }

func unless(k core.Kind, change func(op *core.Op, r *core.Reply)) func(op *core.Op, r *core.Reply) {
	return func(op *core.Op, r *core.Reply) {
		if op.Kind == k {
			change(op, r)
		}
	}
}

// A server that breaks any one promise does not pass.
func TestSuiteHasTeeth(t *testing.T) {
	overwrite := func(k core.Kind) func(b *bent, op *core.Op) {
		return func(b *bent, op *core.Op) {
			if op.Kind == k {
				b.simulated.Do(core.Delete(op.Obj()))
			}
		}
	}
	for name, b := range map[string]*bent{
		"put ignores If-None-Match":      {before: overwrite(core.KCreate)},
		"complete ignores If-None-Match": {before: overwrite(core.KComplete)},
		"expiry ignored": {before: func(_ *bent, op *core.Op) {
			if op.IsStore() && op.Mutates() {
				op.Until += 1 << 40
			}
		}},
		"compares ignored": {before: func(_ *bent, op *core.Op) {
			var ws []core.Write
			for _, w := range op.Txn {
				if w.Verb != core.VIf {
					ws = append(ws, w)
				}
			}
			op.Txn = ws
		}},
		"absence is a failure": {after: func(_ *core.Op, r *core.Reply) {
			if r.Outcome == core.Absent {
				r.Outcome = core.Unknown
			}
		}},
		"a lost create is a success": {after: unless(core.KCreate, func(_ *core.Op, r *core.Reply) {
			if r.Outcome == core.Exists {
				r.Outcome = core.OK
			}
		})},
		"aborts do nothing": {before: func(_ *bent, op *core.Op) {
			if op.Kind == core.KAbort {
				op.End = "another"
			}
		}},
		"a deleted object stays": {before: func(_ *bent, op *core.Op) {
			if op.Kind == core.KDelete {
				op.Key += "/"
			}
		}},
		"uploads listed by prefix": {after: unless(core.KListUploads, func(op *core.Op, r *core.Reply) {
			r.Items = append(r.Items, core.Item{Key: op.Key + "2", Upload: "x"})
		})},
		"no more ever":        {after: func(_ *core.Op, r *core.Reply) { r.More = false }},
		"always more":         {after: unless(core.KList, func(_ *core.Op, r *core.Reply) { r.More = true })},
		"suffixes as ranges":  {after: unless(core.KReadTail, func(_ *core.Op, r *core.Reply) { r.Size = int64(len(r.Val)) })},
		"checksums unchecked": {before: uncheck},
		"no revisions":        {after: unless(core.KGet, func(_ *core.Op, r *core.Reply) { r.Rev = 1 })},
	} {
		l := world.LimitsOf(new(core.Spec()))
		l.PartMin = 4096
		b.simulated = simulated{now: 1_000_000, w: world.New(l, world.Dialect{RepeatComplete: core.OK}, buckets[:]...)}
		var failed counted
		for i, c := range scenarios.Cases() {
			c.Run(&failed, scenarios.Setting{Host: b, Stores: buckets, Prefix: string(rune('A'+i)) + "/", Now: b.Now, PartMin: l.PartMin,
				Blob: func(off, n int64) string { return blob()[off : off+n] }})
		}
		if failed.n == 0 {
			t.Errorf("%s: every case passed", name)
		}
	}
}

// uncheck drops the checksums of a body.
func uncheck(_ *bent, op *core.Op) {
	body := append([]core.Piece(nil), op.Body...)
	for i := range body {
		body[i].NoCRC = true
	}
	op.Body = body
}
