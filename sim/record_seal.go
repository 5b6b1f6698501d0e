package sim

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// RecordVersion is the first line of a record's text. It changes when what a line
// means changes. Of the first version there was no checksum.
const RecordVersion = "nova-record 2"

// RecordEnd is the last line of a record's text: the checksum (CRC-32C) of all that
// stands before it. A record in which a line was lost, or changed, would else be one of
// another run, and that this breaks no law would say nothing.
func RecordEnd(before []byte) string {
	return fmt.Sprintf("end %08x\n", crc32.Checksum(before, crc32.MakeTable(crc32.Castagnoli)))
}

// opened is a record's text without its first and its last line, once both were found
// to be right.
func opened(text []byte) (body []byte, err error) {
	if len(text) == 0 {
		return nil, errors.New("it is empty")
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if err := version(string(first)); err != nil {
		return nil, err
	}
	at := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	before, last := text[:at], string(text[at:])
	if sum, ok := strings.CutPrefix(last, "end "); !ok || len(sum) != 9 || sum[8] != '\n' {
		return nil, fmt.Errorf("it has no end: its last line is %s, and not one with a checksum", clipped(strings.TrimSuffix(last, "\n")))
	}
	if want := RecordEnd(before); last != want {
		return nil, fmt.Errorf("it is damaged, or was edited: its last line is %q, and by what stands before that it should be %q", strings.TrimSpace(last), strings.TrimSpace(want))
	}
	return before[min(len(first)+1, len(before)):], nil
}

// version refuses what another form of record begins with.
func version(first string) error {
	if first == RecordVersion {
		return nil
	}
	name, mine, _ := strings.Cut(RecordVersion, " ")
	of, ok := strings.CutPrefix(first, name+" ")
	n, err := strconv.ParseUint(of, 10, 32)
	own, _ := strconv.ParseUint(mine, 10, 32)
	switch {
	case !ok || err != nil:
		return fmt.Errorf("it begins with %s, and not with %q", clipped(first), RecordVersion)
	case n > own:
		return fmt.Errorf("it is of a newer version, %d: this build reads %d", n, own)
	}
	return fmt.Errorf("it is of an older form, version %d, without a checksum: this build reads %d; run its seed again to make it anew", n, own)
}

// clipped is a line in quotes, or its beginning.
func clipped(s string) string {
	const most = 80
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
}
