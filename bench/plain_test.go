//go:build unix

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"nova/core/keys"
	"nova/prod/embedded"
)

// plainClient is the SDK as somebody would set it up who wants it fast: no
// checksum of the payload, connections that are kept.
func plainClient(b *testing.B, e embedded.Endpoint) *s3.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	b.Cleanup(t.CloseIdleConnections)
	t.MaxIdleConnsPerHost, t.DisableCompression = 64, true
	t.WriteBufferSize, t.ReadBufferSize = 64*kib, 64*kib
	return s3.New(s3.Options{
		BaseEndpoint:               aws.String(e.URL),
		Region:                     e.Region,
		Credentials:                credentials.NewStaticCredentialsProvider(e.AccessKey, e.SecretKey, ""),
		UsePathStyle:               true,
		HTTPClient:                 &http.Client{Transport: t},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		APIOptions:                 []func(*middleware.Stack) error{v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware},
	})
}

// copyLoop is what a settle does to bytes, and nothing else: every slot is read
// once, by a GET, and every stream's bytes are written to one object: by a PUT
// under 5 MiB, and otherwise in parts of at most so many bytes. As many requests
// are abreast as an era has.
func copyLoop(b *testing.B, r *rig, part int) {
	b.Helper()
	d := &r.env.Dials
	slots := make([][]byte, r.slots)
	each(b, d.MemberWidth, r.slots, func(i int) error {
		var err error
		slots[i], err = fetch(b.Context(), r.plain, keys.Slot(star, epoch, uint64(i)), "")
		return err
	})
	run := r.chunks * r.size
	each(b, d.MemberWidth, r.streams, func(id int) error {
		out := make([]byte, 0, r.window())
		for i := range slots {
			out = append(out, slots[i][id*run:(id+1)*run]...)
		}
		key := fmt.Sprintf("plain/b/%016x/%016x/%016x", id, epoch, 0) // as deep as an era's
		if int64(len(out)) < d.PartMin {
			return send(b.Context(), r.plain, key, out)
		}
		return sendParts(b, r.plain, key, out, part, d.PartWidth)
	})
}

// each calls f for 0 to n-1, so many abreast.
func each(b *testing.B, abreast, n int, f func(i int) error) {
	b.Helper()
	var wg sync.WaitGroup
	next, errs := make(chan int), make(chan error, n)
	for range abreast {
		wg.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					errs <- err
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	select {
	case err := <-errs:
		b.Error(err)
	default:
	}
}

func fetch(ctx context.Context, c *s3.Client, key, rng string) ([]byte, error) {
	in := &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key}
	if rng != "" {
		in.Range = &rng
	}
	out, err := c.GetObject(ctx, in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Body.Close() }()
	body := make([]byte, *out.ContentLength)
	_, err = io.ReadFull(out.Body, body)
	return body, err
}

func send(ctx context.Context, c *s3.Client, key string, body []byte) error {
	_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(body)})
	return err
}

func sendParts(b *testing.B, c *s3.Client, key string, body []byte, part, abreast int) error {
	ctx := b.Context()
	up, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		return err
	}
	parts := make([]types.CompletedPart, (len(body)+part-1)/part)
	each(b, abreast, len(parts), func(i int) error {
		out, err := c.UploadPart(ctx, &s3.UploadPartInput{Bucket: aws.String(bucket), Key: &key, UploadId: up.UploadId,
			PartNumber: aws.Int32(int32(i + 1)), Body: bytes.NewReader(body[i*part : min(len(body), (i+1)*part)])})
		if err == nil {
			parts[i] = types.CompletedPart{ETag: out.ETag, PartNumber: aws.Int32(int32(i + 1))}
		}
		return err
	})
	_, err = c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: aws.String(bucket), Key: &key, UploadId: up.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	return err
}

func put(b *testing.B, c *s3.Client, key string, body []byte) {
	b.Helper()
	if err := send(b.Context(), c, key, body); err != nil {
		b.Fatal(err)
	}
}

func get(b *testing.B, c *s3.Client, key string, off, n int64) []byte {
	b.Helper()
	body, err := fetch(b.Context(), c, key, fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	if err != nil {
		b.Fatal(err)
	}
	return body
}

func deleteAll(b *testing.B, c *s3.Client, prefix string) {
	b.Helper()
	list, err := c.ListObjectsV2(b.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: &prefix})
	if err != nil {
		b.Fatal(err)
	}
	for i := range list.Contents {
		if _, err := c.DeleteObject(b.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: list.Contents[i].Key}); err != nil {
			b.Fatal(err)
		}
	}
}
