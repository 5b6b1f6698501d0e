package demo

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// digest is a running hash over records: their lengths, their bytes and their
// order.
type digest struct {
	h     hash.Hash
	w     *bufio.Writer // to h: records may be short
	count uint64
	bytes int64
}

func newDigest() *digest {
	h := sha256.New()
	return &digest{h: h, w: bufio.NewWriterSize(h, 32<<10)}
}

func (d *digest) add(record []byte) {
	// A hash takes every write.
	_, _ = d.w.Write(binary.AppendUvarint(d.w.AvailableBuffer(), uint64(len(record))))
	_, _ = d.w.Write(record)
	d.count++
	d.bytes += int64(len(record))
}

// sum is the digest so far, in hex.
func (d *digest) sum() string {
	_ = d.w.Flush()
	return hex.EncodeToString(d.h.Sum(nil))
}
