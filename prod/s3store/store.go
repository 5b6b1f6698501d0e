package s3store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"nova/core"
	"nova/prod/exec"
)

// Store is one bucket. It implements exec.ObjectStore; all methods may be called
// from many goroutines.
type Store struct {
	e       *Endpoint
	name    core.Store
	bucket  string
	express bool
	single  flag // the server has no multi-delete
	noCopy  flag // the server copies no parts
}

var _ exec.ObjectStore = (*Store)(nil)

// Name is the store's name in the core.
func (s *Store) Name() core.Store { return s.name }

// Bucket is the name of the S3 bucket.
func (s *Store) Bucket() string { return s.bucket }

// Endpoint is the endpoint that serves the store.
func (s *Store) Endpoint() *Endpoint { return s.e }

// Copies reports whether parts can be copied from a store inside the server: it
// is at the same endpoint, and Probe did not find that the server copies none.
func (s *Store) Copies(from core.Store) bool { return !s.noCopy.Load() && s.e.Serves(from) }

// Do performs one operation; see exec.ObjectStore.
func (s *Store) Do(ctx context.Context, op core.Op, body *exec.Body) (core.Reply, error) {
	switch op.Kind {
	case core.KStat:
		return s.stat(ctx, op.Key)
	case core.KReadRange:
		return s.readRange(ctx, op.Key, op.Off, op.Len)
	case core.KReadTail:
		return s.readTail(ctx, op.Key, op.Len)
	case core.KCreate:
		return s.create(ctx, &op, body)
	case core.KCreateUpload:
		return s.createUpload(ctx, &op)
	case core.KUploadPart:
		return s.uploadPart(ctx, &op, body)
	case core.KCopyPart:
		return s.copyPart(ctx, &op)
	case core.KComplete:
		return s.complete(ctx, &op)
	case core.KAbort:
		return s.abort(ctx, &op)
	case core.KListUploads:
		return s.listUploads(ctx, op.Key)
	case core.KList:
		return s.list(ctx, op.Key, op.End, int(op.Num))
	case core.KDelete:
		return s.deleteOne(ctx, op.Key)
	}
	return refuse("store %s has no operation %s", s.name, op.Kind)
}

// failed is the reply to a call that ended in err.
func failed(op core.Kind, err error) (core.Reply, error) {
	f := fault(op, err)
	return core.Reply{Outcome: outcome(f)}, f
}

// unknown is the reply to a call whose answer makes no sense.
func unknown(format string, args ...any) (core.Reply, error) {
	return core.Reply{Outcome: core.Unknown}, fmt.Errorf(format, args...)
}

// refuse is the reply to a call that was not sent.
func refuse(format string, args ...any) (core.Reply, error) {
	return core.Reply{Outcome: core.Refused}, fmt.Errorf(format, args...)
}

// conflictTries is how often a conditional request is sent when the store says
// that another is in its way.
const conflictTries = 5

// conditional runs a create-once request, again while the store answers with a
// conflict (409): none of those was applied, whatever the next says (C12).
func conditional(ctx context.Context, kind core.Kind, send func() error) error {
	for try := 1; ; try++ {
		err := send()
		if err == nil || try == conflictTries || !fault(kind, err).conflicted() {
			return err
		}
		if pause(ctx, time.Duration(try)*20*time.Millisecond) != nil {
			return err
		}
	}
}

// pause sleeps for about d.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// codeOf is the S3 code of an error, "" if it has none.
func codeOf(err error) string {
	var f *Fault
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}
