package duty

import (
	"nova/core"
	"nova/core/keys"
)

// maxAuditors is how many auditors share the shards; those beyond it in order of
// their names hold none.
const maxAuditors = 1024

func auditors() core.Op {
	from, end := keys.AuditorsRange()
	return core.Scan(from, end, maxAuditors)
}

// registered is the ids of the auditors that are alive, in order.
func registered(rows []core.Row) []string {
	ids := make([]string, 0, len(rows))
	for i := range rows {
		if id, err := keys.ParseAuditor(rows[i].Key); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// holds reports whether a shard is this process's: rendezvous hashing over the
// live auditors and this one, which may not be registered (yet, or any more:
// without space in the metastore it cannot be). Two that disagree about who is
// alive both work the shard: safety never depends on this.
func holds(live []string, self string, shard int) bool {
	mine := weight(self, shard)
	for _, id := range live {
		if w := weight(id, shard); w > mine || w == mine && id > self {
			return false
		}
	}
	return true
}

// weight is FNV-1a of the auditor and the shard, with the halves folded and
// mixed: names that differ in their last letter must not share every shard.
func weight(id string, shard int) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= uint64(shard) * 0x9e3779b97f4a7c15
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
