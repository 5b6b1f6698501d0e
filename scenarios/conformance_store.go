package scenarios

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"nova/core"
)

// sourceAbsent is the Val with which every host refuses a write whose source is
// definitely gone.
const sourceAbsent = "source absent"

func sum(b string) uint32 { return crc32.Checksum([]byte(b), crc32.MakeTable(crc32.Castagnoli)) }

// blob is a piece of the suite's blob.
func (c *check) blob(off, n int64) core.Piece {
	return core.Piece{Kind: core.Blob, Blob: 1, Off: off, Len: n, CRC: sum(c.Blob(off, n))}
}

// ranged is a piece of an object whose bytes from off on are val.
func ranged(o core.Obj, off int64, val string, also ...core.Obj) core.Piece {
	return core.Piece{Kind: core.Range, From: o, Also: also, Off: off, Len: int64(len(val)), CRC: sum(val)}
}

var storeCases = []Case{
	{"absence is definite, however it is asked", func(c *check) {
		o := c.obj(0, "no")
		c.want(core.Stat(o), core.Absent)
		c.want(core.ReadRange(o, 0, 8), core.Absent)
		c.want(core.ReadRange(o, 5, 8), core.Absent)
		c.want(core.ReadTail(o, 8), core.Absent)
		c.want(core.Fetch(o, 0, 8, 0, 1), core.Absent)
	}},
	{"create: once, and the first body stands", func(c *check) {
		o := c.obj(0, "k")
		c.put(o, "first")
		c.want(core.Create(o, core.Bytes("second, longer"), c.soon()), core.Exists)
		c.want(core.Create(o, core.Bytes("first"), c.soon()), core.Exists)
		c.stands(o, "first")
		c.want(core.Stat(c.obj(1, "k")), core.Absent)
	}},
	{"create: one of sixteen, and its body stands", func(c *check) {
		for round := range 5 {
			o := c.obj(0, fmt.Sprint("k", round))
			body := func(i int) string { return strings.Repeat(fmt.Sprint("racer ", i, " "), 100) }
			rs := c.race(racers, func(i int) core.Op { return core.Create(o, core.Bytes(body(i)), c.soon()) })
			n := tally(rs)
			// Unknown: a conflict (409) that did not end while the adapter asked again.
			if n[core.OK] != 1 || n[core.OK]+n[core.Exists]+n[core.Unknown] != racers {
				c.fail("outcomes %v", n)
			}
			c.stands(o, body(slices.IndexFunc(rs, func(r core.Reply) bool { return r.Outcome == core.OK })))
		}
	}},
	{"create: past its time it is refused, and nothing stands", func(c *check) {
		o := c.obj(0, "late")
		c.want(core.Create(o, core.Bytes("x"), c.Now()-1), core.Refused)
		c.want(core.Stat(o), core.Absent)
		c.want(core.CreateUpload(o, c.Now()-1), core.Refused)
		c.equal("uploads", len(c.want(core.ListUploads(o), core.OK).Items), 0)
	}},
	{"read: inside, at the end, past it", func(c *check) {
		o := c.obj(0, "k")
		c.put(o, "0123456789")
		c.equal("a range", c.want(core.ReadRange(o, 2, 3), core.OK).Val, "234")
		c.equal("the last byte", c.want(core.ReadRange(o, 9, 1), core.OK).Val, "9")
		c.equal("a range over the end", c.want(core.ReadRange(o, 8, 10), core.OK).Val, "89")
		c.want(core.ReadRange(o, 10, 1), core.OutOfRange)
		c.want(core.ReadRange(o, 1000, 5), core.OutOfRange)
		for n, want := range map[int64]string{1: "9", 4: "6789", 10: "0123456789", 11: "0123456789", 1000: "0123456789"} {
			r := c.want(core.ReadTail(o, n), core.OK)
			c.equal(fmt.Sprint("the tail of ", n), r.Val, want)
			c.equal("the size", r.Size, int64(10))
		}
	}},
	{"read: an empty object has no range", func(c *check) {
		o := c.obj(0, "empty")
		c.want(core.Create(o, nil, c.soon()), core.OK)
		c.stands(o, "")
		c.want(core.ReadRange(o, 0, 1), core.OutOfRange)
		c.want(core.ReadTail(o, 8), core.OutOfRange)
		c.want(core.Create(o, core.Bytes("x"), c.soon()), core.Exists)
	}},
	{"delete: what stands, and what does not; then the key is free", func(c *check) {
		o := c.obj(0, "k")
		c.want(core.Delete(o), core.OK)
		c.put(o, "a")
		c.want(core.Delete(o), core.OK)
		c.want(core.Stat(o), core.Absent)
		c.want(core.Delete(o), core.OK)
		c.put(o, "b")
		c.stands(o, "b")
	}},
	{"delete: many at once, each answered, no other harmed", func(c *check) {
		const n = 1100
		for i := range 30 {
			c.put(c.obj(0, fmt.Sprint("k", i*37)), "x")
		}
		c.put(c.obj(0, "k"), "stays")
		c.put(c.obj(0, fmt.Sprint("k", n)), "stays")
		for i, r := range c.race(n, func(i int) core.Op { return core.Delete(c.obj(0, fmt.Sprint("k", i))) }) {
			if r.Outcome != core.OK {
				c.fail("delete %d: %s", i, r.Outcome)
			}
		}
		r := c.want(core.List(c.Stores[0], c.key(""), "", 100), core.OK)
		c.equal("what stands", len(r.Items), 2)
	}},
	{"list: bytewise, under a prefix, after a key, so many", func(c *check) {
		for i, k := range []string{"a/2", "a/10", "b", "a=2F", "a/1~0@1", "ab"} {
			c.put(c.obj(0, k), strings.Repeat("x", i))
		}
		c.put(c.obj(1, "a/3"), "elsewhere")
		c.want(core.CreateUpload(c.obj(0, "a/9"), c.soon()), core.OK)
		for _, x := range []struct {
			prefix, after string
			limit         int
			want          string
			more          bool
		}{
			{"", "", 10, "a/10 a/1~0@1 a/2 a=2F ab b", false},
			{"a/", "", 10, "a/10 a/1~0@1 a/2", false},
			{"a/", "", 3, "a/10 a/1~0@1 a/2", false},
			{"a/", "", 2, "a/10 a/1~0@1", true},
			{"a/", "a/10", 1, "a/1~0@1", true},
			{"a/", "a/1~0@1", 5, "a/2", false},
			{"a/1", "a/1", 5, "a/10 a/1~0@1", false},
			{"a", "a/2", 1, "a=2F", true},
			{"a/", "a/2", 5, "", false},
			{"c", "", 5, "", false},
		} {
			after := ""
			if x.after != "" {
				after = c.key(x.after)
			}
			r := c.want(core.List(c.Stores[0], c.key(x.prefix), after, x.limit), core.OK)
			var got []string
			for _, it := range r.Items {
				got = append(got, strings.TrimPrefix(it.Key, c.Prefix))
			}
			c.equal(fmt.Sprintf("list %+v", x), strings.Join(got, " "), x.want)
			c.equal(fmt.Sprintf("more of list %+v", x), r.More, x.more)
		}
		c.equal("a size", c.want(core.List(c.Stores[0], c.key("ab"), "", 1), core.OK).Items[0].Size, int64(5))
	}},
	{"body: literals, blobs and ranges, checked", func(c *check) {
		src, dst := c.obj(0, "src"), c.obj(1, "dst")
		c.want(core.Create(src, []core.Piece{c.blob(0, 5000), {Kind: core.Literal, Bytes: "footer"}}, c.soon()), core.OK)
		c.stands(src, c.Blob(0, 5000)+"footer")
		c.want(core.Create(dst, []core.Piece{ranged(src, 4990, c.Blob(4990, 10)+"foot"), {Kind: core.Literal, Bytes: "|"},
			ranged(src, 7, c.Blob(7, 100)), c.blob(9, 0), c.blob(3, 4)}, c.soon()), core.OK)
		c.stands(dst, c.Blob(4990, 10)+"foot|"+c.Blob(7, 100)+c.Blob(3, 4))
		wrong := ranged(src, 0, c.Blob(0, 50))
		wrong.CRC++
		long := ranged(src, 5000, "footer and more")
		blob := c.blob(0, 7)
		blob.CRC++
		for _, p := range []core.Piece{wrong, long, blob} {
			c.want(core.Create(c.obj(1, "bad"), []core.Piece{c.blob(0, 9), p}, c.soon()), core.Damaged)
		}
		c.want(core.Stat(c.obj(1, "bad")), core.Absent)
		wrong.NoCRC, wrong.CRC = true, 0
		c.want(core.Create(c.obj(1, "unchecked"), []core.Piece{wrong}, c.soon()), core.OK)
	}},
	{"body: a source that is gone, and one that a replica has", func(c *check) {
		a, b := c.obj(0, "slot"), c.obj(1, "slot")
		gone := ranged(a, 3, "345", b)
		c.equal("the reason", c.want(core.Create(c.obj(0, "out"), []core.Piece{gone}, c.soon()), core.Refused).Val, sourceAbsent)
		c.want(core.Stat(c.obj(0, "out")), core.Absent)
		c.put(b, "0123456789")
		c.want(core.Create(c.obj(0, "out"), []core.Piece{gone}, c.soon()), core.OK)
		c.stands(c.obj(0, "out"), "345")
	}},
	{"fetch: checked, or not at all", func(c *check) {
		o := c.obj(0, "k")
		c.put(o, "0123456789")
		c.want(core.Fetch(o, 2, 4, sum("2345"), 1), core.OK)
		c.want(core.Fetch(o, 2, 4, sum("other"), 1), core.Damaged)
		c.want(core.Fetch(o, 8, 4, sum("89"), 1), core.Damaged)
		c.want(core.Fetch(o, 10, 4, 1, 1), core.OutOfRange)
		c.want(core.Stage(o, 10), core.OK)
	}},
}
