package daemon

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineBuffer is how much of a file is read at a time.
const (
	lineBuffer = 256 << 10
	lineKeep   = 4 << 20 // of a long line's buffer is kept for the next one
)

// Lines reads a text's lines: what stands between newlines, byte for byte. An
// empty line is one too, and so is a last one without a newline.
type Lines struct {
	r    *bufio.Reader
	long []byte // a line that is longer than the reader's buffer
	n    uint64 // how many were read
}

// NewLines begins to read a text.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, lineBuffer)} }

// Next is the next line, valid until the next call, or io.EOF after the last. One
// that is longer than MaxRecord is an error.
func (l *Lines) Next() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	if err == nil {
		l.n++
		return part[:len(part)-1], nil
	}
	if l.long = l.long[:0]; cap(l.long) > lineKeep {
		l.long = nil // one very long line must not cost its memory for good
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(l.long)+len(part) > MaxRecord {
			return nil, fmt.Errorf("line %d is longer than %d MiB, the most that a record may have: split it", l.n+1, MaxRecord>>20)
		}
		l.long = append(l.long, part...)
		part, err = l.r.ReadSlice('\n')
	}
	l.long = append(l.long, part...)
	switch {
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("read line %d: %w", l.n+1, err)
	case err == io.EOF && len(l.long) == 0:
		return nil, io.EOF
	}
	l.n++
	line := bytes.TrimSuffix(l.long, []byte{'\n'})
	if len(line) > MaxRecord {
		return nil, fmt.Errorf("line %d is longer than %d MiB, the most that a record may have: split it", l.n, MaxRecord>>20)
	}
	return line, nil
}
