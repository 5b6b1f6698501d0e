package keys

import (
	"fmt"
	"strings"
)

// Names come from people: they may hold any bytes. In a key, letters, digits,
// '-', '_' and '.' stand for themselves (but for a '.' that begins a component)
// and every other byte is '=' and two hex digits; the empty name is a bare '='.
// What is longer than a component goes on in the next: each component but the
// last ends in '+', so that no key is a directory of another.

// component is how long a component of a key may be: a file name's length, since
// some stores keep an object as a file.
const component = 255

// MaxName is how long a stream's name may be, in bytes.
const MaxName = 1024

// CheckStar refuses a star's name that is empty or does not fit one component of
// an object key. Registration calls it.
func CheckStar(star string) error { return checkComponent("star", star) }

// CheckBucket refuses a bucket's name that is empty or does not fit one
// component of an object key. Stream creation calls it.
func CheckBucket(bucket string) error { return checkComponent("bucket", bucket) }

// CheckName refuses a stream's name that is empty or longer than MaxName.
// Stream creation calls it.
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("stream name has %d bytes: choose one of 1 to %d", len(name), MaxName)
	}
	return nil
}

func checkComponent(what, name string) error {
	if n := len(escape(name)); name == "" || n > component {
		return fmt.Errorf("%s name %.40q has %d bytes (%d once escaped): choose one of 1 to %d", what, name, len(name), n, component)
	}
	return nil
}

func safe(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// plain reports whether a name is its own escaped form.
func plain(name string) bool {
	if name == "" || len(name) > component || name[0] == '.' {
		return false
	}
	for i := range len(name) {
		if !safe(name[i]) {
			return false
		}
	}
	return true
}

func escape(name string) string {
	if plain(name) {
		return name
	}
	if name == "" {
		return "="
	}
	if e := escapeBytes(name, false); len(e) <= component {
		return e
	}
	// Any byte may begin a component now, so every '.' is escaped.
	e := escapeBytes(name, true)
	var b strings.Builder
	for len(e) > component {
		b.WriteString(e[:component-1])
		b.WriteString("+/")
		e = e[component-1:]
	}
	b.WriteString(e)
	return b.String()
}

func escapeBytes(name string, dots bool) string {
	b := make([]byte, 0, len(name)+16)
	for i := range len(name) {
		if c := name[i]; !safe(c) || c == '.' && (dots || i == 0) {
			b = append(b, '=', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// nameEnd is where the escaped name that s begins with ends: at the first sep
// that is not a continuation. It is -1 where there is none.
func nameEnd(s string, sep byte) int {
	for i := range len(s) {
		if s[i] == sep && (sep != '/' || i == 0 || s[i-1] != '+') {
			return i
		}
	}
	return -1
}

// unescape is the inverse of escape. It refuses every form that escape does not
// make, so that a name has one key.
func unescape(s string) (string, bool) {
	if plain(s) {
		return s, true
	}
	if s == "=" {
		return "", true
	}
	e := strings.ReplaceAll(s, "+/", "")
	b := make([]byte, 0, len(e))
	for i := 0; i < len(e); i++ {
		if e[i] != '=' {
			b = append(b, e[i])
			continue
		}
		if i+2 >= len(e) {
			return "", false
		}
		hi, lo := strings.IndexByte(digits, e[i+1]), strings.IndexByte(digits, e[i+2])
		if hi < 0 || lo < 0 {
			return "", false
		}
		b = append(b, byte(hi<<4|lo))
		i += 2
	}
	name := string(b)
	return name, escape(name) == s
}
