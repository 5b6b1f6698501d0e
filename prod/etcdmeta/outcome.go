package etcdmeta

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/status"

	"nova/core"
)

// outcome is what an error of etcd means: the one table. Refused is for answers
// with which the server rejects the request before it is proposed; whatever may
// have reached the log is Unknown.
func outcome(err error) core.Outcome {
	if err == nil {
		return core.OK
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return core.Unknown
	}
	switch etcdError(err) {
	case rpctypes.ErrNoSpace:
		return core.NoSpace
	case rpctypes.ErrLeaseNotFound, rpctypes.ErrLeaseTTLTooLarge,
		rpctypes.ErrEmptyKey, rpctypes.ErrKeyNotFound, rpctypes.ErrValueProvided, rpctypes.ErrLeaseProvided,
		rpctypes.ErrTooManyOps, rpctypes.ErrDuplicateKey, rpctypes.ErrInvalidSortOption,
		rpctypes.ErrCompacted, rpctypes.ErrFutureRev, rpctypes.ErrRequestTooLarge,
		rpctypes.ErrRootUserNotExist, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrAuthFailed,
		rpctypes.ErrPermissionDenied, rpctypes.ErrAuthNotEnabled,
		rpctypes.ErrInvalidAuthToken, rpctypes.ErrInvalidAuthMgmt, rpctypes.ErrCorrupt:
		return core.Refused
	}
	// ErrTimeout and its kin, ErrNoLeader, ErrLeaderChanged, ErrStopped,
	// ErrTooManyRequests, ErrAuthOldRevision, a broken connection.
	return core.Unknown
}

// etcdError is the client's error for what a server said, whichever of its forms
// err has.
func etcdError(err error) error {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e
	}
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return rpctypes.Error(s.GRPCStatus().Err())
	}
	return err
}
