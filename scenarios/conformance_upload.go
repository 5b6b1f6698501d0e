package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
)

// begin begins an upload.
func (c *check) begin(o core.Obj) string {
	c.t.Helper()
	id := c.want(core.CreateUpload(o, c.soon()), core.OK).Val
	if id == "" {
		c.fail("an upload without an id")
	}
	return id
}

// part uploads a part and returns its tag.
func (c *check) part(o core.Obj, up string, num int, body ...core.Piece) string {
	c.t.Helper()
	tag := c.want(core.UploadPart(o, up, num, body, c.soon()), core.OK).Val
	if tag == "" {
		c.fail("a part without a tag")
	}
	return tag
}

// uploads is the ids of a key's unfinished uploads.
func (c *check) uploads(o core.Obj) []string {
	c.t.Helper()
	var ids []string
	for _, it := range c.want(core.ListUploads(o), core.OK).Items {
		if it.Key != o.Key {
			c.fail("the uploads of %s hold one of %s", o.Key, it.Key)
		}
		ids = append(ids, it.Upload)
	}
	slices.Sort(ids)
	return ids
}

// standing insists on a key's unfinished uploads.
func (c *check) standing(o core.Obj, want ...string) {
	c.t.Helper()
	slices.Sort(want)
	if got := c.uploads(o); !slices.Equal(got, want) {
		c.fail("uploads of %s are %v, not %v", o.Key, got, want)
	}
}

func literal(s string) core.Piece { return core.Piece{Kind: core.Literal, Bytes: s} }

