package protocol

import (
	"testing"

	"nova/core"
	"nova/core/format"
)

// A slot of one chunk, as a store has it.
func slotBytes() (body string, w format.Window) {
	data := "thirty bytes of somebody's data"
	tail, w := format.Finish(format.SlotObject, int64(len(data)), []format.Chunk{
		{Stream: 7, First: 3, Count: 2, CRC: format.CRC([]byte(data)), Len: int64(len(data))},
	})
	return data + tail, w
}

// objectReply answers a read of an object.
func objectReply(op *core.Op, body string) core.Reply {
	n := int64(len(body))
	switch {
	case op.Kind == core.KReadTail && n == 0 || op.Kind == core.KReadRange && op.Off >= n:
		return core.Reply{Outcome: core.OutOfRange}
	case op.Kind == core.KReadTail:
		return core.Reply{Val: body[max(0, n-op.Len):], Size: n}
	}
	return core.Reply{Val: body[op.Off:min(n, op.Off+op.Len)]}
}

// C5, C10, C41: what each replica can say, alone and before a good one.
func TestReadSlotTable(t *testing.T) {
	good, win := slotBytes()
	wide := make([]format.Chunk, 2000) // its footer is longer than one tail read
	for i := range wide {
		wide[i] = format.Chunk{Stream: uint64(i), Count: 1}
	}
	tail, wideWin := format.Finish(format.SlotObject, 0, wide)
	settled, _ := format.Finish(format.SettledObject, 0, []format.Chunk{{Stream: 1, Count: 1}})
	replies := []struct {
		name  string
		store func(op *core.Op) core.Reply
		alone core.Verdict
		gone  bool
	}{
		{"good", func(op *core.Op) core.Reply { return objectReply(op, good) }, core.Done, false},
		{"absent", func(*core.Op) core.Reply { return core.Reply{Outcome: core.Absent} }, core.Done, true},
		{"fence", func(op *core.Op) core.Reply { return objectReply(op, format.Fence("s", 1, 2)) }, core.Done, true},
		{"empty", func(op *core.Op) core.Reply { return objectReply(op, "") }, core.Broken, false},
		{"short", func(op *core.Op) core.Reply { return objectReply(op, good[:20]) }, core.Broken, false},
		{"torn", func(op *core.Op) core.Reply { return objectReply(op, good[:len(good)-40]) }, core.Broken, false},
		{"settled", func(op *core.Op) core.Reply { return objectReply(op, settled) }, core.Broken, false},
		{"damaged", func(*core.Op) core.Reply { return core.Reply{Outcome: core.Damaged} }, core.Broken, false},
		{"refused", func(*core.Op) core.Reply { return core.Reply{Outcome: core.Refused} }, core.Again, false},
		{"unknown", func(*core.Op) core.Reply { return core.Reply{Outcome: core.Unknown} }, core.Again, false},
	}
	read := func(window format.Window, stores ...func(op *core.Op) core.Reply) (ReadSlot, core.Verdict) {
		var r ReadSlot
		var x core.Exchange
		names := []core.Store{"0", "1", "2"}[:len(stores)]
		turn := x.Start()
		for {
			v := r.Step(turn, nil, names, "k", window)
			if v != core.Working {
				return r, v
			}
			ef := x.Out[0]
			turn = x.Deliver(ef.At, stores[ef.Op.Store[0]-'0'](&ef.Op))
		}
	}
	for _, window := range []format.Window{{}, win, {Off: 1, Len: 9}} {
		for _, c := range replies {
			r, v := read(window, c.store)
			if v != c.alone || r.Gone != c.gone {
				t.Errorf("%s, window %v: %s, gone %v; want %s, %v", c.name, window, v, r.Gone, c.alone, c.gone)
			}
			for _, d := range replies[1:] { // whatever comes before it, a good replica is found
				r, v := read(window, c.store, d.store, replies[0].store)
				if v != core.Done || r.Gone || r.Footer.Len() != 1 || r.Window != win {
					t.Errorf("%s, %s, good, window %v: %s, %+v", c.name, d.name, window, v, r)
				}
				want := max(c.alone, d.alone) // without one: torn is definite, unless something is not
				if c.alone == core.Again || d.alone == core.Again {
					want = core.Again
				}
				if c.name == "good" {
					want = core.Done
				}
				if r, v := read(window, c.store, d.store); v != want || r.Gone != (c.gone && d.gone) {
					t.Errorf("%s, %s, window %v: %s, gone %v; want %s", c.name, d.name, window, v, r.Gone, want)
				}
			}
		}
	}
	if r, v := read(format.Window{}, func(op *core.Op) core.Reply { return objectReply(op, tail) }); v != core.Done || r.Footer.Len() != len(wide) || r.Window != wideWin {
		t.Errorf("a wide footer: %s, %d chunks", v, r.Footer.Len())
	}
}
