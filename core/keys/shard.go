package keys

import "strings"

// Shards spread a queue's markers over auditors. The functions are part of the
// keyspace: they never change, or markers that stand are no longer found.

// ShardOfChain is the shard of every marker of one chain.
func ShardOfChain(star string, epoch uint64, shards int) int {
	return hash('c').text(star).number(epoch).shard(shards)
}

// ShardOfObject is the shard of an object's markers. It looks at the derived
// key only, so that an intent and its condemned form share a shard.
func ShardOfObject(objectKey string, shards int) int {
	if i := strings.LastIndexByte(objectKey, '@'); i >= 0 {
		objectKey = objectKey[:i]
	}
	return hash('o').text(objectKey).shard(shards)
}

// ShardOfStream is the shard of a stream's markers.
func ShardOfStream(id uint64, shards int) int { return hash('s').number(id).shard(shards) }

// fnv is 64-bit FNV-1a.
type fnv uint64

func hash(kind byte) fnv { return fnv(14695981039346656037).one(kind) }

func (h fnv) one(b byte) fnv { return (h ^ fnv(b)) * 1099511628211 }

func (h fnv) text(s string) fnv {
	for i := range len(s) {
		h = h.one(s[i])
	}
	return h.number(uint64(len(s)))
}

func (h fnv) number(v uint64) fnv {
	for range 8 {
		h = h.one(byte(v))
		v >>= 8
	}
	return h
}

// shard folds the halves together first: the low bits of FNV alone are weak.
func (h fnv) shard(shards int) int {
	if shards < 1 || shards > Shards {
		panic("keys: shard count out of bounds")
	}
	return int((uint64(h) ^ uint64(h)>>32) % uint64(shards))
}
