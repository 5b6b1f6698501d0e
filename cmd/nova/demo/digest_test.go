package demo

import "testing"

func TestDigestsTellLinesApart(t *testing.T) {
	sum := func(records ...string) string {
		d := newDigest()
		for _, r := range records {
			d.add([]byte(r))
		}
		return d.sum()
	}
	seen := map[string]bool{}
	for _, s := range []string{sum(), sum(""), sum("", ""), sum("a", "b"), sum("ab"), sum("b", "a"), sum("a", "b", "")} {
		if seen[s] {
			t.Fatal("two different lists of records have one digest")
		}
		seen[s] = true
	}
}
