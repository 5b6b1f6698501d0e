package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/spf13/cobra"

	"nova/prod/cache"
)

// Where the key pair of an object cache comes from: nova cache asks its clients
// for it, and what is given --object-cache-instances signs with it.
const (
	cacheKeyEnv    = "NOVA_CACHE_ACCESS_KEY_ID"
	cacheSecretEnv = "NOVA_CACHE_SECRET_ACCESS_KEY"
)

// cacheCredentials is the key pair of the object cache; nil is that of the store.
func cacheCredentials() (aws.CredentialsProvider, error) {
	id, secret := os.Getenv(cacheKeyEnv), os.Getenv(cacheSecretEnv)
	if (id == "") != (secret == "") {
		return nil, fmt.Errorf("only one of %s and %s is set: set both, or neither for the credentials of the store", cacheKeyEnv, cacheSecretEnv)
	}
	if id == "" {
		return nil, nil
	}
	return credentials.NewStaticCredentialsProvider(id, secret, ""), nil
}

func newCache() *cobra.Command {
	var logs logFlags
	var cl clusterFlags // only how S3 is reached
	var listen string
	var cacheMiB, objectMiB int64
	var life time.Duration
	c := &cobra.Command{
		Use:   "cache --s3 URL",
		Short: "Run an instance of an object cache",
		Long: `Serves S3 with path-style addresses: reads of small objects are answered from
memory, everything else is sent on to the store at --s3. Give the instances'
addresses to the auditors, as --object-cache-instances: what they delete then
leaves no cached copy behind.

Requests are checked, and signed again for the store with the credentials of
AWS_ACCESS_KEY_ID and its kin. Clients sign with the same key pair, or with that
of ` + cacheKeyEnv + ` and ` + cacheSecretEnv + `, in the
environment of the cache and of the auditors. A key belongs to one instance, by
rendezvous hashing over the addresses as they were given.`,
		Args: args(cobra.NoArgs),
		RunE: action(func(ctx context.Context, c *cobra.Command, _ []string) error {
			log, err := logs.logger()
			if err == nil && (cacheMiB < 1 || cacheMiB > 1<<30 || objectMiB < 1 || objectMiB > cacheMiB || life <= 0) {
				err = fmt.Errorf("--cache-mib is %d, --object-mib %d, --life %v: the memory has at least 1 MiB, an object no more than all of it, and a life is above zero", cacheMiB, objectMiB, life)
			}
			if err == nil && cl.endpoint == "" {
				err = errors.New("--s3 is empty: give the address of the store")
			}
			if err != nil {
				return usage(c, err)
			}
			accept, err := cacheCredentials()
			if err != nil {
				return err
			}
			s3, err := cl.s3(ctx)
			if err != nil {
				return err
			}
			p, err := cache.New(cache.Config{URL: s3.URL, Credentials: s3.Credentials, Accept: accept, Region: s3.Region,
				Bytes: cacheMiB << 20, Object: objectMiB << 20, Life: life, Log: log})
			if err != nil {
				return usage(c, err)
			}
			w := newWeb(log)
			if _, err = w.serve(listen, "S3 clients", p); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
			case err = <-w.failed:
			}
			s := p.Stats()
			log.Info("closing", "hits", s.Hits, "misses", s.Misses, "passed", s.Passed, "deletes", s.Deletes, "bytes", s.Bytes)
			end, cancel := graceful(ctx)
			defer cancel()
			w.shutdown(end)
			return err
		}),
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:9300", "address for S3 clients")
	f.StringVar(&cl.endpoint, "s3", "", "address of the store's S3 endpoint")
	f.StringVar(&cl.region, "s3-region", "us-east-1", "region that requests are signed for")
	f.Int64Var(&cacheMiB, "cache-mib", 1024, "memory for objects, in MiB")
	f.Int64Var(&objectMiB, "object-mib", 16, "size up to which an object is kept, in MiB")
	f.DurationVar(&life, "life", 10*time.Minute, "how long a copy is kept: it bounds those of objects that were deleted past the cache")
	logs.register(f, "info")
	return c
}
