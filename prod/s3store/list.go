package s3store

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"nova/core"
)

// listPage is how many keys S3 lists at once, at most.
const listPage = 1000

// list lists at most limit objects under prefix, after a key. It asks for one
// more than it needs, because servers do not agree on what they say of the rest
// when they were asked for exactly what there is.
func (s *Store) list(ctx context.Context, prefix, after string, limit int) (core.Reply, error) {
	if limit < 1 {
		return refuse("list %s/%s*: a limit of %d", s.name, prefix, limit)
	}
	if s.express {
		return s.listUnsorted(ctx, prefix, after, limit)
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix}
	if after != "" {
		in.StartAfter = &after
	}
	reply := core.Reply{}
	for len(reply.Items) <= limit {
		in.MaxKeys = aws.Int32(int32(min(limit+1-len(reply.Items), listPage)))
		out, err := s.e.client.ListObjectsV2(ctx, in)
		if err != nil {
			return failed(core.KList, err)
		}
		reply.Items = append(reply.Items, items(out.Contents, prefix, after)...)
		if !aws.ToBool(out.IsTruncated) {
			break
		}
		if aws.ToString(out.NextContinuationToken) == "" {
			return brokenOff(s.name, prefix)
		}
		in.ContinuationToken = out.NextContinuationToken
	}
	if len(reply.Items) > limit {
		reply.Items, reply.More = reply.Items[:limit:limit], true
	}
	return reply, nil
}

// brokenOff is the answer to a listing that says that it is not whole, and does
// not say how to go on: what it shows is no proof of what it does not (gap 10).
func brokenOff(store core.Store, prefix string) (core.Reply, error) {
	return core.Reply{Outcome: core.Unknown}, fmt.Errorf("list %s/%s*: the listing is cut off, and names no place to go on from", store, prefix)
}

// items are the entries of a listing that were asked for.
func items(from []types.Object, prefix, after string) []core.Item {
	var to []core.Item
	for i := range from {
		if key := aws.ToString(from[i].Key); strings.HasPrefix(key, prefix) && key > after {
			to = append(to, core.Item{Key: key, Size: aws.ToInt64(from[i].Size)})
		}
	}
	return to
}

// listUnsorted lists a directory bucket, whose listings are in no order, begin
// nowhere but at their beginning and take only prefixes that end in "/": all of
// it is walked for each page, and the smallest keys are kept.
func (s *Store) listUnsorted(ctx context.Context, prefix, after string, limit int) (core.Reply, error) {
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: str(prefix[:strings.LastIndexByte(prefix, '/')+1])}
	var keep keyHeap
	for {
		out, err := s.e.client.ListObjectsV2(ctx, in)
		if err != nil {
			return failed(core.KList, err)
		}
		for _, it := range items(out.Contents, prefix, after) {
			if len(keep) <= limit {
				heap.Push(&keep, it)
			} else if it.Key < keep[0].Key {
				keep[0] = it
				heap.Fix(&keep, 0)
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			break
		}
		if aws.ToString(out.NextContinuationToken) == "" {
			return brokenOff(s.name, prefix)
		}
		in.ContinuationToken = out.NextContinuationToken
	}
	all := []core.Item(keep)
	slices.SortFunc(all, func(a, b core.Item) int { return strings.Compare(a.Key, b.Key) })
	if len(all) > limit {
		return core.Reply{Items: all[:limit:limit], More: true}, nil
	}
	return core.Reply{Items: all}, nil
}

// keyHeap has its greatest key on top.
type keyHeap []core.Item

func (h keyHeap) Len() int           { return len(h) }
func (h keyHeap) Less(i, j int) bool { return h[i].Key > h[j].Key }
func (h keyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *keyHeap) Push(x any)        { *h = append(*h, x.(core.Item)) }
func (h *keyHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// listUploads lists the unfinished uploads of exactly one key. The prefix is the
// whole key (one server takes nothing less; a directory bucket only what ends in
// "/"), the page as large as it may be (another server refuses a second one), and
// a server that has never seen an upload may say that there is none such.
func (s *Store) listUploads(ctx context.Context, key string) (core.Reply, error) {
	prefix := key
	if s.express {
		prefix = key[:strings.LastIndexByte(key, '/')+1]
	}
	in := &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &prefix, MaxUploads: aws.Int32(listPage)}
	reply := core.Reply{}
	for {
		out, err := s.e.client.ListMultipartUploads(ctx, in)
		if err != nil {
			if r, err := failed(core.KListUploads, err); r.Outcome != core.OK {
				return r, err
			}
			return reply, nil
		}
		for i := range out.Uploads {
			u := &out.Uploads[i]
			if aws.ToString(u.Key) == key && aws.ToString(u.UploadId) != "" {
				reply.Items = append(reply.Items, core.Item{Key: key, Upload: *u.UploadId})
			}
		}
		if !aws.ToBool(out.IsTruncated) || !s.express && aws.ToString(out.NextKeyMarker) > key {
			return reply, nil
		}
		if len(out.Uploads) == 0 || aws.ToString(out.NextKeyMarker) == "" {
			return brokenOff(s.name, key)
		}
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
	}
}
