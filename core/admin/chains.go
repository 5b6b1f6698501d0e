package admin

import (
	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// chain is the record of one epoch, as one look found it.
type chain struct {
	epoch         uint64
	con, head, tr core.Row
	consts        format.ChainConst
	at            format.ChainHead
	trim          format.ChainTrim
}

// through reports whether nothing of the chain is left to do: it is settled, and
// every slot below its cut is deleted.
func (c *chain) through() bool {
	return c.at.State == format.ChainSettled && c.at.Checkpoint == c.at.Cut && c.trim.Trimmed == c.at.Cut
}

// chainWalk reads the chain records of a star, page by page, in the order of
// epochs. A record's three rows stand side by side, and may lie on two pages.
type chainWalk struct {
	call core.Call
	from string
	half chain // rows of the next record; those that are missing have Rev 0

	page []chain // whole records; immutable
	more bool    // others follow
	why  Reason  // Again: why, and of which row
	bad  string
}

// next reads the next page. Done: page holds what it brought, perhaps nothing.
// Again: it cannot be read, for the reason why; then the walk begins anew.
func (w *chainWalk) next(t core.Turn, e *core.Env, star string) core.Verdict {
	r, ok := w.call.AwaitFunc(t, func() core.Op {
		from, end := keys.ChainRange(star)
		return core.Scan(max(from, w.from), end, e.Dials.ScanPage)
	})
	if !ok {
		return core.Working
	}
	if r.Outcome != core.OK {
		return w.stop(Unanswered, keys.StarPrefix(star))
	}
	w.page, w.more = nil, r.More
	for i := range r.Rows {
		w.from = r.Rows[i].Key + "\x00"
		if why := w.take(r.Rows[i]); why != NoReason {
			return w.stop(why, r.Rows[i].Key)
		}
	}
	if !w.more && w.half.rows() > 0 {
		return w.stop(Overtaken, keys.ChainPrefix(star, w.half.epoch))
	}
	return core.Done
}

func (w *chainWalk) stop(why Reason, key string) core.Verdict {
	*w = chainWalk{why: why, bad: key}
	return core.Again
}

// take adds one row to the record at hand.
func (w *chainWalk) take(row core.Row) Reason {
	_, epoch, part, err := keys.ParseChain(row.Key)
	if err != nil {
		return Damaged
	}
	c := &w.half
	if c.rows() > 0 && c.epoch != epoch {
		return Overtaken // rows go together, but two pages are two looks
	}
	c.epoch = epoch
	switch part {
	case keys.PartConst:
		c.con = row
		c.consts, err = format.DecodeChainConst(row.Val)
	case keys.PartHead:
		c.head = row
		c.at, err = format.DecodeChainHead(row.Val)
	case keys.PartTrim:
		c.tr = row
		c.trim, err = format.DecodeChainTrim(row.Val)
	}
	if c.rows() == 3 {
		n := len(w.page)
		w.page = append(w.page[:n:n], *c)
		*c = chain{}
	}
	if err != nil {
		return Damaged
	}
	return NoReason
}

func (c *chain) rows() (n int) {
	for _, r := range [...]int64{c.con.Rev, c.head.Rev, c.tr.Rev} {
		if r != 0 {
			n++
		}
	}
	return n
}
