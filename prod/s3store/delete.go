package s3store

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"nova/core"
)

type flag = atomic.Bool

const (
	deleteBatch = 1000 // keys of one multi-delete
	deleteWidth = 16   // single deletes abreast, for a server without multi-delete
)

// Delete removes objects, up to a thousand a request, and answers each key on
// its own (C39). On a server without multi-delete it sends single deletes (C38).
func (s *Store) Delete(ctx context.Context, keys []string) ([]core.Reply, error) {
	replies := make([]core.Reply, len(keys))
	var first error
	for from := 0; from < len(keys); from += deleteBatch {
		to := min(from+deleteBatch, len(keys))
		err := s.deleteSome(ctx, keys[from:to], replies[from:to])
		if first == nil {
			first = err
		}
	}
	return replies, first
}

func (s *Store) deleteSome(ctx context.Context, keys []string, replies []core.Reply) error {
	if len(keys) == 1 || s.single.Load() {
		return s.deleteEach(ctx, keys, replies)
	}
	err := s.deleteMany(ctx, keys, replies)
	if err != nil && lacksMultiDelete(fault(core.KDelete, err)) {
		s.single.Store(true)
		return s.deleteEach(ctx, keys, replies)
	}
	return err
}

// lacksMultiDelete reports whether the answer says that the server does not have
// the operation at all.
func lacksMultiDelete(f *Fault) bool {
	return f.Status == http.StatusNotImplemented || f.Status == http.StatusMethodNotAllowed || f.Code == "NotImplemented"
}

// deleteMany sends one multi-delete. The verbose answer names every key: one that
// it leaves out has not been answered.
func (s *Store) deleteMany(ctx context.Context, keys []string, replies []core.Reply) error {
	unique := slices.Compact(slices.Sorted(slices.Values(keys)))
	objects := make([]types.ObjectIdentifier, len(unique))
	for i := range unique {
		objects[i].Key = &unique[i]
	}
	out, err := s.e.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &s.bucket, Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(false)},
	}, s.withMD5)
	if err != nil {
		reply, err := failed(core.KDelete, err)
		for i := range replies {
			replies[i] = reply
		}
		return err
	}
	said := make(map[string]core.Outcome, len(unique))
	for i := range out.Deleted {
		said[aws.ToString(out.Deleted[i].Key)] = core.OK
	}
	var first error
	for i := range out.Errors {
		e := &out.Errors[i]
		f := &Fault{Op: core.KDelete, Status: 200, Code: aws.ToString(e.Code),
			Err: fmt.Errorf("delete %s/%s: %s", s.name, aws.ToString(e.Key), aws.ToString(e.Message))}
		said[aws.ToString(e.Key)] = outcome(f)
		if first == nil && outcome(f) != core.OK {
			first = f
		}
	}
	for i, key := range keys {
		o, ok := said[key]
		if !ok {
			o = core.Unknown
			if first == nil {
				first = fmt.Errorf("delete %s/%s: the answer to %d keys leaves it out", s.name, key, len(unique))
			}
		}
		replies[i] = core.Reply{Outcome: o}
	}
	return first
}

// withMD5 sends the digest that every server understands (some demand it, C38)
// in place of the SDK's own checksum; directory buckets know only the latter.
func (s *Store) withMD5(o *s3.Options) {
	if s.express {
		return
	}
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		// None of them need be there: which the SDK adds depends on its options.
		_, _ = stack.Initialize.Remove("AWSChecksum:SetupInputContext")
		_, _ = stack.Finalize.Remove("AWSChecksum:ComputeInputPayloadChecksum")
		_, _ = stack.Finalize.Remove("addInputChecksumTrailer")
		return smithyhttp.AddContentChecksumMiddleware(stack)
	})
}

// deleteEach sends a request for each key, some of them abreast.
func (s *Store) deleteEach(ctx context.Context, keys []string, replies []core.Reply) error {
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(deleteWidth, len(keys)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(keys); i = int(next.Add(1)) - 1 {
				replies[i], errs[i] = s.deleteOne(ctx, keys[i])
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) deleteOne(ctx context.Context, key string) (core.Reply, error) {
	_, err := s.e.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		reply, err := failed(core.KDelete, err)
		if reply.Outcome == core.OK {
			return reply, nil
		}
		return reply, err
	}
	return core.Reply{}, nil
}
