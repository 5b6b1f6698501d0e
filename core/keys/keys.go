package keys

import (
	"errors"
	"fmt"
	"strings"
)

// ErrKey is wrapped by every parser's error: the key is not one that this
// package makes. Such a key is foreign: it is reported and left alone.
var ErrKey = errors.New("not a key of nova")

func refuse(what, key string) error {
	return fmt.Errorf("parse %s key %q: %w: leave it and report it", what, key, ErrKey)
}

// PrefixEnd is the end of the range that holds every key that begins with
// prefix: the smallest key after all of them. It is "" where there is none (the
// prefix is empty, or only 0xFF bytes).
func PrefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if c := prefix[i]; c != 0xff {
			return prefix[:i] + string([]byte{c + 1})
		}
	}
	return ""
}

func prefixRange(prefix string) (from, end string) { return prefix, PrefixEnd(prefix) }

// Widths of the fixed-width numbers.
const (
	wide    = 16 // uint64 in hex
	narrow  = 8  // uint32 in hex
	decimal = 19 // int64, not negative, in decimal: times and byte counts
	shardW  = 4  // decimal
)

// Shards is how many shards the keyspace can tell apart.
const Shards = 1 << 12

const digits = "0123456789abcdef"

func appendHex(b []byte, v uint64, width int) []byte {
	for i := width - 1; i >= 0; i-- {
		b = append(b, digits[v>>(4*uint(i))&15])
	}
	return b
}

// appendDecimal writes a non-negative number; below zero it writes zero.
func appendDecimal(b []byte, v int64, width int) []byte {
	v = max(v, 0)
	at := len(b)
	for range width {
		b = append(b, '0')
	}
	for i := at + width - 1; v > 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}

func appendShard(b []byte, shard int) []byte {
	if shard < 0 || shard >= Shards {
		panic("keys: shard out of bounds")
	}
	return append(appendDecimal(b, int64(shard), shardW), '/')
}

// cursor reads a key from left to right. The first part that does not fit makes
// it bad, and it stays bad.
type cursor struct {
	s   string
	bad bool
}

func (c *cursor) take(n int) string {
	if c.bad || n < 0 || n > len(c.s) {
		c.bad = true
		return ""
	}
	t := c.s[:n]
	c.s = c.s[n:]
	return t
}

func (c *cursor) lit(l string) {
	if c.take(len(l)) != l {
		c.bad = true
	}
}

func (c *cursor) hex(width int) (v uint64) {
	s := c.take(width)
	for i := range len(s) {
		k := strings.IndexByte(digits, s[i])
		if k < 0 {
			c.bad = true
			return 0
		}
		v = v<<4 | uint64(k)
	}
	return v
}

func (c *cursor) dec(width int) (v int64) {
	s := c.take(width)
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 || v > (1<<63-1-int64(d))/10 {
			c.bad = true
			return 0
		}
		v = v*10 + int64(d)
	}
	return v
}

func (c *cursor) shard() int {
	v := c.dec(shardW)
	c.lit("/")
	if v >= Shards {
		c.bad = true
	}
	return int(v)
}

// name reads an escaped name up to sep and takes sep too; sep 0 reads to the end.
func (c *cursor) name(sep byte) string {
	n := len(c.s)
	if sep != 0 {
		n = nameEnd(c.s, sep)
	}
	raw := c.take(n)
	if sep != 0 {
		c.take(1)
	}
	if c.bad {
		return ""
	}
	name, ok := unescape(raw)
	c.bad = !ok
	return name
}

// whole reads the rest, which must not be empty.
func (c *cursor) whole() string {
	if c.s == "" {
		c.bad = true
	}
	return c.take(len(c.s))
}

// done is the parser's verdict: everything fitted and nothing is left.
func (c *cursor) done(what, key string) error {
	if c.bad || c.s != "" {
		return refuse(what, key)
	}
	return nil
}
