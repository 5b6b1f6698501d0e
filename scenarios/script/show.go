package script

import (
	"fmt"
	"strings"

	"nova/core"
	"nova/core/format"
	"nova/core/keys"
	"nova/core/law"
	"nova/sim"
	"nova/sim/world"
)

// dull are the rows that show leaves out unless they are asked for.
var dull = []string{"counter/", "mint/", "name/", "star/"}

// show prints what stands and whose name has one of the prefixes; without any,
// all but what is dull.
func (s *Script) show(prefixes []string) {
	wanted := func(name string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		for _, p := range dull {
			if strings.HasPrefix(name, p) {
				return false
			}
		}
		return len(prefixes) == 0
	}
	n := s.out.Len()
	for i := range s.W.Meta.Len() {
		r := s.W.Meta.Row(i)
		if k := s.key(r.Key); wanted(k) {
			s.printf("%s", s.row(&r))
		}
	}
	for _, b := range s.W.Buckets() {
		for i := range b.Len() {
			o := b.Object(i)
			if k := string(b.Name) + "/" + s.object(o.Key); wanted(k) {
				s.printf("%s: %s", k, contents(o))
			}
		}
		for _, u := range b.Uploads() {
			if k := string(b.Name) + "/" + s.object(u.Key); wanted(k) {
				s.printf("%s: upload %s, %d parts", k, u.ID, len(u.Parts))
			}
		}
	}
	if s.out.Len() == n {
		s.printf("nothing")
	}
}

// contents prints what an object's own footer says.
func contents(o *world.Object) string {
	t, err := format.ParseTail(o.Tail(o.Size()), o.Size())
	switch {
	case err != nil:
		return fmt.Sprintf("%d bytes, no trailer", o.Size())
	case t.Kind == format.FenceObject:
		return "a fence"
	}
	text := ""
	for i := range t.Footer.Len() {
		c := t.Footer.At(i)
		text += fmt.Sprintf(" #%d[%d, %d)", c.Stream, c.First, c.End())
	}
	return strings.TrimSpace(text)
}

// value prints a row's value.
func (s *Script) value(r *core.Row) string {
	head, _, _ := strings.Cut(r.Key, "/")
	text, err := "", error(nil)
	switch head {
	case "due", "sched":
		text, err = dueValue(r)
	case "park":
		var p format.Parked
		p, err = format.DecodeParked(r.Val)
		text = fmt.Sprintf("since %s: %s", clock(p.At), p.Reason)
	case "ref":
		text, err = s.refValue(r)
	case "chain":
		text, err = chainValue(r)
	case "stream":
		var d format.Stream
		d, err = format.DecodeStream(r.Val)
		text = d.Bucket + "/" + d.Name
		if d.MaxAge > 0 {
			text += ", keeps " + span(d.MaxAge)
		}
		if d.Deleted {
			text += ", deleted at " + clock(d.DeletedAt)
		}
	case "writer":
		var w format.Writer
		w, err = format.DecodeWriter(r.Val)
		text = fmt.Sprintf("%s/%d to %d", w.Star, w.Epoch, w.End)
	case "trim", "counter", "mint", "name":
		var n uint64
		n, err = format.DecodeNumber(r.Val)
		text = fmt.Sprint(n)
	case "gone":
		var g format.Gone
		g, err = format.DecodeGone(r.Val)
		text = fmt.Sprintf("phase %d since %s", g.Phase, clock(g.Since))
	}
	if err != nil {
		return "does not decode"
	}
	return text
}

func chainValue(r *core.Row) (string, error) {
	_, _, part, err := keys.ParseChain(r.Key)
	if err != nil {
		return "", err
	}
	switch part {
	case keys.PartConst:
		c, err := format.DecodeChainConst(r.Val)
		return fmt.Sprintf("%s in %v, pipeline %d", c.Class, c.Stores, c.Pipeline), err
	case keys.PartTrim:
		t, err := format.DecodeChainTrim(r.Val)
		text := fmt.Sprintf("trimmed %d, rewritten %d", t.Trimmed, t.Rewritten)
		if t.Rewritten > 0 {
			text += " at " + clock(t.RewrittenAt)
		}
		return text, err
	}
	h, err := format.DecodeChainHead(r.Val)
	text := fmt.Sprintf("open, checkpoint %d", h.Checkpoint)
	if h.State != format.ChainOpen {
		state := [...]string{format.ChainCut: "cut", format.ChainSwept: "swept", format.ChainSettled: "settled"}[h.State]
		text = fmt.Sprintf("%s at %d, checkpoint %d", state, h.Cut, h.Checkpoint)
	}
	return text, err
}