var uploadCases = []Case{
	{"upload: data, copied and last parts make an object", func(c *check) {
		n := c.PartMin
		src, o := c.obj(0, "src"), c.obj(1, "out")
		c.want(core.Create(src, []core.Piece{c.blob(0, n+1000)}, c.soon()), core.OK)
		up := c.begin(o)
		c.standing(o, up)
		tags := []string{
			c.part(o, up, 1, c.blob(5, n), ranged(src, 10, c.Blob(10, 90))),
			"",
			c.part(o, up, 3, literal("footer")),
		}
		tags[1] = c.want(core.CopyPart(o, up, 2, core.Piece{Kind: core.Range, From: src, Off: 100, Len: n, NoCRC: true}, c.soon()), core.OK).Val
		c.want(core.Stat(o), core.Absent)
		c.want(core.Complete(o, up, tags, c.soon()), core.OK)
		c.equal("the size", c.want(core.Stat(o), core.OK).Size, 2*n+96)
		whole := c.Blob(5, n) + c.Blob(10, 90) + c.Blob(100, n) + "footer"
		c.want(core.Fetch(o, 0, int64(len(whole)), sum(whole), 1), core.OK)
		c.equal("the tail", c.want(core.ReadTail(o, 6), core.OK).Val, "footer")
		c.standing(o)
	}},
	{"upload: one small part", func(c *check) {
		o := c.obj(0, "k")
		up := c.begin(o)
		c.want(core.Complete(o, up, []string{c.part(o, up, 1, literal("tiny"))}, c.soon()), core.OK)
		c.stands(o, "tiny")
	}},
	{"upload: a part that is sent again replaces itself", func(c *check) {
		o := c.obj(0, "k")
		up := c.begin(o)
		c.part(o, up, 1, literal("old"))
		c.want(core.Complete(o, up, []string{c.part(o, up, 1, literal("newer"))}, c.soon()), core.OK)
		c.stands(o, "newer")
	}},
	{"upload: complete is create-once", func(c *check) {
		o := c.obj(0, "k")
		first, second := c.begin(o), c.begin(o)
		c.standing(o, first, second)
		t1, t2 := c.part(o, first, 1, literal("first")), c.part(o, second, 1, literal("second"))
		c.want(core.Complete(o, first, []string{t1}, c.soon()), core.OK)
		c.want(core.Complete(o, second, []string{t2}, c.soon()), core.Exists)
		c.want(core.Create(o, core.Bytes("third"), c.soon()), core.Exists)
		c.stands(o, "first")
		// The loser's parts are its to abort.
		c.standing(o, second)
		c.want(core.Abort(o, second), core.OK)
		c.standing(o)
		c.stands(o, "first")
	}},
	{"upload: complete meets an object that was put", func(c *check) {
		o := c.obj(0, "k")
		up := c.begin(o)
		tag := c.part(o, up, 1, literal("mine"))
		c.put(o, "put")
		c.want(core.Complete(o, up, []string{tag}, c.soon()), core.Exists)
		c.stands(o, "put")
		c.want(core.Abort(o, up), core.OK)
	}},
	{"upload: a repeated complete changes nothing, whatever it says", func(c *check) {
		o := c.obj(0, "k")
		up := c.begin(o)
		tags := []string{c.part(o, up, 1, literal("body"))}
		c.want(core.Complete(o, up, tags, c.soon()), core.OK)
		for range 3 {
			c.want(core.Complete(o, up, tags, c.soon()), core.OK, core.Exists, core.Absent)
		}
		c.stands(o, "body")
		c.standing(o)
		// Once the object has gone, a repetition must not bring it back.
		c.want(core.Delete(o), core.OK)
		c.want(core.Complete(o, up, tags, c.soon()), core.OK, core.Absent)
		c.want(core.Stat(o), core.Absent)
	}},
	{"upload: one of sixteen completes", func(c *check) {
		for round := range 3 {
			o := c.obj(0, fmt.Sprint("k", round))
			ups, tags := make([]string, racers), make([]string, racers)
			for i := range ups {
				ups[i] = c.begin(o)
				tags[i] = c.part(o, ups[i], 1, literal(fmt.Sprint("racer ", i)))
			}
			rs := c.race(racers, func(i int) core.Op { return core.Complete(o, ups[i], tags[i:i+1], c.soon()) })
			n := tally(rs)
			if n[core.OK] != 1 || n[core.OK]+n[core.Exists]+n[core.Unknown] != racers {
				c.fail("outcomes %v", n)
			}
			c.stands(o, fmt.Sprint("racer ", slices.IndexFunc(rs, func(r core.Reply) bool { return r.Outcome == core.OK })))
			for _, up := range c.uploads(o) {
				c.want(core.Abort(o, up), core.OK)
			}
			c.standing(o)
		}
	}},
	{"upload: creates and completes race for one key", func(c *check) {
		for round := range 3 {
			o := c.obj(0, fmt.Sprint("k", round))
			ups, tags := make([]string, racers), make([]string, racers)
			for i := 0; i < racers; i += 2 {
				ups[i] = c.begin(o)
				tags[i] = c.part(o, ups[i], 1, literal(fmt.Sprint("racer ", i)))
			}
			rs := c.race(racers, func(i int) core.Op {
				if i%2 == 0 {
					return core.Complete(o, ups[i], tags[i:i+1], c.soon())
				}
				return core.Create(o, core.Bytes(fmt.Sprint("racer ", i)), c.soon())
			})
			n := tally(rs)
			if n[core.OK] != 1 || n[core.OK]+n[core.Exists]+n[core.Unknown] != racers {
				c.fail("outcomes %v", n)
			}
			c.stands(o, fmt.Sprint("racer ", slices.IndexFunc(rs, func(r core.Reply) bool { return r.Outcome == core.OK })))
		}
	}},
	{"upload: one upload is completed by many at once", func(c *check) {
		o := c.obj(0, "k")
		up := c.begin(o)
		tags := []string{c.part(o, up, 1, literal("body"))}
		rs := c.race(8, func(int) core.Op { return core.Complete(o, up, tags, c.soon()) })
		// Whoever is not first may be told anything but that it is undone for good:
		// Refused is, and so the machines read back after every other answer.
		if n := tally(rs); n[core.OK] < 1 || n[core.OK]+n[core.Exists]+n[core.Absent]+n[core.Unknown] != 8 {
			c.fail("outcomes %v", n)
		}
		c.stands(o, "body")
	}},
	{"upload: aborted, it is gone, and so are its parts", func(c *check) {
		o := c.obj(0, "k")
		up, other := c.begin(o), c.begin(o)
		tag := c.part(o, up, 1, literal("x"))
		c.want(core.Abort(o, up), core.OK)
		c.want(core.Abort(o, up), core.OK)
		c.standing(o, other)
		c.want(core.UploadPart(o, up, 2, core.Bytes("late"), c.soon()), core.Absent)
		c.want(core.Complete(o, up, []string{tag}, c.soon()), core.Absent)
		c.standing(o, other)
		c.want(core.Stat(o), core.Absent)
		c.want(core.Complete(o, other, []string{c.part(o, other, 1, literal("y"))}, c.soon()), core.OK)
		c.stands(o, "y")
	}},
	{"upload: only those of exactly the key are listed", func(c *check) {
		o := c.obj(0, "data/k@1")
		up := c.begin(o)
		for _, k := range []string{"data/k@12", "data/k", "data/k@1/x", "data/k@1~"} {
			c.begin(c.obj(0, k))
		}
		c.begin(c.obj(1, "data/k@1"))
		c.standing(o, up)
		c.standing(c.obj(0, "data"))
	}},
	{"upload: wrong parts are refused, and it can be completed still", func(c *check) {
		o := c.obj(0, "k")
		up := c.begin(o)
		tags := []string{c.part(o, up, 1, literal("small")), c.part(o, up, 2, literal("last"))}
		other := c.begin(c.obj(0, "other"))
		foreign := c.part(c.obj(0, "other"), other, 1, literal("foreign"))
		for what, wrong := range map[string][]string{"a part too small": tags, "a foreign tag": {foreign}, "a part that was never sent": {tags[0], tags[1], tags[1]}} {
			if r := c.Host.Do(core.Complete(o, up, wrong, c.soon())); r.Outcome != core.Refused {
				c.fail("%s: %s", what, r.Outcome)
			}
		}
		c.want(core.Stat(o), core.Absent)
		c.want(core.Complete(o, up, tags[:1], c.soon()), core.OK)
		c.stands(o, "small")
	}},
	{"upload: late, nothing of it is taken", func(c *check) {
		o := c.obj(0, "k")
		src := c.obj(0, "src")
		c.put(src, "0123456789")
		up := c.begin(o)
		tag := c.part(o, up, 1, literal("x"))
		late := c.Now() - 1
		c.want(core.UploadPart(o, up, 1, core.Bytes("y"), late), core.Refused)
		c.want(core.CopyPart(o, up, 1, ranged(src, 1, "12"), late), core.Refused)
		c.want(core.Complete(o, up, []string{tag}, late), core.Refused)
		c.want(core.Stat(o), core.Absent)
		c.want(core.Complete(o, up, []string{tag}, c.soon()), core.OK)
		c.stands(o, "x")
	}},
	{"copy: ranges, between stores, of what is gone", func(c *check) {
		src, o := c.obj(0, "src"), c.obj(1, "k")
		c.put(src, "0123456789")
		up := c.begin(o)
		c.equal("the reason", c.want(core.CopyPart(o, up, 1, ranged(c.obj(0, "gone"), 0, "x"), c.soon()), core.Refused).Val, sourceAbsent)
		c.want(core.CopyPart(o, up, 1, ranged(src, 8, "89 and more"), c.soon()), core.Refused)
		tag := c.want(core.CopyPart(o, up, 1, ranged(src, 3, "3456"), c.soon()), core.OK).Val
		c.want(core.Complete(o, up, []string{tag}, c.soon()), core.OK)
		c.stands(o, "3456")
		c.stands(src, "0123456789")
		gone := c.begin(o)
		c.want(core.Abort(o, gone), core.OK)
		c.want(core.CopyPart(o, gone, 1, ranged(src, 3, "3456"), c.soon()), core.Absent)
	}},
	{"upload: parts in any order", func(c *check) {
		n := c.PartMin
		o := c.obj(0, "k")
		up := c.begin(o)
		tags := make([]string, 3)
		var whole strings.Builder
		for _, i := range []int{2, 0, 1} {
			size := n
			if i == 2 {
				size = 100
			}
			tags[i] = c.part(o, up, i+1, c.blob(int64(i)*1000, size))
		}
		for i := range tags {
			size := n
			if i == 2 {
				size = 100
			}
			whole.WriteString(c.Blob(int64(i)*1000, size))
		}
		c.want(core.Complete(o, up, tags, c.soon()), core.OK)
		c.want(core.Fetch(o, 0, int64(whole.Len()), sum(whole.String()), 1), core.OK)
	}},
}
