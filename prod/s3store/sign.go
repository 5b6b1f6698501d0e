package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"nova/core"
)

// errTooLate is why a mutation was not sent: its NotAfter has come, or is less
// than a second away, which a signature cannot express.
var errTooLate = errors.New("not sent: its time has run out (NotAfter)")

// maxExpires is the longest life that a signature in a query may have.
const maxExpires = 7 * 24 * 60 * 60

type notAfterKey struct{}

// signedAtKey makes a request look as if it had been signed at another time, for
// the probe of expiries.
type signedAtKey struct{}

// signer signs requests in their headers, and those whose context carries a
// NotAfter in their query, with an expiry that the server enforces.
type signer struct {
	v4  *v4.Signer
	now func() core.Ms
}

func newSigner(now func() core.Ms) *signer { return &signer{v4: v4.NewSigner(), now: now} }

// SignHTTP signs r in place. The SDK calls it for every attempt, whatever scheme
// the bucket wants (an Express session's token is in the credentials).
func (s *signer) SignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, hash, service, region string, t time.Time, opts ...func(*v4.SignerOptions)) error {
	until, ok := ctx.Value(notAfterKey{}).(core.Ms)
	if !ok {
		return s.v4.SignHTTP(ctx, c, r, hash, service, region, t, opts...)
	}
	now := s.now()
	if at, ok := ctx.Value(signedAtKey{}).(core.Ms); ok {
		now = at
	}
	date := time.UnixMilli(int64(now))
	expires := int64(until/1000) - date.Unix() // both cut to seconds: the server's last moment is not after until
	if until <= now || expires < 1 {
		return errTooLate
	}
	q := r.URL.Query()
	q.Set("X-Amz-Expires", strconv.FormatInt(min(expires, maxExpires), 10))
	r.URL.RawQuery = q.Encode()
	r.Header.Del("X-Amz-Content-Sha256")
	// Headers stay headers (some servers look for conditions and checksums only
	// there), and are covered by the signature.
	opts = append(opts, func(o *v4.SignerOptions) { o.DisableHeaderHoisting = true })
	signed, _, err := s.v4.PresignHTTP(ctx, c, r, "UNSIGNED-PAYLOAD", service, region, date, opts...)
	if err != nil {
		return fmt.Errorf("sign request with an expiry: %w", err)
	}
	u, err := url.Parse(signed)
	if err != nil {
		return fmt.Errorf("parse signed address: %w", err)
	}
	r.URL = u
	return nil
}

// until makes the requests under ctx expire at notAfter.
func until(ctx context.Context, notAfter core.Ms) context.Context {
	return context.WithValue(ctx, notAfterKey{}, notAfter)
}

// expiring are the options of a call under until: its body is not hashed.
func expiring(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
}
