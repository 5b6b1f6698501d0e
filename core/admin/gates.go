package admin

import (
	"slices"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
)

// readRecord decides where to go on.
func (d *Decommission) readRecord(t core.Turn, e *core.Env, o *Order, r *core.Reply) {
	switch r.Outcome {
	case core.OK:
	case core.Absent:
		d.Report.Phase, d.record, d.step = 0, r.Row(keys.Gone(o.Star)), decomMints
		return
	default:
		d.stop(Unanswered, keys.Gone(o.Star))
		return
	}
	g, err := format.DecodeGone(r.Val)
	if err != nil {
		d.stop(Damaged, keys.Gone(o.Star))
		return
	}
	d.record, d.gone, d.Report.Phase = r.Row(keys.Gone(o.Star)), g, g.Phase
	switch due := g.SweptAt + e.Dials.RequestLife; {
	case g.Phase == format.GoneDone:
		d.end(core.Done)
	case g.Phase == format.GoneDraining:
		d.step = decomRipen
	case g.SweptAt > t.Now+e.Dials.RequestLife: // dated by a clock that was wrong: the first sweep is taken again
		d.beginSweep(decomSweep)
	case t.Now < due:
		d.Report.block(Blocker{Reason: Unswept, Key: d.record.Key, Until: due})
		d.step = decomBlocked
	default:
		d.beginSweep(decomSweepAgain)
	}
}

// readMints takes the marks of the newest epochs of both classes.
func (d *Decommission) readMints(o *Order, r *core.Reply) {
	if r.Outcome != core.OK {
		d.stop(Unanswered, keys.Mint(o.Star, core.Standard))
		return
	}
	d.mints.Make(core.Classes)
	for c := range core.Class(core.Classes) {
		d.mints.Set(int(c), core.Mark{Key: keys.Mint(o.Star, c)})
	}
	for i := range r.Rows {
		_, c, err := keys.ParseMint(r.Rows[i].Key)
		if err != nil {
			d.stop(Damaged, r.Rows[i].Key)
			return
		}
		d.mints.Set(int(c), r.Rows[i].Mark)
		d.known = true
	}
	d.step = decomGuard
}

// guard asks whether the star is drained.
func (d *Decommission) guard(o *Order, r *core.Reply) {
	alive, definite := r.Found()
	d.alive, d.known = alive, d.known || alive
	switch {
	case !definite:
		d.stop(Unanswered, keys.Star(o.Star))
	case alive && !o.Force:
		d.stop(NotDrained, keys.Star(o.Star))
	default:
		d.step = decomSettle
	}
}

// gate takes a page of records: each must be settled.
func (d *Decommission) gate(e *core.Env) {
	if d.stores == nil {
		for _, of := range e.Stores.Of {
			d.stores = union(d.stores, of)
		}
	}
	for i := range d.chains.page {
		c := &d.chains.page[i]
		d.known, d.stores = true, union(d.stores, c.consts.Stores)
		if c.at.State != format.ChainSettled && !d.blocks(c.head.Key) {
			b := Blocker{Reason: Unsettled, Key: c.head.Key}
			if c.at.State == format.ChainSwept {
				b.Until = c.at.SweptAt + e.Dials.RequestLife
			}
			d.Report.block(b)
		}
	}
	if d.chains.more {
		return
	}
	d.chains = chainWalk{}
	if len(d.stores) > format.MaxGoneStores {
		d.Report.block(Blocker{Reason: Damaged, Key: d.record.Key, Detail: "more stores than a record can name"})
	}
	if d.alive { // no record is written against a registration
		d.Report.block(Blocker{Reason: NotDrained, Key: d.starKey()})
	}
	if !d.known {
		d.Report.block(Blocker{Reason: NoSuchStar, Key: d.starKey()})
	}
	d.pass(decomWrite)
}

// starKey is the registration of the star whose record this is about.
func (d *Decommission) starKey() string {
	star, _ := keys.ParseGone(d.record.Key)
	return keys.Star(star)
}

// blocks reports whether a key is in the way already.
func (d *Decommission) blocks(key string) bool {
	return slices.ContainsFunc(d.Report.Blockers, func(b Blocker) bool { return b.Key == key })
}

// union adds what is missing. The slice is replaced, never changed.
func union(to, more []core.Store) []core.Store {
	for _, s := range more {
		if !slices.Contains(to, s) {
			to = append(to[:len(to):len(to)], s)
		}
	}
	return to
}
