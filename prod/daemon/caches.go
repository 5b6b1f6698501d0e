package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"nova/core"
	"nova/prod/exec"
)

// cached is a store behind object caches: a delete goes through every cache
// first, so that a cached copy never outlives its object. A cache is told by
// DELETE {address}/{store}/{object key}; absence is success.
type cached struct {
	exec.ObjectStore
	name core.Store
	at   []string
	http http.Client
}

// purgeWithin bounds one request to a cache; purgeWidth is how many are abreast.
const (
	purgeWithin = 5 * time.Second
	purgeWidth  = 16
)

// Delete purges and deletes. A key that a cache did not answer for is not deleted.
func (c *cached) Delete(ctx context.Context, keys []string) ([]core.Reply, error) {
	failed := make([]error, len(keys))
	gate := make(chan struct{}, purgeWidth)
	var wg sync.WaitGroup
	for i, key := range keys {
		gate <- struct{}{}
		wg.Go(func() {
			failed[i] = c.purge(ctx, key)
			<-gate
		})
	}
	wg.Wait()
	var first error
	var purged []string
	for i, key := range keys {
		if failed[i] == nil {
			purged = append(purged, key)
		} else if first == nil {
			first = failed[i]
		}
	}
	replies := make([]core.Reply, len(keys))
	var deleted []core.Reply
	if len(purged) > 0 {
		var err error
		if deleted, err = c.ObjectStore.Delete(ctx, purged); err != nil {
			first = err
		}
	}
	for i := range keys {
		replies[i].Outcome = core.Unknown
		if failed[i] == nil && len(deleted) > 0 {
			replies[i], deleted = deleted[0], deleted[1:]
		}
	}
	return replies, first
}

func (c *cached) purge(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, purgeWithin)
	defer cancel()
	for _, at := range c.at {
		address := strings.TrimSuffix(at, "/") + "/" + url.PathEscape(string(c.name)) + "/" + (&url.URL{Path: key}).EscapedPath()
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, address, nil)
		if err != nil {
			return fmt.Errorf("purge %s/%s from the cache at %q: %w", c.name, key, at, err)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return fmt.Errorf("purge %s/%s from the cache at %s: %w", c.name, key, at, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotFound {
			return fmt.Errorf("purge %s/%s from the cache at %s: %s", c.name, key, at, resp.Status)
		}
	}
	return nil
}
