package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nova/core"
	"nova/core/keys"
)

// epoch is the true time at which a scene begins: a multiple of every bucket, and
// late enough for every grace to be taken from it.
const epoch = core.Ms(1_793_491_200_000)

// span prints a duration.
func span(d core.Ms) string {
	s := (time.Duration(d) * time.Millisecond).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// clock prints a time: since the scene began.
func clock(t core.Ms) string {
	if t == 0 {
		return "never"
	}
	return span(t - epoch)
}

func parseSpan(s string) (core.Ms, error) {
	if y, ok := strings.CutSuffix(s, "y"); ok {
		n, err := strconv.Atoi(y)
		return core.Ms(n) * 365 * 24 * 3600 * 1000, err
	}
	d, err := time.ParseDuration(s)
	return core.Ms(d.Milliseconds()), err
}

// names prints keys: numbers as numbers, times since the scene began, and the
// incarnations of a derived key counted from 1, in the order in which they were
// first seen. (The revisions themselves change with every transaction that anybody
// makes; a script should not.)
type names struct {
	incs map[keys.Settled]int // by address, without its bucket
	last map[keys.Settled]int // of the derived address
}

func newNames() *names { return &names{map[keys.Settled]int{}, map[keys.Settled]int{}} }

// inc is the number of an incarnation.
func (n *names) inc(o keys.Settled) int {
	o.Bucket = ""
	if n.incs[o] == 0 {
		n.last[o.Derived()]++
		n.incs[o] = n.last[o.Derived()]
	}
	return n.incs[o]
}

// revision finds the incarnation that has a number.
func (n *names) revision(o keys.Settled, num int) (keys.Incarnation, bool) {
	o.Bucket = ""
	for x, k := range n.incs {
		if x.Derived() == o && k == num {
			return x.Inc, true
		}
	}
	return keys.Incarnation{}, false
}

// object prints an object key.
func (n *names) object(key string) string {
	if o, err := keys.ParseSettled(key); err == nil {
		return fmt.Sprintf("data/%s/%d/%s", o.Bucket, o.Stream, n.settled(o))
	}
	if star, ep, slot, err := keys.ParseSlot(key); err == nil {
		return fmt.Sprintf("chain/%s/%d/%d", star, ep, slot)
	}
	return key
}

// settled prints the end of a settled object's key.
func (n *names) settled(o keys.Settled) string {
	s := fmt.Sprintf("%d/%d", o.Epoch, o.First)
	if o.Revision != 0 {
		s += fmt.Sprintf("~%d", o.Revision)
	}
	if o.HasInc {
		s += fmt.Sprintf("@%d", n.inc(o))
	}
	return s
}

// key prints a metastore key.
func (n *names) key(k string) string {
	head, _, _ := strings.Cut(k, "/")
	switch head {
	case "due", "sched":
		if d, err := keys.ParseDue(k); err == nil {
			return n.due(&d)
		}
	case "park":
		if q, m, err := keys.ParsePark(k); err == nil {
			return "park/" + q.String() + "/" + n.key(m)
		}
	case "ref":
		if id, last, err := keys.ParseRef(k); err == nil {
			return fmt.Sprintf("ref/%d/%d", id, last)
		}
	case "chain":
		if star, ep, part, err := keys.ParseChain(k); err == nil {
			return fmt.Sprintf("chain/%s/%d/%s", star, ep, part)
		}
	case "stream", "trim", "producer", "writer":
		if id, err := strconv.ParseUint(k[len(head)+1:], 16, 64); err == nil {
			return fmt.Sprintf("%s/%d", head, id)
		}
	case "lease":
		if id, err := keys.ParseStreamLease(k); err == nil {
			return fmt.Sprintf("lease/stream/%d", id)
		}
		if star, ep, err := keys.ParseChainLease(k); err == nil {
			return fmt.Sprintf("lease/chain/%s/%d", star, ep)
		}
		if star, ep, err := keys.ParseSettleClaim(k); err == nil {
			return fmt.Sprintf("lease/settle/%s/%d", star, ep)
		}
	}
	return k
}

func (n *names) due(d *keys.Due) string {
	s := "due/"
	if d.Sched {
		s = "sched/"
	}
	s += d.Queue.String() + "/"
	switch {
	case d.Queue == keys.GC:
		s += fmt.Sprintf("%d dead~", d.Dead)
	case d.Sched || !d.Queue.Scheduled():
		s += clock(d.At) + "~"
	}
	switch d.Queue {
	case keys.Settle, keys.TrimCheck:
		s += fmt.Sprintf("%s~%d", d.Star, d.Epoch)
	case keys.Denorm:
		s += fmt.Sprintf("%s~%d~%d", d.Star, d.Epoch, d.Slot)
	case keys.Teardown, keys.Retention:
		if s += strconv.FormatUint(d.Stream, 10); d.Final {
			s += "~final"
		}
	default:
		s += n.object(d.Object)
	}
	return s
}

// bound prints the end of a range: a key, or the key that ends a prefix.
func (n *names) bound(end string) string {
	if k, ok := strings.CutSuffix(end, "\x00"); ok {
		return n.key(k) + " and it"
	}
	if last := len(end) - 1; end[last] == '/'+1 || end[last] == '~'+1 { // it ends a prefix
		end = end[:last] + string(end[last]-1) + "*"
	}
	return n.key(end)
}

// scan prints a range read.
func (n *names) scan(o *core.Op) string {
	from, end := n.key(o.Key), n.bound(o.End)
	if id, _, err := keys.ParseRef(o.Key); err == nil {
		if _, last := keys.RefRange(id, 0); o.End == last {
			return fmt.Sprintf("scan %s and up, at most %d", from, o.Num)
		}
	}
	for q := range keys.Queue(keys.Queues) {
		all, _ := keys.RipeRange(q, 0, 0)
		var t int64
		if tail, ok := strings.CutPrefix(o.End, all); ok && len(tail) > 1 && o.Key >= all {
			if _, err := fmt.Sscanf(tail[:len(tail)-1], "%d", &t); err == nil && !strings.ContainsAny(tail, "/@") {
				if o.Key == all {
					from = strings.TrimSuffix(all, "0000/")
				}
				return fmt.Sprintf("scan %s up to %s, at most %d", from, clock(core.Ms(t)), o.Num)
			}
		}
	}
	return fmt.Sprintf("scan %s to %s, at most %d", from, end, o.Num)
}

// opText is one operation on one line: what rules match.
func (s *Script) opText(o *core.Op) string {
	at := string(o.Store) + "/" + s.object(o.Key)
	switch o.Kind {
	case core.KGet:
		return "get " + s.key(o.Key)
	case core.KScan:
		return s.scan(o)
	case core.KTxn:
		return "txn " + strings.Join(s.txnLines(o.Txn), " ")
	case core.KReadRange:
		return fmt.Sprintf("read-range %s %d+%d", at, o.Off, o.Len)
	case core.KReadTail:
		return "read-tail " + at
	case core.KFetch:
		return fmt.Sprintf("fetch %s %d+%d", at, o.Off, o.Len)
	case core.KCreate:
		return fmt.Sprintf("create %s, %d bytes", at, core.Size(o.Body))
	case core.KUploadPart, core.KCopyPart:
		return fmt.Sprintf("%s %s %s part %d, %d bytes", o.Kind, at, o.End, o.Num, core.Size(o.Body))
	case core.KComplete:
		return fmt.Sprintf("complete %s %s, %d parts", at, o.End, len(o.Parts))
	case core.KAbort:
		return fmt.Sprintf("abort %s %s", at, o.End)
	case core.KList:
		return "list " + string(o.Store) + "/" + o.Key
	case core.KWait:
		return "wait until " + clock(o.Until)
	case core.KTake, core.KGive:
		return o.Kind.String() + " " + o.Key
	}
	return o.Kind.String() + " " + at
}

// txnLines is a transaction: what it compares, and what it writes.
func (s *Script) txnLines(ws []core.Write) (lines []string) {
	ifs, dels := "if", "del"
	for i := range ws {
		switch w := &ws[i]; w.Verb {
		case core.VIf:
			if w.At.Rev == 0 {
				ifs += " no"
			}
			ifs += " " + s.key(w.At.Key)
		case core.VDel:
			dels += " " + s.key(w.At.Key)
		case core.VDelRange:
			dels += fmt.Sprintf(" [%s, %s)", s.key(w.At.Key), s.bound(w.Val))
		}
	}
	if ifs != "if" {
		lines = append(lines, ifs)
	}
	for i := range ws {
		if w := &ws[i]; w.Verb == core.VPut || w.Verb == core.VPutLeased {
			lines = append(lines, "put "+s.row(&core.Row{Mark: w.At, Val: w.Val}))
		}
	}
	if dels != "del" {
		lines = append(lines, dels)
	}
	return lines
}

// row prints a row: its key, and what its value says.
func (s *Script) row(r *core.Row) string {
	return strings.TrimRight(s.key(r.Key)+": "+s.value(r), ": ")
}

// matches reports whether a text has the words in order.
func matches(text string, words []string) bool {
	for _, w := range words {
		i := strings.Index(text, w)
		if i < 0 {
			return false
		}
		text = text[i+len(w):]
	}
	return true
}
