package s3store

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"nova/core"
)

// Fault is the error of a call that was not answered OK.
type Fault struct {
	Op     core.Kind
	Status int    // HTTP status, 0 when no answer came
	Code   string // S3's code, "" when the answer had none
	Err    error
}

func (f *Fault) Error() string {
	if f.Status == 0 {
		return fmt.Sprintf("%s: no answer: %v", f.Op, f.Err)
	}
	return fmt.Sprintf("%s: status %d, code %q: %v", f.Op, f.Status, f.Code, f.Err)
}

func (f *Fault) Unwrap() error { return f.Err }

// Throttled reports whether the store asked for fewer requests: the driver then
// slows down.
func (f *Fault) Throttled() bool {
	return throttling[f.Code] || f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests
}

var throttling = map[string]bool{
	"SlowDown": true, "Throttling": true, "ThrottlingException": true, "TooManyRequests": true,
	"RequestLimitExceeded": true, "BandwidthLimitExceeded": true, "RequestThrottled": true,
}

// conflicted reports whether a concurrent request for the same key made the store
// refuse a conditional one: definitely not applied, and worth asking again (C12).
func (f *Fault) conflicted() bool {
	return f.Code == "ConditionalRequestConflict" || f.Code == "OperationAborted" ||
		f.Status == http.StatusConflict && f.Code == ""
}

// fault reads what a call's error says.
func fault(op core.Kind, err error) *Fault {
	f := &Fault{Op: op, Err: err}
	var resp *smithyhttp.ResponseError
	if errors.As(err, &resp) {
		f.Status = resp.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) && f.Status != 0 {
		f.Code = api.ErrorCode()
	}
	if f.Code == "UnknownError" || f.Code == statusCode(f.Status) {
		f.Code = "" // the SDK's stand-in for an answer without a code
	}
	return f
}

// statusCode is the code that the SDK makes up from a status.
func statusCode(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

// outcome is what an error means for an operation: the one table. The context's
// end and broken connections have neither code nor status.
func outcome(f *Fault) core.Outcome {
	if errors.Is(f.Err, errTooLate) {
		return core.Refused
	}
	if f.Status == 0 {
		return core.Unknown
	}
	if o, ok := byCode(f); ok {
		return o
	}
	return byStatus(f)
}

// byCode judges by S3's code. It counts before the status: an error inside a 200
// has only a code (C13).
func byCode(f *Fault) (core.Outcome, bool) {
	switch f.Code {
	case "":
		return 0, false
	case "NoSuchKey":
		switch f.Op {
		case core.KStat, core.KReadRange, core.KReadTail, core.KFetch:
			return core.Absent, true
		case core.KDelete:
			return core.OK, true
		case core.KCopyPart: // of the source
			return core.Refused, true
		}
		return core.Unknown, true // an odd thing to say of an upload
	case "NoSuchUpload":
		switch f.Op {
		case core.KUploadPart, core.KCopyPart, core.KComplete:
			return core.Absent, true
		case core.KAbort, core.KListUploads: // some say it of a bucket without any
			return core.OK, true
		}
		return core.Unknown, true
	case "PreconditionFailed":
		if f.Op == core.KCreate || f.Op == core.KComplete {
			return core.Exists, true
		}
		return core.Refused, true
	case "InvalidRange":
		if f.Op == core.KReadRange || f.Op == core.KFetch || f.Op == core.KReadTail {
			return core.OutOfRange, true
		}
		return core.Refused, true
	case "BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch":
		if f.Op == core.KCreate || f.Op == core.KUploadPart {
			return core.Damaged, true
		}
		return core.Refused, true
	case "InternalError", "ServiceUnavailable", "ServiceFailure", "RequestTimeout", "RequestTimeoutException",
		"OperationAborted", "ConditionalRequestConflict", "Busy":
		return core.Unknown, true
	}
	if throttling[f.Code] {
		return core.Unknown, true
	}
	// A code that names what is wrong with the request: AccessDenied (an expired
	// signature too), NoSuchBucket, InvalidPart, EntityTooSmall, NotImplemented …
	if f.Status >= 300 && f.Status < 500 || f.Status == http.StatusNotImplemented || refusing[f.Code] {
		return core.Refused, true
	}
	return 0, false
}

// refusing are codes that refuse a request even where the status does not say so.
var refusing = map[string]bool{"AccessDenied": true, "NoSuchBucket": true, "NotImplemented": true, "InvalidRequest": true,
	"InvalidArgument": true, "MalformedXML": true, "InvalidPart": true, "InvalidPartOrder": true, "EntityTooSmall": true}

// byStatus judges an answer without a code, which may be a proxy's. HEAD's
// answers never have one; Stat asks again before it believes a 404.
func byStatus(f *Fault) core.Outcome {
	switch f.Status {
	case http.StatusPreconditionFailed:
		if f.Op == core.KCreate || f.Op == core.KComplete {
			return core.Exists
		}
		return core.Refused
	case http.StatusRequestedRangeNotSatisfiable:
		if f.Op == core.KReadRange || f.Op == core.KFetch || f.Op == core.KReadTail {
			return core.OutOfRange
		}
		return core.Refused
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusLengthRequired,
		http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented:
		return core.Refused // answers about the request itself, whoever gave them
	}
	return core.Unknown
}
