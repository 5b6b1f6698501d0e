package sim_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nova/faults"
	"nova/sim"
)

// sealed is a record's text with its last line made anew.
func sealed(text string) string {
	text = strings.TrimSuffix(text, "\n")
	if i := strings.LastIndexByte(text, '\n'); strings.HasPrefix(text[i+1:], "end ") {
		text = text[:i]
	}
	return text + "\n" + sim.RecordEnd([]byte(text+"\n"))
}

func lineOf(text, key string) string {
	return regexp.MustCompile(`(?m)^` + key + ` .*\n`).FindString(text)
}

// A text that is not a whole record is refused, and the reason is said: the run of what
// is left of it would be another one.
func TestRecordRefuses(t *testing.T) {
	good := string(sim.Recorded(sim.Config{Seed: 3, Effects: 100, Scene: sim.Nova}).Record.Encode())
	if sealed(good) != good {
		t.Fatal("it is not sealed as it is written")
	}
	type c struct{ text, says string }
	cases := map[string]c{
		"nothing":            {"", "is empty"},
		"one line":           {"seed 3", `begins with "seed 3"`},
		"its first line":     {sim.RecordVersion, "has no end"},
		"an older form":      {strings.Replace(good, sim.RecordVersion, "nova-record 1", 1), "of an older form"},
		"a newer version":    {strings.Replace(good, sim.RecordVersion, "nova-record 12", 1), "of a newer version, 12"},
		"a long line":        {strings.Repeat("x", 5000), "(5000 bytes)"},
		"no end":             {good[:strings.LastIndex(good, "end ")], "has no end"},
		"half an end":        {strings.TrimSuffix(good, "\n"), "has no end"},
		"more after the end": {good + "more\n", "has no end"},
		"a second end":       {good + good[strings.LastIndex(good, "end "):], "damaged, or was edited"},
		"a long word":        {sealed(strings.Replace(good, " land ", " "+strings.Repeat("y", 5000)+" ", 1)), "… ("},
		"a choice too few":   {sealed(strings.Replace(good, "\nchoices ", "\nchoices 1", 1)), "choices, and says 1"},
		"an unknown fact":    {sealed(strings.Replace(good, "\nseed ", "\nseeds ", 1)), `"seeds" is no fact`},
		"a damaged tape":     {sealed(strings.Replace(good, "\ntape ", "\ntape !", 1)), "illegal base64"},
		"no such dial":       {sealed(strings.Replace(good, `{"ReadGrace"`, `{"ReadGrade"`, 1)), "unknown field"},
		"a broken contract":  {sealed(strings.Replace(good, `{"ReadGrace":2400`, `{"ReadGrace":1`, 1)), ""},
		"no such kind":       {sealed(strings.Replace(good, " get ", " got ", 1)), "is no choice"},
		"no such word":       {sealed(strings.Replace(good, " land ", " sand ", 1)), "is no choice"},
		"an end inside":      {sealed(strings.Replace(good, "\ntape ", "\nend\ntape ", 1)), `"end" is no choice`},
	}
	for _, key := range []string{"seed", "plan", "commit", "go", "effects", "instant", "sum", "dials", "world", "choices"} {
		line := lineOf(good, key)
		says := fmt.Sprintf("it has no line %q", key)
		if key == "choices" {
			says = "" // then each choice is taken for a fact
		}
		cases["without "+key] = c{sealed(strings.Replace(good, line, "", 1)), says}
		cases[key+" twice"] = c{sealed(strings.Replace(good, line, line+line, 1)), ""}
		cases[key+" lost"] = c{strings.Replace(good, line, "", 1), "damaged, or was edited"}
	}
	for what, c := range cases {
		if c.text == good {
			t.Errorf("%s: the text is unchanged", what)
		}
		_, err := sim.DecodeRecord([]byte(c.text))
		if !errors.Is(err, sim.ErrRecord) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 400 {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := 0; i < len(good); i += 37 {
		b := []byte(good)
		b[i] ^= 1
		if _, err := sim.DecodeRecord(b); !errors.Is(err, sim.ErrRecord) {
			t.Errorf("bit 0 of byte %d flips, and it reads: %v", i, err)
		}
	}
}

// FuzzDecodeRecord: what decodes is written as it was read. Of a text that has another
// checksum, the one with its own is tried besides.
func FuzzDecodeRecord(f *testing.F) {
	good := string(sim.Recorded(sim.Config{Seed: 3, Effects: 60, Scene: sim.Nova}).Record.Encode())
	f.Add([]byte(good))
	head := good[:strings.Index(good, "\nchoices ")+1]
	f.Add([]byte(head + "choices 1\n5 land a/1 1.2 txn due/settle/17 ~1 fault=late args=1,2 early reply\n"))
	f.Add([]byte(head + "choices 0\n"))
	f.Add([]byte(head + "choices -1\n"))
	f.Add([]byte(head))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, text := range [][]byte{text, []byte(sealed(string(text)))} {
			r, err := sim.DecodeRecord(text)
			if err != nil {
				if !errors.Is(err, sim.ErrRecord) {
					t.Fatal(err)
				}
				continue
			}
			once := r.Encode()
			again, err := sim.DecodeRecord(once)
			if err != nil {
				t.Fatalf("what was written does not read: %v\n%s", err, once)
			}
			if !bytes.Equal(once, again.Encode()) {
				t.Fatal(differ(string(once), string(again.Encode())))
			}
		}
	})
}

// A record says of which commit the source was, though go test does not stamp what it
// builds; and that it was changed since.
func TestRecordNamesItsCommit(t *testing.T) {
	root, err := faults.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		out, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		want = strings.TrimSpace(string(out))
	}
	rec := sim.Recorded(sim.Config{Seed: 1, Effects: 20, Scene: sim.Nova}).Record
	if got := strings.TrimSuffix(rec.Commit, "+"); got != want || rec.Go == "" {
		t.Errorf("it says commit %q, %s; the checkout is at %q", rec.Commit, rec.Go, want)
	}
}

// The record that docs/reproduce.md shows has every fact, one a line, in the order in
// which they are written.
func TestTheRecordInTheGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "docs", "reproduce.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(guide), "```\n")
	shown, _, _ = strings.Cut(shown, "```")
	keys := func(text string) (out []string) {
		for l := range strings.Lines(text) {
			key, _, _ := strings.Cut(strings.TrimSpace(l), " ")
			if optional := key == "planted" || key == "breach" || key == "tape"; !optional && key != "actor" && (key < "0" || key > "9~") {
				out = append(out, key)
			}
		}
		return out
	}
	good := string(sim.Recorded(sim.Config{Seed: 3, Effects: 50, Scene: sim.Nova}).Record.Encode())
	if got, want := strings.Join(keys(shown), " "), strings.Join(keys(good), " "); got != want || !strings.HasPrefix(shown, sim.RecordVersion+"\n") {
		t.Errorf("it shows %s\nand a record has %s", got, want)
	}
	if lines := strings.Split(strings.TrimSpace(shown), "\n"); !regexp.MustCompile(`^end [0-9a-f]{8}$`).MatchString(lines[len(lines)-1]) {
		t.Errorf("it ends with %q", lines[len(lines)-1])
	}
}
