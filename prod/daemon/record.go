package daemon

import (
	"encoding/binary"
	"errors"
	"fmt"

	"nova/core"
)

// MaxRecord is how long one record may be, in bytes.
const MaxRecord = 64 << 20

// chunkVersion is the first byte of every chunk.
const chunkVersion = 1

// ErrChunk is wrapped by every error of a chunk that does not decode. Its bytes
// matched their checksum, so a writer of another version made them.
var ErrChunk = errors.New("not a chunk of this version")

// Record is one record of a stream.
type Record struct {
	Seq  uint64
	Time core.Ms // when a star took it in
	Data []byte
}

// chunk gathers the records of one stream for one slot.
type chunk struct {
	bytes  []byte
	count  uint32
	oldest core.Ms
	newest core.Ms
}

// add appends a record. Times do not descend: one that would is lifted.
func (c *chunk) add(at core.Ms, data []byte) {
	if c.count == 0 {
		c.oldest, c.newest = at, at
		c.bytes = binary.AppendVarint(append(c.bytes, chunkVersion), int64(at))
	}
	c.newest = max(c.newest, at)
	c.bytes = binary.AppendUvarint(c.bytes, uint64(c.newest-c.oldest))
	c.bytes = binary.AppendUvarint(c.bytes, uint64(len(data)))
	c.bytes = append(c.bytes, data...)
	c.count++
}

// recordRoom is the most bytes that a record of n bytes adds to a chunk.
func recordRoom(n int) int { return n + 2*binary.MaxVarintLen64 }

// chunkRoom is the most bytes that a chunk has besides its records.
const chunkRoom = 1 + binary.MaxVarintLen64

// decodeChunk calls f for each of a chunk's records in order, until f fails. The
// data is valid during the call only. A chunk that does not hold exactly count
// records is ErrChunk.
func decodeChunk(b []byte, first uint64, count uint32, f func(Record) error) error {
	refuse := func(why string) error {
		return fmt.Errorf("decode chunk of %d records from %d: %s: %w", count, first, why, ErrChunk)
	}
	if len(b) == 0 || b[0] != chunkVersion {
		return refuse("unknown version")
	}
	oldest, n := binary.Varint(b[1:])
	if n <= 0 || oldest < 0 || oldest > 1<<61 {
		return refuse("its time is cut short")
	}
	b = b[1+n:]
	for i := range count {
		after, n := binary.Uvarint(b)
		if n <= 0 || after > 1<<61 {
			return refuse("a record's time is cut short")
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return refuse("a record is cut short")
		}
		b = b[n:]
		if err := f(Record{Seq: first + uint64(i), Time: core.Ms(oldest) + core.Ms(after), Data: b[:size:size]}); err != nil {
			return err
		}
		b = b[size:]
	}
	if len(b) != 0 {
		return refuse("it is longer than its records")
	}
	return nil
}
