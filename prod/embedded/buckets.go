package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Client returns an SDK client for the endpoint, with the SDK's defaults for
// retries and checksums. The package creates buckets with it, tests look inside.
func (e Endpoint) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(e.URL),
		Region:       e.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(e.AccessKey, e.SecretKey, ""),
		UsePathStyle: true,
	})
}

// createBuckets creates the buckets that do not exist yet.
func createBuckets(ctx context.Context, e Endpoint, buckets []string) error {
	client := e.Client()
	for _, bucket := range buckets {
		_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
		var owned *types.BucketAlreadyOwnedByYou
		if err != nil && !errors.As(err, &owned) {
			return fmt.Errorf("create bucket %q at %s (names follow S3's rules: 3 to 63 of a-z, 0-9, - and .): %w", bucket, e.URL, err)
		}
	}
	return nil
}
