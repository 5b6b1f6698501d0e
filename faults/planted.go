package faults

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
//	law: 4 (or several, with blanks between: any of them)
//	--- find
//	(exact text that occurs once in the file)
//	--- replace
//	(what stands there instead; it calls core.Planted, so that a run can tell
//	"never reached" from "not noticed")
//
// A line `--- file core/…` before a further edit turns to another file: where two
// guards stand behind each other, the bug is that both are missing.
type Planted struct {
	Name   string // of its file, without .txt
	Breaks string
	Laws   []int    // one of which must catch it; none: it is a production host's, whose own tests must see it
	With   []string // flags for the simulator's run that make it likely to be reached
	Edits  []Edit
}

// Edit replaces one text, which occurs once in a file, by another.
type Edit struct {
	File          string // from the module's root, with slashes
	Find, Replace string
}

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
	fileMark    = "--- file "
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
	file := ""
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
			file = val
		case ok && key == "with":
			p.With = strings.Fields(val)
		case ok && key == "law":
			for n := range strings.FieldsSeq(val) {
				law, err := strconv.Atoi(n)
				if err != nil || law < 0 {
					return refuse("law %q is no number of a law", val)
				}
				p.Laws = append(p.Laws, law)
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
		if !source(file) {
			return refuse("file %q is no source of the core", file)
		}
		e := Edit{File: file}
		e.Find = find
		e.Replace = strings.TrimSuffix(replace, "\n")
		if k := strings.LastIndex("\n"+replace, "\n"+fileMark); more && k >= 0 {
			file = strings.TrimSpace(replace[k+len(fileMark):])
			e.Replace = strings.TrimSuffix(replace[:k], "\n")
		}
		p.Edits = append(p.Edits, e)
	}
	switch {
	case p.Breaks == "":
		return refuse("it does not say what it breaks")
	case len(p.Laws) == 0 && slices.ContainsFunc(p.Edits, func(e Edit) bool { return strings.HasPrefix(e.File, "core/") }):
		return refuse("it does not say which law must see it")
	case !slices.ContainsFunc(p.Edits, func(e Edit) bool { return strings.Contains(e.Replace, call) }):
		return refuse("no replacement passes the mark: call core.%s", call)
	}
	return p, nil
}

// source reports whether a path is that of a source file of the core, or of a
// production host: what only a host can get wrong has its planted bugs too, which
// its own tests must see.
func source(file string) bool {
	return path.Clean(file) == file && (strings.HasPrefix(file, "core/") || strings.HasPrefix(file, "prod/")) && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
}

// Files is the files that the bug changes, each once, in the order of its edits.
func (p *Planted) Files() (files []string) {
	for i := range p.Edits {
		if f := p.Edits[i].File; !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// put is one edit, found.
type put struct {
	from, to int
	text     string
}

// puts finds the edits of one file; each one's text must occur exactly once.
func (p *Planted) puts(file, src string) (ps []put, err error) {
	for i := range p.Edits {
		e := &p.Edits[i]
		if e.File != file {
			continue
		}
		if n := strings.Count(src, e.Find); n != 1 {
			return nil, fmt.Errorf("%w %s does not apply: the text of edit %d occurs %d times in %s: %q", ErrPlanted, p.Name, i+1, n, file, firstLine(e.Find))
		}
		at := strings.Index(src, e.Find)
		ps = append(ps, put{at, at + len(e.Find), e.Replace})
	}
	return ps, nil
}

// plant plants what bugs change in one file; each text must occur once in the
// source as it is, and none may overlap another.
func plant(file, src string, bugs ...*Planted) (string, error) {
	var all []put
	for _, p := range bugs {
		ps, err := p.puts(file, src)
		if err != nil {
			return "", err
		}
		all = append(all, ps...)
	}
	slices.SortFunc(all, func(a, b put) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, w := range all {
		if w.from < at {
			return "", fmt.Errorf("%w: two edits of %s overlap at %q", ErrPlanted, file, firstLine(src[w.from:w.to]))
		}
		b.WriteString(src[at:w.from])
		b.WriteString(w.text)
		at = w.to
	}
	b.WriteString(src[at:])
	return b.String(), nil
}

// Apply plants the bug in the source of one of its files.
func (p *Planted) Apply(file, src string) (string, error) { return plant(file, src, p) }