func (s *Script) refValue(r *core.Row) (string, error) {
	id, _, _ := keys.ParseRef(r.Key)
	row, err := format.DecodeRow(r.Val)
	text := ""
	if row.Kind == format.SpanRow {
		text = fmt.Sprintf("[%d, %d) in %s/%d:", row.First, row.End, row.Star, row.Epoch)
		for i := range row.Spans {
			sp := &row.Spans[i]
			text += fmt.Sprintf(" [%d, %d)@%d", sp.Chunk.First, sp.Chunk.End(), sp.Slot)
		}
		return text, err
	}
	for i := range row.Entries {
		e := &row.Entries[i]
		text += fmt.Sprintf(", [%d, %d)", e.First, e.End())
		if e.Lost {
			text += " lost"
			continue
		}
		text += " in " + s.settled(keys.Settled{Stream: id, Epoch: e.Epoch, First: e.First, Revision: e.Revision,
			Inc: keys.Incarnation{Generation: e.Generation, Created: e.Created}, HasInc: true})
		if e.LiveFrom > e.First {
			text += fmt.Sprintf(" live from %d", e.LiveFrom)
		}
	}
	return strings.TrimPrefix(text, ", "), err
}

func dueValue(r *core.Row) (text string, err error) {
	d, err := keys.ParseDue(r.Key)
	if err != nil {
		return "", err
	}
	var attempts format.Attempts
	switch {
	case d.Queue == keys.Orphan && d.Sched:
		if r.Val != "" {
			var m format.SettleMark
			m, err = format.DecodeSettleMark(r.Val)
			attempts = m.Attempts
		}
	case d.Sched:
	case d.Queue == keys.Orphan:
		return intentValue(r.Val)
	case d.Queue == keys.Denorm:
		return batchValue(r.Val)
	case d.Queue == keys.Reap, d.Queue == keys.GC:
		var m format.ReapMark
		m, err = format.DecodeReapMark(r.Val)
		if attempts = m.Attempts; m.Confirmed {
			text = "confirmed"
		}
		if m.NotBefore > 0 {
			text = "not before " + clock(m.NotBefore)
		}
	case d.Queue == keys.Teardown:
		var m format.TeardownMark
		m, err = format.DecodeTeardownMark(r.Val)
		text, attempts = "deleted at "+clock(m.DeletedAt), m.Attempts
	case d.Queue == keys.Retention:
		var m format.RetentionMark
		m, err = format.DecodeRetentionMark(r.Val)
		attempts = m.Attempts
	case d.Queue == keys.TrimCheck:
		var m format.TrimMark
		m, err = format.DecodeTrimMark(r.Val)
		attempts = m.Attempts
	default:
		var m format.SettleMark
		m, err = format.DecodeSettleMark(r.Val)
		attempts = m.Attempts
	}
	return strings.TrimPrefix(text+failed(attempts), ", "), err
}

func batchValue(val string) (string, error) {
	m, err := format.DecodeBatchMark(val)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("slots [%d, %d), ready at %s", m.Slots[0].Slot, m.End(), clock(m.Ready))
	if m.Crossing {
		text += ", crossing"
	}
	if m.Parked {
		text += ", parked"
	}
	return text + failed(m.Attempts), nil
}

func intentValue(val string) (string, error) {
	x, err := format.DecodeIntent(val)
	text := "born at " + clock(x.Birth)
	if x.Shared {
		text += ", shared"
	}
	if x.Condemned {
		look := [...]string{"it has not looked", "it saw nothing", "it saw a dead object", "it saw a live one"}[x.Look]
		text += fmt.Sprintf(", condemned at %s: %s", clock(x.Since), look)
	}
	return text, err
}

func failed(a format.Attempts) string {
	if a == 0 {
		return ""
	}
	return fmt.Sprintf(", failed %d times", a&(1<<12-1))
}

// expect holds what stands to a number.
func (s *Script) expect(args []string) error {
	if len(args) == 1 && args[0] == "rest" {
		if left := law.AtRest(sim.Snapshot(s.W)); len(left) > 0 {
			return fmt.Errorf("%s", left[0])
		}
		return nil
	}
	if len(args) != 3 {
		return fmt.Errorf("expect what?")
	}
	var want, have uint64
	if _, err := fmt.Sscan(args[2], &want); err != nil {
		return err
	}
	count := func(name string) {
		if strings.HasPrefix(name, args[1]) {
			have++
		}
	}
	switch args[0] {
	case "rows":
		for i := range s.W.Meta.Len() {
			count(s.key(s.W.Meta.Row(i).Key))
		}
	case "objects":
		for _, b := range s.W.Buckets() {
			for i := range b.Len() {
				count(string(b.Name) + "/" + s.object(b.Object(i).Key))
			}
		}
	case "uploads":
		for _, b := range s.W.Buckets() {
			for _, u := range b.Uploads() {
				count(string(b.Name) + "/" + s.object(u.Key))
			}
		}
	case "acked":
		st, err := s.stream(args[1])
		if err != nil {
			return err
		}
		have = st.acked
	default:
		return fmt.Errorf("expect what?")
	}
	if have != want {
		return fmt.Errorf("it is %d", have)
	}
	return nil
}
