package cache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"nova/core"
	"nova/prod/exec"
	"nova/prod/s3store"
)

// Instance is one cache of a tier: the store, reached through it.
type Instance struct {
	Address string // as it was given: it decides who owns a key
	Store   exec.ObjectStore
}

// throughWithin bounds a delete through a cache; it gets no more than half of the
// time that is left, so that there is some for the store.
const throughWithin = 5 * time.Second

// Tier is a store whose deletes go through the caches before it. Everything else
// goes to the store itself. Its methods may be called from many goroutines.
type Tier struct {
	exec.ObjectStore
	name      core.Store
	addresses []string
	through   []Instance
	log       *slog.Logger
}

// NewTier puts caches before the store that the core knows as name. Without any
// it is the store.
func NewTier(direct exec.ObjectStore, name core.Store, through []Instance, log *slog.Logger) *Tier {
	t := &Tier{ObjectStore: direct, name: name, through: through, log: log}
	for i := range through {
		t.addresses = append(t.addresses, through[i].Address)
	}
	return t
}

// Direct is the store behind the caches.
func (t *Tier) Direct() exec.ObjectStore { return t.ObjectStore }

// Delete removes objects, each through the cache that owns its key. What a cache
// did not answer for is deleted directly: the answer is then the store's. What
// the store itself said of a key, through the cache, is passed on (C39).
func (t *Tier) Delete(ctx context.Context, keys []string) ([]core.Reply, error) {
	owned := make([][]int, len(t.through)) // indexes of keys
	for i, key := range keys {
		if n := Owner(t.addresses, string(t.name), key); n >= 0 {
			owned[n] = append(owned[n], i)
		}
	}
	if len(owned) == 0 {
		return t.ObjectStore.Delete(ctx, keys)
	}
	replies := make([]core.Reply, len(keys))
	errs := make([]error, len(owned))
	var wg sync.WaitGroup
	for n, mine := range owned {
		if len(mine) > 0 {
			wg.Go(func() { errs[n] = t.some(ctx, &t.through[n], keys, mine, replies) })
		}
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return replies, err
		}
	}
	return replies, nil
}

// some deletes the keys of one owner and answers them in replies.
func (t *Tier) some(ctx context.Context, through *Instance, keys []string, mine []int, replies []core.Reply) error {
	theirs := make([]string, len(mine))
	for i, k := range mine {
		theirs[i], replies[k].Outcome = keys[k], core.Unknown
	}
	short, cancel := context.WithTimeout(ctx, within(ctx))
	got, err := through.Store.Delete(short, theirs)
	cancel()
	left := mine[:0:0]
	for i, k := range mine {
		if i < len(got) {
			replies[k] = got[i]
		}
		if replies[k].Outcome != core.OK {
			left = append(left, k)
		}
	}
	if len(left) == 0 || ofTheStore(err) || ctx.Err() != nil {
		return err
	}
	t.log.Warn("a cache did not delete: its copies may outlive these objects for a while, which are deleted directly",
		"cache", through.Address, "store", string(t.name), "objects", len(left), "err", err)
	theirs = theirs[:0]
	for _, k := range left {
		theirs = append(theirs, keys[k])
	}
	got, err = t.ObjectStore.Delete(ctx, theirs)
	for i, k := range left {
		if replies[k].Outcome = core.Unknown; i < len(got) {
			replies[k] = got[i]
		}
	}
	return err
}

// ofTheStore reports whether what failed is not the cache: an error for a key,
// inside an answer, or the store's wish for fewer requests, which asking it twice
// would not grant.
func ofTheStore(err error) bool {
	var f *s3store.Fault
	return errors.As(err, &f) && (f.Status == 200 || f.Code == "SlowDown")
}

func within(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(throughWithin, time.Until(end)/2)
	}
	return throughWithin
}

// Owner is the index of the instance that owns a key of a bucket, -1 if there is
// none. It depends on the addresses, not on their order; when one goes, the keys
// of the others stay where they are.
func Owner(addresses []string, bucket, key string) int {
	best, most := -1, uint64(0)
	for i, a := range addresses {
		h := uint64(14695981039346656037)
		for _, part := range [...]string{a, "\x00", bucket, "/", key} {
			for j := range len(part) {
				h = (h ^ uint64(part[j])) * 1099511628211
			}
		}
		// The halves folded and mixed: addresses that differ in a digit must not
		// share every key.
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 33
		if best < 0 || h > most || h == most && a < addresses[best] {
			best, most = i, h
		}
	}
	return best
}
