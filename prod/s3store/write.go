package s3store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"nova/core"
	"nova/prod/exec"
)

// create writes a whole object unless one stands.
func (s *Store) create(ctx context.Context, op *core.Op, body *exec.Body) (core.Reply, error) {
	err := conditional(ctx, op.Kind, func() error {
		r := body.Open()
		defer func() { _ = r.Close() }()
		in := &s3.PutObjectInput{Bucket: &s.bucket, Key: &op.Key, Body: r, ContentLength: &body.N, IfNoneMatch: str("*")}
		if body.HasCRC {
			in.ChecksumCRC32C = str(base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, body.CRC)))
		}
		_, err := s.e.client.PutObject(until(ctx, op.Until), in, expiring)
		return err
	})
	if err != nil {
		return failed(op.Kind, err)
	}
	return core.Reply{}, nil
}

func (s *Store) createUpload(ctx context.Context, op *core.Op) (core.Reply, error) {
	out, err := s.e.client.CreateMultipartUpload(until(ctx, op.Until),
		&s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &op.Key}, expiring)
	if err != nil {
		return failed(op.Kind, err)
	}
	if aws.ToString(out.UploadId) == "" {
		return unknown("create upload of %s/%s: the answer has no id", s.name, op.Key)
	}
	return core.Reply{Val: *out.UploadId}, nil
}

func (s *Store) uploadPart(ctx context.Context, op *core.Op, body *exec.Body) (core.Reply, error) {
	r := body.Open()
	defer func() { _ = r.Close() }()
	out, err := s.e.client.UploadPart(until(ctx, op.Until), &s3.UploadPartInput{
		Bucket: &s.bucket, Key: &op.Key, UploadId: str(op.Upload()), PartNumber: &op.Num,
		Body: r, ContentLength: &body.N,
	}, expiring)
	if err != nil {
		return failed(op.Kind, err)
	}
	if aws.ToString(out.ETag) == "" {
		return unknown("upload part %d of %s/%s: the answer has no tag", op.Num, s.name, op.Key)
	}
	return core.Reply{Val: *out.ETag}, nil
}

// copyPart copies a range of an object of the same endpoint. A missing source is
// Refused with exec.SourceAbsent; a missing upload is Absent.
func (s *Store) copyPart(ctx context.Context, op *core.Op) (core.Reply, error) {
	if len(op.Body) != 1 || op.Body[0].Kind != core.Range || op.Body[0].Len <= 0 {
		return refuse("copy part %d of %s/%s: it needs one range of bytes", op.Num, s.name, op.Key)
	}
	p := &op.Body[0]
	reply, err := core.Reply{}, error(nil)
	for _, from := range append([]core.Obj{p.From}, p.Also...) {
		bucket, ok := s.e.bucketOf(from.Store)
		if !ok {
			return refuse("copy part %d of %s/%s: store %s is at another endpoint: fetch the bytes instead", op.Num, s.name, op.Key, from.Store)
		}
		reply, err = s.copyFrom(ctx, op, copySource(bucket, from.Key), fmt.Sprintf("bytes=%d-%d", p.Off, p.Off+p.Len-1))
		if reply.Val != exec.SourceAbsent {
			break
		}
	}
	return reply, err
}

func (s *Store) copyFrom(ctx context.Context, op *core.Op, source, rng string) (core.Reply, error) {
	out, err := s.e.client.UploadPartCopy(until(ctx, op.Until), &s3.UploadPartCopyInput{
		Bucket: &s.bucket, Key: &op.Key, UploadId: str(op.Upload()), PartNumber: &op.Num,
		CopySource: &source, CopySourceRange: &rng,
	}, expiring)
	if err != nil {
		reply, err := failed(op.Kind, err)
		if codeOf(err) == "NoSuchKey" {
			reply.Val = exec.SourceAbsent
		}
		return reply, err
	}
	if out.CopyPartResult == nil || aws.ToString(out.CopyPartResult.ETag) == "" {
		return unknown("copy part %d of %s/%s: the answer has no tag", op.Num, s.name, op.Key)
	}
	return core.Reply{Val: *out.CopyPartResult.ETag}, nil
}

// copySource writes an object's address for a header: servers unescape it once,
// and some take a bare '+' for a space.
func copySource(bucket, key string) string {
	const plain = "-_.~/"
	var b strings.Builder
	for _, c := range []byte(bucket + "/" + key) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// complete finishes an upload unless an object stands. Some servers answer the
// repetition of a complete that succeeded with OK, others with Exists or Absent:
// the machine reads back before it believes either of the latter.
func (s *Store) complete(ctx context.Context, op *core.Op) (core.Reply, error) {
	parts := make([]types.CompletedPart, len(op.Parts))
	for i := range op.Parts {
		parts[i] = types.CompletedPart{ETag: &op.Parts[i], PartNumber: aws.Int32(int32(i + 1))}
	}
	var out *s3.CompleteMultipartUploadOutput
	err := conditional(ctx, op.Kind, func() (err error) {
		out, err = s.e.client.CompleteMultipartUpload(until(ctx, op.Until), &s3.CompleteMultipartUploadInput{
			Bucket: &s.bucket, Key: &op.Key, UploadId: str(op.Upload()), IfNoneMatch: str("*"),
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		}, expiring)
		return err
	})
	if err != nil {
		return failed(op.Kind, err)
	}
	if aws.ToString(out.ETag) == "" { // a 200 whose body is no result says nothing
		return unknown("complete %s/%s: the answer has no tag", s.name, op.Key)
	}
	return core.Reply{}, nil
}

// abort drops an upload. It has no NotAfter: an upload's id never comes back.
func (s *Store) abort(ctx context.Context, op *core.Op) (core.Reply, error) {
	_, err := s.e.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &op.Key, UploadId: str(op.Upload())})
	if err != nil {
		return failed(op.Kind, err)
	}
	return core.Reply{}, nil
}
