package faults

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Planted is one bug that the simulator must find: what a sentence of the
// specification, a gap's closing or a law forbids, written down as an edit of
// the core. The core itself has no hook for it.
//
// A file of faults/planted is headers, then one or more edits:
//
//	breaks: the sentence that it violates
//	file: core/duty/trimcheck.go
//	law: 4
//	--- find
//	(exact text that occurs once in the file)
//	--- replace
//	(what stands there instead; it calls core.Planted, so that a run can tell
//	"never reached" from "not noticed")
type Planted struct {
	Name   string // of its file, without .txt
	Breaks string
	File   string   // from the module's root, with slashes
	Law    int      // that must catch it; 0: any
	With   []string // flags for the simulator's run that make it likely to be reached
	Edits  []Edit
}

// Edit replaces one text, which occurs once, by another.
type Edit struct{ Find, Replace string }

// ErrPlanted is wrapped by every error about a planted bug's file.
var ErrPlanted = errors.New("planted bug")

// Load reads every planted bug of a folder, by name.
func Load(dir string) ([]Planted, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("list planted bugs in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: no *.txt in %s", ErrPlanted, dir)
	}
	slices.Sort(files)
	bugs := make([]Planted, len(files))
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read planted bug: %w", err)
		}
		bugs[i], err = ParsePlanted(strings.TrimSuffix(filepath.Base(f), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
	}
	return bugs, nil
}

const (
	findMark    = "--- find"
	replaceMark = "--- replace"
	call        = "Planted()"
)

// ParsePlanted parses one file.
func ParsePlanted(name, text string) (p Planted, err error) {
	p.Name = name
	refuse := func(format string, a ...any) (Planted, error) {
		return Planted{}, fmt.Errorf("%w %s: %s", ErrPlanted, name, fmt.Sprintf(format, a...))
	}
	head, rest, found := strings.Cut(text, findMark+"\n")
	if !found {
		return refuse("no line %q", findMark)
	}
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, val, ok := strings.Cut(line, ":")
		val = strings.TrimSpace(val)
		switch {
		case ok && key == "breaks":
			p.Breaks = val
		case ok && key == "file":
			p.File = val
		case ok && key == "with":
			p.With = strings.Fields(val)
		case ok && key == "law":
			if _, err := fmt.Sscanf(val, "%d", &p.Law); err != nil || p.Law < 1 {
				return refuse("law %q is no number of a law", val)
			}
		default:
			return refuse("the line %q is no header: breaks, file, law, with", line)
		}
	}
	for more := true; more; {
		var edit string
		edit, rest, more = strings.Cut(rest, "\n"+findMark+"\n")
		find, replace, ok := strings.Cut(edit, "\n"+replaceMark+"\n")
		if !ok || strings.TrimSpace(find) == "" {
			return refuse("an edit without a text to find, or without a line %q", replaceMark)
		}
		p.Edits = append(p.Edits, Edit{find, strings.TrimSuffix(replace, "\n")})
	}
	switch {
	case p.Breaks == "":
		return refuse("it does not say what it breaks")
	case p.File == "" || path.Clean(p.File) != p.File || !strings.HasPrefix(p.File, "core/") || !strings.HasSuffix(p.File, ".go") || strings.HasSuffix(p.File, "_test.go"):
		return refuse("file %q is no source of the core", p.File)
	case !slices.ContainsFunc(p.Edits, func(e Edit) bool { return strings.Contains(e.Replace, call) }):
		return refuse("no replacement passes the mark: call core.%s", call)
	}
	return p, nil
}

// Span is where a text lies in a source.
type span struct{ from, to int }

// spans finds each edit's text, which must occur exactly once.
func (p *Planted) spans(src string) ([]span, error) {
	ss := make([]span, len(p.Edits))
	for i, e := range p.Edits {
		if n := strings.Count(src, e.Find); n != 1 {
			return nil, fmt.Errorf("%w %s does not apply: the text of edit %d occurs %d times in %s: %q", ErrPlanted, p.Name, i+1, n, p.File, firstLine(e.Find))
		}
		ss[i].from = strings.Index(src, e.Find)
		ss[i].to = ss[i].from + len(e.Find)
	}
	return ss, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// Apply plants the bug in its file's source.
func (p *Planted) Apply(src string) (string, error) { return plant(src, []*Planted{p}) }

// plant plants several bugs in one source; each text must occur once in the
// original, and none may overlap another.
func plant(src string, bugs []*Planted) (string, error) {
	type put struct {
		span
		text string
	}
	var puts []put
	for _, p := range bugs {
		ss, err := p.spans(src)
		if err != nil {
			return "", err
		}
		for i, s := range ss {
			puts = append(puts, put{s, p.Edits[i].Replace})
		}
	}
	slices.SortFunc(puts, func(a, b put) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, w := range puts {
		if w.from < at {
			return "", fmt.Errorf("%w: two edits overlap at %q", ErrPlanted, firstLine(src[w.from:w.to]))
		}
		b.WriteString(src[at:w.from])
		b.WriteString(w.text)
		at = w.to
	}
	b.WriteString(src[at:])
	return b.String(), nil
}
