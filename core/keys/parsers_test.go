package keys

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A parser that FuzzParse does not feed would be one that nothing feeds.
func TestEveryParserIsFuzzed(t *testing.T) {
	test, err := os.ReadFile("keys_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, fuzz, found := strings.Cut(string(test), "func FuzzParse(")
	if !found {
		t.Fatal("there is no FuzzParse in keys_test.go")
	}
	n := 0
	for _, file := range []string{"due.go", "objects.go", "rows.go", "streams.go", "name.go", "shard.go", "keys.go"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Parse\w+)\(`).FindAllStringSubmatch(string(src), -1) {
			if n++; !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(fuzz) {
				t.Errorf("%s: %s is not fuzzed", file, m[1])
			}
		}
	}
	if n < 15 {
		t.Errorf("%d parsers were found", n)
	}
}
