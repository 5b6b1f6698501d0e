package s3store

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"nova/core"
)

// Uploads calls f for every unfinished multipart upload of the bucket. More is
// set when the server lists only the first of them (one refuses a second page).
// For verify only: a duty knows the keys that it asks for.
func (s *Store) Uploads(ctx context.Context, f func(core.Item)) (more bool, err error) {
	in := &s3.ListMultipartUploadsInput{Bucket: &s.bucket, MaxUploads: aws.Int32(listPage)}
	for page := 0; ; page++ {
		out, err := s.e.client.ListMultipartUploads(ctx, in)
		if err != nil {
			r, err := failed(core.KListUploads, err)
			switch {
			case r.Outcome == core.OK: // no upload was ever begun here
				return false, nil
			case page > 0:
				return true, nil
			}
			return false, err
		}
		for i := range out.Uploads {
			u := &out.Uploads[i]
			f(core.Item{Key: aws.ToString(u.Key), Upload: aws.ToString(u.UploadId)})
		}
		if !aws.ToBool(out.IsTruncated) || len(out.Uploads) == 0 || aws.ToString(out.NextKeyMarker) == "" {
			return false, nil
		}
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
	}
}
