package demo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"nova/core"
	"nova/core/keys"
)

// inputBucket is the namespace of the inputs' streams.
const inputBucket = "demo"

// input is a text whose lines become a stream's records.
type input struct {
	name  string // of the stream: the file's path as it was given
	path  string // absolute
	size  int64
	class core.Class
	open  func() (io.ReadCloser, error)

	bucket string

	id      uint64
	report  *InputReport
	already int64        // bytes of the records that an earlier run had taken in
	seen    atomic.Int64 // bytes of the text that are taken in, for progress
}

// address names the stream, for people.
func (in *input) address() string { return in.bucket + "/" + in.name }

// inputs are the files, or generated texts when none is given. A file that is
// given twice, is no file, or whose path is no name of a stream is refused. It
// must be called before the stack starts, which moves the process elsewhere.
func inputs(files []string) ([]*input, error) {
	if len(files) == 0 {
		return generated(), nil
	}
	var all []*input
	seen := map[string]bool{}
	for _, f := range files {
		name := filepath.ToSlash(filepath.Clean(f))
		if err := keys.CheckName(name); err != nil {
			return nil, fmt.Errorf("input %s: %w", f, err)
		}
		path, err := filepath.Abs(f)
		if err != nil {
			return nil, fmt.Errorf("input %s: make its path absolute: %w", f, err)
		}
		if seen[path] || seen[name] {
			return nil, fmt.Errorf("input %s is given twice: its records would be too", f)
		}
		seen[path], seen[name] = true, true
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("input %s does not exist", f)
		case err != nil:
			return nil, fmt.Errorf("input %s: %w", f, err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("input %s is no regular file: the demo reads every input more than once", f)
		}
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", f, err)
		}
		_ = file.Close()
		all = append(all, &input{name: name, path: path, size: info.Size(), open: func() (io.ReadCloser, error) { return os.Open(path) }})
	}
	return classes(all), nil
}

// classes spreads the inputs over both storage classes.
func classes(all []*input) []*input {
	for i, in := range all {
		in.class, in.bucket = core.Class(i%core.Classes), inputBucket
	}
	return all
}

// The generated texts: the same bytes every time.
const generatedLines = 4000

var (
	who   = []string{"the lighthouse keeper", "a grey cat", "the night ferry", "an unsigned letter", "the youngest daughter", "a man with two hats", "the tide", "nobody"}
	did   = []string{"waited for", "forgot", "walked past", "was sent back by", "asked after", "sang to", "outlived", "kept a place for"}
	whom  = []string{"the last tram", "the harbour bell", "its own shadow", "the winter", "a friend from the north", "the baker's dog", "the other shore", "the rain"}
	texts = []string{"generated/evenings.txt", "generated/mornings.txt", "generated/blanks.txt"}
)

func generated() []*input {
	var all []*input
	for i, name := range texts {
		text := generate(uint64(i), i == len(texts)-1)
		all = append(all, &input{name: name, path: name, size: int64(len(text)), open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}})
	}
	return classes(all)
}

// generate writes a text. With holes every third line is empty and the last has
// no newline.
func generate(seed uint64, holes bool) string {
	r := rand.New(rand.NewPCG(seed, 2025))
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	var b strings.Builder
	for n := range generatedLines {
		if holes && n%3 == 1 {
			b.WriteByte('\n')
			continue
		}
		fmt.Fprintf(&b, "%05d %s %s %s", n, pick(who), pick(did), pick(whom))
		if r.IntN(8) == 0 {
			fmt.Fprintf(&b, ", and %s %s %s", pick(who), pick(did), pick(whom))
		}
		b.WriteByte('\n')
	}
	if holes {
		b.WriteString("the last line has no end")
	}
	return b.String()
}
