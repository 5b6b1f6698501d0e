package s3store

import (
	"regexp"
	"strconv"
	"testing"
)

var form = regexp.MustCompile(`^bytes ([0-9]+)-([0-9]+)/([0-9]+|\*)$`)

// FuzzParseRange: of a Content-Range that is taken, the first byte is one of the
// object's; what is not of the form is not taken, and all else is.
func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"bytes 0-9/100", "bytes 5-5/6", "bytes 0-9/*", "bytes -5-2/10", "bytes 0-9/9", "bytes 9-0/100", "bytes 0-9/+100",
		"bytes 0-9/100 more", "bytes  0-9/100", "bytes +0-9/100", "bytes 00-9/100", "bytes 0-9/-1", "bytes */100", "items 0-9/100", "", "bytes 0-9223372036854775807/*",
		"bytes 0-9223372036854775808/9223372036854775809"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, h string) {
		m := form.FindStringSubmatch(h)
		off, size, err := parseRange(h)
		if m == nil {
			if err == nil {
				t.Fatalf("%q is taken as from %d of %d", h, off, size)
			}
			return
		}
		var n [3]int64
		fits := true
		for i, s := range m[1:] {
			if n[i] = -1; s != "*" {
				v, wrong := strconv.ParseInt(s, 10, 64)
				n[i], fits = v, fits && wrong == nil
			}
		}
		fits = fits && n[0] <= n[1] && (n[2] < 0 || n[1] < n[2])
		if fits != (err == nil) || fits && (off != n[0] || size != n[2]) {
			t.Fatalf("%q: from %d of %d, %v", h, off, size, err)
		}
	})
}
