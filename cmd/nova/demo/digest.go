package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// digest is a running hash over records: their lengths, their bytes and their
// order.
type digest struct {
	h     hash.Hash
	count uint64
	bytes int64
}

func newDigest() *digest { return &digest{h: sha256.New()} }

func (d *digest) add(record []byte) {
	var n [binary.MaxVarintLen64]byte
	d.h.Write(n[:binary.PutUvarint(n[:], uint64(len(record)))])
	d.h.Write(record)
	d.count++
	d.bytes += int64(len(record))
}

// sum is the digest so far, in hex.
func (d *digest) sum() string { return hex.EncodeToString(d.h.Sum(nil)) }
