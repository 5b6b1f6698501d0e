package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nova/core"
)

// racers is how many clients race for one thing.
const racers = 16

// row reads a row; Rev 0 is absence.
func (c *check) row(key string) core.Row {
	c.t.Helper()
	r := c.want(core.Get(key), core.OK, core.Absent)
	return r.Row(key)
}

// txn performs a transaction that must end so.
func (c *check) txn(want core.Outcome, ws ...core.Write) core.Reply {
	c.t.Helper()
	return c.want(core.Txn(ws...), want)
}

var metaCases = []Case{
	{"get: absent, then the row at the transaction's revision", func(c *check) {
		k := c.key("k")
		c.want(core.Get(k), core.Absent)
		r := c.txn(core.OK, core.Put(k, "v"), core.Put(c.key("l"), ""))
		c.equal("the row", c.row(k), core.Row{Mark: core.Mark{Key: k, Rev: r.Rev}, Val: "v"})
		c.equal("the other row", c.row(c.key("l")), core.Row{Mark: core.Mark{Key: c.key("l"), Rev: r.Rev}})
	}},
	{"txn: every write moves the revision, the same value too", func(c *check) {
		k := c.key("k")
		a := c.txn(core.OK, core.Put(k, "v"))
		b := c.txn(core.OK, core.Put(k, "v"))
		if b.Rev <= a.Rev || c.row(k).Rev != b.Rev {
			c.fail("revisions %d, %d, row at %d", a.Rev, b.Rev, c.row(k).Rev)
		}
	}},
	{"txn: compares of absence and of revisions", func(c *check) {
		k, n := c.key("k"), c.key("n")
		c.txn(core.OK, core.Missing(k), core.Put(k, "1"))
		m := c.row(k).Mark
		c.txn(core.Conflict, core.Missing(k), core.Put(n, "x"))
		c.txn(core.Conflict, core.If(core.Mark{Key: k, Rev: m.Rev + 1}), core.Put(n, "x"))
		c.txn(core.Conflict, core.If(core.Mark{Key: n, Rev: m.Rev}), core.Put(n, "x"))
		c.txn(core.Conflict, core.If(m), core.Missing(k+"/no"), core.If(core.Mark{Key: n, Rev: 1}), core.Put(n, "x"))
		c.want(core.Get(n), core.Absent)
		c.txn(core.OK, core.If(m), core.Missing(n), core.Put(n, "x"))
		c.equal("the compared row", c.row(k).Mark, m)
	}},
	{"txn: a row that went and came back is another", func(c *check) {
		k := c.key("k")
		c.txn(core.OK, core.Put(k, "v"))
		m := c.row(k).Mark
		c.txn(core.OK, core.Del(k))
		c.txn(core.Conflict, core.If(m), core.Put(k, "late"))
		c.txn(core.OK, core.Put(k, "v"))
		c.txn(core.Conflict, core.If(m), core.Del(k))
		c.equal("the value", c.row(k).Val, "v")
	}},
	{"txn: deletes, of what is absent too, and ranges", func(c *check) {
		c.txn(core.OK, core.Del(c.key("no")))
		c.txn(core.OK, core.DelRange(c.key("p"), c.key("q")))
		for _, k := range []string{"a", "b", "b\x00", "c", "d"} {
			c.txn(core.OK, core.Put(c.key(k), k))
		}
		c.txn(core.OK, core.DelRange(c.key("b"), c.key("c")), core.Put(c.key("c"), "new"), core.Del(c.key("d")))
		var got []string
		for _, r := range c.want(core.Scan(c.key(""), c.key("\x7f"), 10), core.OK).Rows {
			got = append(got, strings.TrimPrefix(r.Key, c.Prefix)+r.Val)
		}
		c.equal("what is left", strings.Join(got, " "), "aa cnew")
	}},
	{"scan: bytewise, bounded at both ends and by its limit", func(c *check) {
		for _, k := range []string{"b", "a/2", "a/10", "a", "a~", "c", "a/"} {
			c.txn(core.OK, core.Put(c.key(k), "v"+k))
		}
		for _, x := range []struct {
			from, end string
			limit     int
			want      string
			more      bool
		}{
			{"", "\x7f", 10, "a a/ a/10 a/2 a~ b c", false},
			{"a/", "a0", 10, "a/ a/10 a/2", false},
			{"a/", "a0", 3, "a/ a/10 a/2", false},
			{"a/", "a0", 2, "a/ a/10", true},
			{"a/1", "b", 1, "a/10", true},
			{"a\x00", "b", 9, "a/ a/10 a/2 a~", false},
			{"d", "e", 5, "", false},
			{"c", "c\x00", 1, "c", false},
		} {
			r := c.want(core.Scan(c.key(x.from), c.key(x.end), x.limit), core.OK)
			var got []string
			for _, row := range r.Rows {
				k := strings.TrimPrefix(row.Key, c.Prefix)
				if row.Val != "v"+k || row.Rev == 0 {
					c.fail("row %+v", row)
				}
				got = append(got, k)
			}
			c.equal(fmt.Sprintf("scan %+v", x), strings.Join(got, " "), x.want)
			c.equal(fmt.Sprintf("more of scan %+v", x), r.More, x.more)
		}
	}},
	{"txn: what breaks the contract is refused whole", func(c *check) {
		k := c.key("k")
		many := []core.Write{}
		for i := range core.TxnOps + 1 {
			many = append(many, core.Put(c.key(strconv.Itoa(i)), ""))
		}
		for _, ws := range [][]core.Write{
			{core.Put(k, "1"), core.Put(k, "2")},
			{core.Put(k, "1"), core.DelRange(c.key("a"), c.key("z"))},
			{core.Del(k), core.Put(k, "1")},
			{core.Missing(k)},
			{core.Put(k, strings.Repeat("x", core.TxnBytes))},
			many,
		} {
			c.txn(core.Refused, ws...)
		}
		c.want(core.Get(k), core.Absent)
		c.want(core.Get(c.key("0")), core.Absent)
	}},
	{"txn: as large as it may be", func(c *check) {
		var ws []core.Write
		for i := range core.TxnOps {
			ws = append(ws, core.Missing(c.key(fmt.Sprint("no", i))), core.Put(c.key(fmt.Sprintf("k%03d", i)), strings.Repeat("x", 10_000)))
		}
		c.txn(core.OK, ws...)
		r := c.want(core.Scan(c.key("k"), c.key("l"), core.TxnOps), core.OK)
		c.equal("rows", len(r.Rows), core.TxnOps)
		c.txn(core.OK, core.DelRange(c.key("k"), c.key("l")))
		c.txn(core.OK, core.Put(c.key("k"), strings.Repeat("y", core.TxnBytes-len(c.key("k")))))
	}},
	{"txn: one of sixteen creates a row", func(c *check) {
		for round := range 5 {
			k := c.key(fmt.Sprint("k", round))
			rs := c.race(racers, func(i int) core.Op { return core.Txn(core.Missing(k), core.Put(k, strconv.Itoa(i))) })
			n := tally(rs)
			if n[core.OK] != 1 || n[core.Conflict] != racers-1 {
				c.fail("outcomes %v", n)
			}
			won := slices.IndexFunc(rs, func(r core.Reply) bool { return r.Outcome == core.OK })
			c.equal("the value", c.row(k).Val, strconv.Itoa(won))
			c.equal("the revision", c.row(k).Rev, rs[won].Rev)
		}
	}},
	{"txn: sixteen count without losing one", func(c *check) {
		k := c.key("counter")
		c.txn(core.OK, core.Put(k, "0"))
		committed := 0
		for range 5 {
			at := c.row(k)
			n, err := strconv.Atoi(at.Val)
			if err != nil {
				c.fail("%v", err)
			}
			for _, r := range c.race(racers, func(int) core.Op { return core.Txn(core.If(at.Mark), core.Put(k, strconv.Itoa(n+1))) }) {
				if r.Outcome == core.OK {
					committed++
				}
			}
		}
		c.equal("the counter", c.row(k).Val, strconv.Itoa(committed))
		c.equal("the commits", committed, 5)
	}},
	{"session: what was put under it goes with it, and nothing else", func(c *check) {
		s, ok := c.Host.(Sessions)
		if !ok {
			return
		}
		k, plain := c.key("lease"), c.key("plain")
		c.txn(core.OK, core.Missing(k), core.PutLeased(k, "mine"), core.Put(plain, "x"))
		m := c.row(k).Mark
		c.txn(core.OK, core.If(m), core.Put(plain, "y"))
		s.EndSession()
		c.want(core.Get(k), core.Absent)
		c.txn(core.Conflict, core.If(m), core.Put(plain, "z"))
		c.equal("the plain row", c.row(plain).Val, "y")
		c.txn(core.OK, core.Missing(k), core.PutLeased(k, "of the next"))
	}},
	{"space: puts are NoSpace whatever they compare, deletes pass", func(c *check) {
		a, ok := c.Host.(Alarm)
		if !ok {
			return
		}
		k, n := c.key("k"), c.key("n")
		c.txn(core.OK, core.Put(k, "v"), core.Put(n, "v"))
		a.SetNoSpace(true)
		defer a.SetNoSpace(false)
		c.txn(core.NoSpace, core.Put(k, "w"))
		c.txn(core.NoSpace, core.Missing(k), core.Put(k, "w"))
		c.txn(core.NoSpace, core.PutLeased(c.key("l"), ""))
		c.txn(core.NoSpace, core.Del(n), core.Put(k, "w"))
		c.txn(core.Conflict, core.Missing(k), core.Del(k))
		c.equal("the value", c.row(k).Val, "v")
		c.txn(core.OK, core.If(c.row(k).Mark), core.Del(k))
		c.txn(core.OK, core.DelRange(n, n+"\x00"))
		c.want(core.Get(k), core.Absent)
		a.SetNoSpace(false)
		c.txn(core.OK, core.Put(k, "again"))
	}},
}
