package keys

import "nova/core"

// Rows that have no parameter.
const (
	CounterStream = "counter/stream" // the last stream id given out
	CounterEpoch  = "counter/epoch"  // the last epoch given out
	GenerationKey = "generation"     // of the cluster; a restore bumps it
)

// Star is the registration of a star that is alive (leased).
func Star(star string) string { return "star/" + escape(star) }

// ParseStar is the inverse of Star.
func ParseStar(key string) (star string, err error) { return parseName("star/", key) }

// StarRange holds every Star row.
func StarRange() (from, end string) { return prefixRange("star/") }

// Gone is the irrevocable record of a star that is being decommissioned, or was:
// its name never registers or mints again.
func Gone(star string) string { return "gone/" + escape(star) }

// ParseGone is the inverse of Gone.
func ParseGone(key string) (star string, err error) { return parseName("gone/", key) }

// GoneRange holds every Gone row.
func GoneRange() (from, end string) { return prefixRange("gone/") }

// Auditor is the registration of an auditor that is alive (leased).
func Auditor(id string) string { return "auditor/" + escape(id) }

// ParseAuditor is the inverse of Auditor.
func ParseAuditor(key string) (id string, err error) { return parseName("auditor/", key) }

// AuditorsRange holds every Auditor row.
func AuditorsRange() (from, end string) { return prefixRange("auditor/") }

// Parts of a chain's record.
const (
	PartConst = "const"
	PartHead  = "head"
	PartTrim  = "trim"
)

func chainPrefix(star string, epoch uint64) string { return chainKey(star, epoch, "") }

// chainKey is a key under a chain's prefix. Every slot is named by one, often: the
// bytes of a usual name stand on the stack until they are a string.
func chainKey(star string, epoch uint64, last string) string {
	b := append(make([]byte, 0, 96), "chain/"...)
	b = append(append(b, escape(star)...), '/')
	b = append(appendHex(b, epoch, wide), '/')
	return string(append(b, last...))
}

// ChainConst is the row that never changes: class, bucket set, pipeline.
func ChainConst(star string, epoch uint64) string { return chainKey(star, epoch, PartConst) }

// ChainHead is the row of state, checkpoint and cut.
func ChainHead(star string, epoch uint64) string { return chainKey(star, epoch, PartHead) }

// ChainTrim is the row of trimmed and rewritten.
func ChainTrim(star string, epoch uint64) string { return chainKey(star, epoch, PartTrim) }

// ParseChain is the inverse of ChainConst, ChainHead and ChainTrim; part is one
// of PartConst, PartHead, PartTrim.
func ParseChain(key string) (star string, epoch uint64, part string, err error) {
	c := cursor{s: key}
	c.lit("chain/")
	star = c.name('/')
	epoch = c.hex(wide)
	c.lit("/")
	switch part = c.whole(); part {
	case PartConst, PartHead, PartTrim:
	default:
		c.bad = true
	}
	if err = c.done("chain", key); err != nil {
		return "", 0, "", err
	}
	return star, epoch, part, nil
}

// ChainRows holds the three rows of one chain.
func ChainRows(star string, epoch uint64) (from, end string) {
	return prefixRange(chainPrefix(star, epoch))
}

// ChainRange holds the rows of every chain of a star, by epoch.
func ChainRange(star string) (from, end string) { return prefixRange("chain/" + escape(star) + "/") }

// ChainsRange holds the rows of every chain.
func ChainsRange() (from, end string) { return prefixRange("chain/") }

// Mint is a star's newest epoch of a class.
func Mint(star string, c core.Class) string { return "mint/" + escape(star) + "/" + c.String() }

// ParseMint is the inverse of Mint.
func ParseMint(key string) (star string, class core.Class, err error) {
	c := cursor{s: key}
	c.lit("mint/")
	star = c.name('/')
	switch c.whole() {
	case core.Standard.String():
		class = core.Standard
	case core.Express.String():
		class = core.Express
	default:
		c.bad = true
	}
	return star, class, c.done("mint", key)
}

// MintRange holds every class's Mint row of a star.
func MintRange(star string) (from, end string) { return prefixRange("mint/" + escape(star) + "/") }

// MintsRange holds the Mint rows of every star.
func MintsRange() (from, end string) { return prefixRange("mint/") }

// Name maps an address to a stream's id.
func Name(bucket, name string) string { return "name/" + escape(bucket) + "/" + escape(name) }

// ParseName is the inverse of Name.
func ParseName(key string) (bucket, name string, err error) {
	c := cursor{s: key}
	c.lit("name/")
	bucket = c.name('/')
	name = c.name(0)
	if err = c.done("name", key); err != nil {
		return "", "", err
	}
	return bucket, name, nil
}

// NameRange holds every name of a bucket.
func NameRange(bucket string) (from, end string) { return prefixRange("name/" + escape(bucket) + "/") }

// NamesRange holds every name.
func NamesRange() (from, end string) { return prefixRange("name/") }

func parseName(prefix, key string) (string, error) {
	c := cursor{s: key}
	c.lit(prefix)
	name := c.name(0)
	return name, c.done(prefix, key)
}

// LeaseRange holds every leased right: of streams, of chains, of settlements.
func LeaseRange() (from, end string) { return prefixRange("lease/") }

func ofChain(prefix, star string, epoch uint64) string {
	return prefix + escape(star) + "/" + hex(epoch)
}

func parseOfChain(prefix, key string) (star string, epoch uint64, err error) {
	c := cursor{s: key}
	c.lit(prefix)
	star = c.name('/')
	epoch = c.hex(wide)
	return star, epoch, c.done(prefix, key)
}

// ChainLease is the lease of the one era that runs on a chain (leased).
func ChainLease(star string, epoch uint64) string { return ofChain("lease/chain/", star, epoch) }

// ParseChainLease is the inverse of ChainLease.
func ParseChainLease(key string) (star string, epoch uint64, err error) {
	return parseOfChain("lease/chain/", key)
}

// SettleClaim is the claim of the one settler of a chain (leased).
func SettleClaim(star string, epoch uint64) string { return ofChain("lease/settle/", star, epoch) }

// ParseSettleClaim is the inverse of SettleClaim.
func ParseSettleClaim(key string) (star string, epoch uint64, err error) {
	return parseOfChain("lease/settle/", key)
}
