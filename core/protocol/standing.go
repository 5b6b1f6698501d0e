package protocol

import (
	"nova/core"
	"nova/core/format"
	"nova/core/plan"
)

// standing takes the tail of what stands at the key.
func (p *Publish) standing(t core.Turn, o *plan.Output, r *core.Reply) {
	switch r.Outcome {
	case core.OK:
		tail, err := format.ParseTail(r.Val, r.Size)
		if err != nil || tail.Kind != format.SettledObject {
			p.broken(ForeignObject, -1)
			return
		}
		p.tail, p.Durable.Size = tail, r.Size
		if !tail.Whole {
			p.step = pubFooter
			return
		}
		p.cover(t, o, tail.Footer)
	case core.OutOfRange, core.Damaged: // an empty object, or one that is not what its store once took
		p.broken(ForeignObject, -1)
	default: // Absent: nothing stands, yet; begin anew under the same intent. Unknown: later.
		p.fail(core.Again)
	}
}

func (p *Publish) footer(t core.Turn, o *plan.Output, r *core.Reply) {
	if r.Outcome != core.OK {
		p.fail(core.Again)
		return
	}
	f, err := format.DecodeFooter(r.Val)
	if err != nil {
		p.broken(ForeignObject, -1)
		return
	}
	p.cover(t, o, f)
}

// cover compares what stands with what would have been published, and takes it
// as the output as far as it goes: to a row's end.
func (p *Publish) cover(t core.Turn, o *plan.Output, f format.Footer) {
	rows, m := p.layout.Cover(f)
	switch m {
	case plan.Foreign:
		p.broken(ForeignObject, -1)
		return
	case plan.MidRow:
		t.NoteOf(core.NotePublishMidRow, 1, p.Durable.Obj.Key)
		p.broken(MidRow, -1)
		return
	case plan.Other:
		p.fail(core.Again)
		return
	}
	if plan.Conserve(o, p.footers(), rows, f, p.tail.Window) != nil {
		p.broken(Contradiction, -1)
		return
	}
	if rows < len(o.Rows) {
		t.Note(core.NotePublishTruncated, 1)
	}
	p.Durable.Footer, p.Durable.Window = f, p.tail.Window
	p.Durable.Rows, p.Durable.LiveFrom = rows, p.layout.Live()
	p.fail(core.Done)
}

func (p *Publish) footers() []plan.Read {
	reads := make([]plan.Read, p.reads.Len())
	for i := range reads {
		reads[i] = p.reads.At(i).read
	}
	return reads
}
