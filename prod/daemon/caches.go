package daemon

import (
	"fmt"

	"nova/core"
	"nova/prod/cache"
	"nova/prod/exec"
	"nova/prod/s3store"
)

// connectCaches prepares a client for every cache of the tier. The caches are S3
// endpoints with path-style addresses; they see the credentials of the store, or
// others of their own.
func (c *Cluster) connectCaches(from *Config) error {
	for _, address := range from.Caches {
		cfg := from.S3
		cfg.URL, cfg.HostStyle, cfg.Transport = address, false, nil
		if from.CacheCredentials != nil {
			cfg.Credentials = from.CacheCredentials
		}
		end, err := s3store.Connect(cfg)
		if err != nil {
			return fmt.Errorf("open the cluster: object cache %s: %w", address, err)
		}
		c.caches = append(c.caches, end)
	}
	return nil
}

// behindCaches is a store whose deletes go through the caches, if there are any.
func (c *Cluster) behindCaches(from *Config, direct exec.ObjectStore, name core.Store, b s3store.Bucket) (exec.ObjectStore, error) {
	if len(c.caches) == 0 {
		return direct, nil
	}
	var through []cache.Instance
	for i, end := range c.caches {
		s, err := end.Store(name, b)
		if err != nil {
			return nil, fmt.Errorf("open the cluster: object cache %s: %w", from.Caches[i], err)
		}
		through = append(through, cache.Instance{Address: from.Caches[i], Store: s})
	}
	return cache.NewTier(direct, name, through, c.Log), nil
}

// storeOf is the store behind its caches.
func storeOf(s exec.ObjectStore) exec.ObjectStore {
	if t, ok := s.(*cache.Tier); ok {
		return t.Direct()
	}
	return s
}
