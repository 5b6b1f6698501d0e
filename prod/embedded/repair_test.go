package embedded

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend/posix"
)

// TestCutCompletion puts a directory into the state in which a gateway killed
// inside CompleteMultipartUpload leaves it, before and after the object's
// appearance, and expects S3's behaviour after the next start.
func TestCutCompletion(t *testing.T) {
	for _, sideCar := range []bool{false, true} {
		for _, landed := range []bool{false, true} {
			name := map[bool]string{false: "attributes", true: "side-car"}[sideCar] + map[bool]string{false: " before", true: " after"}[landed]
			t.Run(name, func(t *testing.T) { cutCompletion(t, sideCar, landed) })
		}
	}
}

func cutCompletion(t *testing.T, sideCar, landed bool) {
	dir := t.TempDir()
	s := start(t, Config{Dir: dir, SideCar: sideCar, NoFsync: true})
	c := s.S3.Client()
	up, err := c.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(testBucket), Key: aws.String("d/k")})
	if err != nil {
		t.Fatal(err)
	}
	part, err := c.UploadPart(t.Context(), &s3.UploadPartInput{
		Bucket: aws.String(testBucket), Key: aws.String("d/k"), UploadId: up.UploadId, PartNumber: aws.Int32(1),
		Body: bytes.NewReader([]byte("part")),
	})
	if err != nil {
		t.Fatal(err)
	}
	complete := func(c *s3.Client) error {
		_, err := c.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
			Bucket: aws.String(testBucket), Key: aws.String("d/k"), UploadId: up.UploadId,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1), ChecksumCRC32: part.ChecksumCRC32}}},
		})
		return err
	}
	upload := onlyMatch(t, filepath.Join(dir, "s3", testBucket, posix.MetaTmpMultipartDir, "*", *up.UploadId))
	roots := []string{upload}
	if sideCar {
		roots = append(roots, onlyMatch(t, filepath.Join(dir, "objmeta", testBucket, posix.MetaTmpMultipartDir, "*", *up.UploadId)))
	}
	keyDir := filepath.Dir(upload)
	spare := filepath.Join(t.TempDir(), "spare")
	if landed { // complete for good, then bring the claimed directory back
		if err := os.CopyFS(spare, os.DirFS(upload)); err != nil {
			t.Fatal(err)
		}
		hold := filepath.Join(keyDir, "another-upload") // keeps the key's directory, and its attribute
		if err := os.Mkdir(hold, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := complete(c); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(upload, os.DirFS(spare)); err != nil {
			t.Fatal(err)
		}
	}
	closeQuickly(t, s)
	for _, root := range roots {
		if err := os.Rename(root, root+".0123-1"+inProgressSuffix); err != nil && !(landed && os.IsNotExist(err)) {
			t.Fatal(err)
		}
	}

	body := filepath.Join(dir, "s3", testBucket, posix.MetaTmpDir, "half-a-body")
	if err := os.WriteFile(body, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = start(t, Config{Dir: dir, NoFsync: true})
	c = s.S3.Client()
	if _, err := os.Stat(body); err == nil {
		t.Error("the unfinished write is still there")
	}
	for _, root := range roots {
		if left, _ := filepath.Glob(root + ".*"); len(left) > 0 {
			t.Errorf("the claimed upload is still there: %v", left)
		}
	}
	list, err := c.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String(testBucket)})
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, u := range list.Uploads {
		if *u.UploadId == *up.UploadId {
			ours++
		}
	}
	if landed {
		if ours != 0 {
			t.Error("the upload whose object landed is listed again")
		}
		wantObject(t, c, "d/k", "part")
		return
	}
	if ours != 1 {
		t.Errorf("the cut upload is listed %d times, want once", ours)
	}
	if err := complete(c); err != nil {
		t.Fatal(err)
	}
	wantObject(t, c, "d/k", "part")
}

// onlyMatch returns the one file that a pattern matches.
func onlyMatch(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s matches %v (%v)", pattern, names, err)
	}
	return names[0]
}
