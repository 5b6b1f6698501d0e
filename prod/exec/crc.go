package exec

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of some bytes.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// combine is the CRC-32C of two runs of bytes one after the other, from the
// checksum of each and the length of the second. It lets the driver announce the
// checksum of a body before it has seen its bytes.
//
// Appending n zero bytes to a message is a linear map of its checksum; the map
// for n bytes is built by squaring the map for one.
func combine(a, b uint32, n int64) uint32 {
	if n <= 0 {
		return a
	}
	var odd, even [32]uint32 // maps for an odd and an even power of two of zero bits
	odd[0] = crc32.Castagnoli
	for i := 1; i < 32; i++ {
		odd[i] = 1 << (i - 1)
	}
	square(&even, &odd) // 2 bits
	square(&odd, &even) // 4 bits
	for {
		square(&even, &odd) // the first time: 8 bits, one byte
		if n&1 != 0 {
			a = apply(&even, a)
		}
		if n >>= 1; n == 0 {
			break
		}
		square(&odd, &even)
		if n&1 != 0 {
			a = apply(&odd, a)
		}
		if n >>= 1; n == 0 {
			break
		}
	}
	return a ^ b
}

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
