package transcript

import "nova/core"

// Fields of an operation that are there.
const (
	opNum = 1 << iota
	opCRC
	opStore
	opKey
	opEnd
	opVal
	opOff
	opLen
	opUntil
	opTxn
	opBody
	opParts
	opFields
)

func (w *wire) op(o *core.Op) {
	var has uint64
	for bit, on := range [...]bool{o.Num != 0, o.CRC != 0, o.Store != "", o.Key != "", o.End != "", o.Val != "", o.Off != 0, o.Len != 0, o.Until != 0, len(o.Txn) > 0, len(o.Body) > 0, len(o.Parts) > 0} {
		if on {
			has |= 1 << bit
		}
	}
	w.byte(byte(o.Kind))
	w.u(has)
	if has&opNum != 0 {
		w.i(int64(o.Num))
	}
	if has&opCRC != 0 {
		w.u(uint64(o.CRC))
	}
	if has&opStore != 0 {
		w.text(string(o.Store))
	}
	if has&opKey != 0 {
		w.text(o.Key)
	}
	if has&opEnd != 0 {
		w.text(o.End)
	}
	if has&opVal != 0 {
		w.text(o.Val)
	}
	if has&opOff != 0 {
		w.i(o.Off)
	}
	if has&opLen != 0 {
		w.i(o.Len)
	}
	if has&opUntil != 0 {
		w.i(int64(o.Until))
	}
	if has&opTxn != 0 {
		w.u(uint64(len(o.Txn)))
		for i := range o.Txn {
			x := &o.Txn[i]
			w.byte(byte(x.Verb))
			w.mark(x.At)
			w.text(x.Val)
		}
	}
	if has&opBody != 0 {
		w.u(uint64(len(o.Body)))
		for i := range o.Body {
			w.piece(&o.Body[i])
		}
	}
	if has&opParts != 0 {
		w.u(uint64(len(o.Parts)))
		for _, s := range o.Parts {
			w.text(s)
		}
	}
}

func (p *unwire) op() (o core.Op) {
	o.Kind = core.Kind(p.below(core.Kinds))
	has := p.u()
	p.need(has < opFields)
	if has&opNum != 0 {
		o.Num = p.i32()
	}
	if has&opCRC != 0 {
		o.CRC = p.u32()
	}
	if has&opStore != 0 {
		o.Store = core.Store(p.text())
	}
	if has&opKey != 0 {
		o.Key = p.text()
	}
	if has&opEnd != 0 {
		o.End = p.text()
	}
	if has&opVal != 0 {
		o.Val = p.text()
	}
	if has&opOff != 0 {
		o.Off = p.i()
	}
	if has&opLen != 0 {
		o.Len = p.i()
	}
	if has&opUntil != 0 {
		o.Until = core.Ms(p.i())
	}
	if has&opTxn != 0 {
		o.Txn = list(p, 4, func() (x core.Write) {
			x.Verb = core.Verb(p.below(int(core.VDelRange) + 1))
			x.At = p.mark()
			x.Val = p.text()
			return x
		})
	}
	if has&opBody != 0 {
		o.Body = list(p, 5, p.piece)
	}
	if has&opParts != 0 {
		o.Parts = list(p, 1, p.text)
	}
	return o
}

func (w *wire) piece(x *core.Piece) {
	w.byte(byte(x.Kind))
	w.flag(x.NoCRC)
	w.u(uint64(x.CRC))
	w.text(x.Bytes)
	w.u(x.Blob)
	w.obj(x.From)
	w.u(uint64(len(x.Also)))
	for _, o := range x.Also {
		w.obj(o)
	}
	w.i(x.Off)
	w.i(x.Len)
}

func (p *unwire) piece() (x core.Piece) {
	x.Kind = core.PieceKind(p.below(int(core.Range) + 1))
	x.NoCRC = p.flag()
	x.CRC = p.u32()
	x.Bytes = p.text()
	x.Blob = p.u()
	x.From = p.obj()
	x.Also = list(p, 2, p.obj)
	x.Off = p.i()
	x.Len = p.i()
	return x
}

func (w *wire) effects(es []core.Effect) {
	w.u(uint64(len(es)))
	for i := range es {
		w.path(es[i].At)
		w.op(&es[i].Op)
	}
}

func (p *unwire) effects() []core.Effect {
	return list(p, 3, func() (e core.Effect) {
		e.At = p.path()
		e.Op = p.op()
		return e
	})
}

// Fields of a reply that are there.
const (
	reMore = 1 << iota
	reRev
	reSize
	reVal
	reRows
	reItems
	reFields
)

func (w *wire) reply(r *core.Reply) {
	var has uint64
	for bit, on := range [...]bool{r.More, r.Rev != 0, r.Size != 0, r.Val != "", len(r.Rows) > 0, len(r.Items) > 0} {
		if on {
			has |= 1 << bit
		}
	}
	w.byte(byte(r.Outcome))
	w.byte(byte(has))
	if has&reRev != 0 {
		w.i(r.Rev)
	}
	if has&reSize != 0 {
		w.i(r.Size)
	}
	if has&reVal != 0 {
		w.blanked(r.Val)
	}
	if has&reRows != 0 {
		w.u(uint64(len(r.Rows)))
		for i := range r.Rows {
			w.mark(r.Rows[i].Mark)
			w.text(r.Rows[i].Val)
		}
	}
	if has&reItems != 0 {
		w.u(uint64(len(r.Items)))
		for i := range r.Items {
			x := &r.Items[i]
			w.text(x.Key)
			w.text(x.Upload)
			w.i(x.Size)
		}
	}
}

func (p *unwire) reply() (r core.Reply) {
	r.Outcome = core.Outcome(p.below(core.Outcomes))
	has := p.below(reFields)
	r.More = has&reMore != 0
	if has&reRev != 0 {
		r.Rev = p.i()
	}
	if has&reSize != 0 {
		r.Size = p.i()
	}
	if has&reVal != 0 {
		r.Val = p.blanked()
	}
	if has&reRows != 0 {
		r.Rows = list(p, 3, func() (x core.Row) {
			x.Mark = p.mark()
			x.Val = p.text()
			return x
		})
	}
	if has&reItems != 0 {
		r.Items = list(p, 3, func() (x core.Item) {
			x.Key = p.text()
			x.Upload = p.text()
			x.Size = p.i()
			return x
		})
	}
	return r
}
