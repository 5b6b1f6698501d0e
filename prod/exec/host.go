package exec

import (
	"context"
	"errors"
	"io"

	"nova/core"
)

// Metastore is what the driver needs of etcd: prod/etcdmeta implements it. Its
// methods answer every call with an outcome; the error is only for logs and says
// why an outcome is not OK. They are called from many goroutines, do not retry,
// and give up when ctx ends (Unknown).
type Metastore interface {
	// Get reads rows, one reply for each key, all of them at one revision.
	Get(ctx context.Context, keys []string) ([]core.Reply, error)
	// Scan reads at most limit rows of [from, end), ascending.
	Scan(ctx context.Context, from, end string, limit int) (core.Reply, error)
	// Txn applies a transaction.
	Txn(ctx context.Context, ws []core.Write) (core.Reply, error)
}

// ObjectStore is what the driver needs of one store bucket: prod/s3store
// implements it. The rules are those of Metastore; a mutation that a condition's
// conflict (409) refused may be sent again, nothing else.
type ObjectStore interface {
	// Do performs one operation of the object store other than KDelete and
	// KFetch. body is set for KCreate and KUploadPart. A NotAfter is the store's
	// to enforce.
	Do(ctx context.Context, op core.Op, body *Body) (core.Reply, error)
	// Delete removes objects, one reply for each key; absence is success.
	Delete(ctx context.Context, keys []string) ([]core.Reply, error)
	// Copies reports whether parts can be copied from an object of store from
	// inside the server. Where they cannot, the driver reads the range and sends it.
	Copies(from core.Store) bool
	// Open begins to read n bytes of an object from an offset, or all of it for
	// n < 0. On OK the reply's Size is that of the whole object and the caller
	// closes the reader; a reader that ends early fails with
	// io.ErrUnexpectedEOF.
	Open(ctx context.Context, key string, off, n int64) (io.ReadCloser, core.Reply, error)
}

// Body is the bytes that a Create or an UploadPart sends.
type Body struct {
	N      int64
	CRC    uint32 // CRC-32C of all of it, when HasCRC
	HasCRC bool
	// Open begins the bytes from their start. A reader that fails must make the
	// request fail: the store then has fewer bytes than were announced, and drops
	// them.
	Open func() io.ReadCloser
}

// Blobs finds the bytes that clients handed to the process, for Blob pieces.
type Blobs interface {
	// Blob is the bytes of a handle, or false once it was dropped. The driver
	// reads them while the effect that names the handle is in flight.
	Blob(handle uint64) ([]byte, bool)
}

// Sinks takes what KFetch reads.
type Sinks interface {
	// Put hands over all bytes of one fetch, checked against its checksum; they
	// are the sink's to keep. An error makes the fetch Refused.
	Put(sink int, b []byte) error
}

// Reasons in the Val of a Refused reply to a Create, an UploadPart or a CopyPart,
// which was not sent, or not to its end, because of a piece's source.
const (
	// SourceAbsent: definitely in none of the places that its piece names.
	SourceAbsent = "source absent"
	// SourceUnavailable: no place has given the bytes, and not all said that they
	// have none.
	SourceUnavailable = "source unavailable"
)

// throttled is implemented by the error of a reply with which a store asked for
// fewer requests (503 SlowDown).
type throttled interface{ Throttled() bool }

func isThrottled(err error) bool {
	var t throttled
	return errors.As(err, &t) && t.Throttled()
}
