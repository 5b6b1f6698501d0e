package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"nova/prod/cache"
	"nova/prod/embedded"
)

// objectCache is one instance of an object cache, in this process.
type objectCache struct {
	*cache.Proxy
	server *http.Server
	at     string
}

// cacheBytes bounds its memory.
const cacheBytes = 32 << 20

// startCache runs an object cache before the stack's stores.
func startCache(stack *embedded.Stack, log *slog.Logger) (*objectCache, error) {
	pair := credentials.NewStaticCredentialsProvider(stack.S3.AccessKey, stack.S3.SecretKey, "")
	p, err := cache.New(cache.Config{URL: stack.S3.URL, Region: stack.S3.Region, Credentials: pair, Accept: pair, Bytes: cacheBytes, Log: log})
	if err != nil {
		return nil, fmt.Errorf("start the object cache: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the object cache: %w", err)
	}
	c := &objectCache{p, &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}, "http://" + l.Addr().String()}
	go func() {
		if err := c.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the object cache has ended: deletes go to the store", "err", err)
		}
	}()
	return c, nil
}

// close ends the cache. Without one it does nothing.
func (c *objectCache) close() {
	if c != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.server.Shutdown(ctx) // nothing of the demo speaks to it any more
	}
}
