package exec

import (
	"hash/crc32"
	"sync"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of some bytes.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// combine is the CRC-32C of two runs of bytes one after the other, from the
// checksum of each and the length of the second. It lets the driver announce the
// checksum of a body before it has seen its bytes.
func combine(a, b uint32, n int64) uint32 {
	if n <= 0 {
		return a
	}
	zeros := appendZeros()
	for k := 0; n > 0; k, n = k+1, n>>1 {
		if n&1 != 0 {
			a = apply(&zeros[k], a)
		}
	}
	return a ^ b
}

// appendZeros is a linear map for each power of two: of a message's checksum to
// that of the message with so many zero bytes behind it. Each is the square of the
// one before.
var appendZeros = sync.OnceValue(func() *[63][32]uint32 {
	var zeros [63][32]uint32
	var bit, pair [32]uint32
	bit[0] = crc32.Castagnoli // one zero bit
	for i := 1; i < 32; i++ {
		bit[i] = 1 << (i - 1)
	}
	square(&pair, &bit)     // 2
	square(&bit, &pair)     // 4
	square(&zeros[0], &bit) // 8
	for k := 1; k < len(zeros); k++ {
		square(&zeros[k], &zeros[k-1])
	}
	return &zeros
})

func apply(m *[32]uint32, v uint32) (sum uint32) {
	for i := 0; v != 0; i, v = i+1, v>>1 {
		if v&1 != 0 {
			sum ^= m[i]
		}
	}
	return sum
}

func square(to, m *[32]uint32) {
	for i := range m {
		to[i] = apply(m, m[i])
	}
}
