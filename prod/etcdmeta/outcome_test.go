package etcdmeta

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nova/core"
)

// Every answer of etcd, as the client gives it and as it comes over the wire.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want core.Outcome
	}{
		{nil, core.OK},
		{rpctypes.ErrGRPCNoSpace, core.NoSpace},
		{rpctypes.ErrGRPCLeaseNotFound, core.Refused},
		{rpctypes.ErrGRPCEmptyKey, core.Refused},
		{rpctypes.ErrGRPCTooManyOps, core.Refused},
		{rpctypes.ErrGRPCDuplicateKey, core.Refused},
		{rpctypes.ErrGRPCRequestTooLarge, core.Refused},
		{rpctypes.ErrGRPCPermissionDenied, core.Refused},
		{rpctypes.ErrGRPCUserEmpty, core.Refused},
		{rpctypes.ErrGRPCCompacted, core.Refused},
		{rpctypes.ErrGRPCCorrupt, core.Refused},
		{rpctypes.ErrGRPCTimeout, core.Unknown},
		{rpctypes.ErrGRPCTimeoutDueToLeaderFail, core.Unknown},
		{rpctypes.ErrGRPCTimeoutDueToConnectionLost, core.Unknown},
		{rpctypes.ErrGRPCNoLeader, core.Unknown},
		{rpctypes.ErrGRPCLeaderChanged, core.Unknown},
		{rpctypes.ErrGRPCStopped, core.Unknown},
		{rpctypes.ErrGRPCUnhealthy, core.Unknown},
		{rpctypes.ErrGRPCRequestTooManyRequests, core.Unknown},
		{rpctypes.ErrGRPCAuthOldRevision, core.Unknown},
		{status.Error(codes.Unavailable, "transport is closing"), core.Unknown},
		{status.Error(codes.Internal, "?"), core.Unknown},
		{status.Error(codes.Unknown, "?"), core.Unknown},
		{context.Canceled, core.Unknown},
		{context.DeadlineExceeded, core.Unknown},
		{errors.New("?"), core.Unknown},
	} {
		for _, err := range []error{c.err, rpctypes.Error(c.err)} {
			if err != nil {
				err = fmt.Errorf("wrapped: %w", err)
			}
			if got := outcome(err); got != c.want {
				t.Errorf("%v: %s, not %s", err, got, c.want)
			}
		}
	}
}
