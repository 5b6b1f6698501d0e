package cache

import (
	"context"
	"crypto/hmac"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	algorithm   = "AWS4-HMAC-SHA256"
	dateFormat  = "20060102T150405Z"
	unsigned    = "UNSIGNED-PAYLOAD"
	emptyHash   = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	maxSkew     = 15 * time.Minute
	queryExpiry = "X-Amz-Expires"
)

// claim is how a request says that it was signed. It is signed again upstream
// with the same date and the same expiry: what the store would have refused for
// its age from the client, it refuses from the cache (gap 3).
type claim struct {
	inQuery   bool
	id        string // access key
	region    string
	date      time.Time
	expires   time.Duration // inQuery
	headers   []string      // that are signed, in lower case
	signature string
	hash      string // of the body, as it is announced
}

// problem is an answer of S3's kind.
type problem struct {
	status     int
	code, text string
}

func deny(code, text string) *problem { return &problem{http.StatusForbidden, code, text} }

// admit checks who signed a request, and when.
func (p *Proxy) admit(r *http.Request) (*claim, *problem) {
	c, bad := readClaim(r)
	if bad != nil {
		return nil, bad
	}
	if strings.HasPrefix(c.hash, "STREAMING-AWS4") {
		return nil, &problem{http.StatusNotImplemented, "NotImplemented", "the cache does not take bodies whose every chunk is signed: send them to the store"}
	}
	for h := range r.Header {
		if h = strings.ToLower(h); strings.HasPrefix(h, "x-amz-") && !slices.Contains(c.headers, h) {
			return nil, deny("AccessDenied", "header "+h+" is not signed")
		}
	}
	accept, err := p.accept.Retrieve(r.Context())
	if err != nil {
		return nil, &problem{http.StatusInternalServerError, "InternalError", "the cache has no credentials of its own"}
	}
	if c.id != accept.AccessKeyID {
		return nil, deny("InvalidAccessKeyId", "the cache takes another access key")
	}
	now := p.now()
	if age := now.Sub(c.date); age < -maxSkew || !c.inQuery && age > maxSkew {
		return nil, deny("RequestTimeTooSkewed", "the request was signed at "+c.date.Format(dateFormat)+", and it is "+now.UTC().Format(dateFormat))
	} else if c.inQuery && age > c.expires {
		return nil, deny("AccessDenied", "Request has expired")
	}
	if want, err := c.sign(r, accept); err != nil || !hmac.Equal([]byte(want), []byte(c.signature)) {
		return nil, deny("SignatureDoesNotMatch", "the signature is not that of this request with the cache's secret key")
	}
	return c, nil
}

// readClaim reads what a request says of its signature.
func readClaim(r *http.Request) (*claim, *problem) {
	c, credential := &claim{}, ""
	malformed := deny("AccessDenied", "sign the request, with "+algorithm)
	auth, signed, date := r.Header.Get("Authorization"), "", r.Header.Get("X-Amz-Date")
	if auth == "" {
		q := r.URL.Query()
		seconds, err := strconv.ParseUint(q.Get(queryExpiry), 10, 20)
		if q.Get("X-Amz-Algorithm") != algorithm || err != nil {
			return nil, malformed
		}
		c.inQuery, c.hash, c.expires = true, unsigned, time.Duration(seconds)*time.Second
		credential, signed, c.signature, date = q.Get("X-Amz-Credential"), q.Get("X-Amz-SignedHeaders"), q.Get("X-Amz-Signature"), q.Get("X-Amz-Date")
	} else {
		fields, ok := strings.CutPrefix(auth, algorithm+" ")
		if !ok {
			return nil, malformed
		}
		for f := range strings.SplitSeq(fields, ",") {
			name, val, _ := strings.Cut(strings.TrimSpace(f), "=")
			switch name {
			case "Credential":
				credential = val
			case "SignedHeaders":
				signed = val
			case "Signature":
				c.signature = val
			}
		}
		c.hash = r.Header.Get("X-Amz-Content-Sha256")
	}
	scope := strings.Split(credential, "/")
	at, err := time.Parse(dateFormat, date)
	if err != nil || len(scope) != 5 || scope[1] != at.Format("20060102") || scope[3] != "s3" || scope[4] != "aws4_request" || c.hash == "" {
		return nil, malformed
	}
	c.id, c.region, c.date, c.headers = scope[0], scope[2], at, strings.Split(signed, ";")
	if !slices.Contains(c.headers, "host") {
		return nil, malformed
	}
	return c, nil
}

// sign is the signature that the request has if who sent it has the secret.
func (c *claim) sign(r *http.Request, with aws.Credentials) (string, error) {
	again := &http.Request{Method: r.Method, Host: r.Host, Header: http.Header{}, URL: &url.URL{
		Scheme: "http", Host: r.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery,
	}}
	for _, h := range c.headers {
		switch h = http.CanonicalHeaderKey(h); h {
		case "Host":
		case "Content-Length":
			again.ContentLength = r.ContentLength
		default:
			again.Header[h] = slices.Clone(r.Header[h])
		}
	}
	if c.inQuery {
		dropQuery(again.URL, "X-Amz-Signature")
	}
	if err := c.resign(r.Context(), again, with); err != nil {
		return "", err
	}
	if c.inQuery {
		return again.URL.Query().Get("X-Amz-Signature"), nil
	}
	_, signature, _ := strings.Cut(again.Header.Get("Authorization"), "Signature=")
	return signature, nil
}

// resign signs a request in place, as c says.
func (c *claim) resign(ctx context.Context, r *http.Request, with aws.Credentials) error {
	plain := func(o *v4.SignerOptions) { o.DisableURIPathEscaping, o.DisableHeaderHoisting = true, true }
	s := v4.NewSigner()
	if !c.inQuery {
		return s.SignHTTP(ctx, with, r, c.hash, "s3", c.region, c.date, plain)
	}
	signed, _, err := s.PresignHTTP(ctx, with, r, c.hash, "s3", c.region, c.date, plain)
	if err != nil {
		return err
	}
	r.URL, err = url.Parse(signed)
	return err
}

// dropQuery takes parameters out of an address.
func dropQuery(u *url.URL, names ...string) {
	q := u.Query()
	for _, n := range names {
		q.Del(n)
	}
	u.RawQuery = q.Encode()
}

// hops are headers of one connection, and what the client's signature was in.
var hops = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "Expect"}

// send sends a request on to the store, signed with the proxy's credentials.
func (p *Proxy) send(ctx context.Context, r *http.Request, c *claim, body io.Reader, n int64) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, r.Method, p.upstream.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make the request for the store: %w", err)
	}
	if out.ContentLength = n; n == 0 {
		out.Body = http.NoBody
	}
	out.URL.Path, out.URL.RawPath, out.URL.RawQuery = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
	out.Header = r.Header.Clone()
	for _, h := range hops {
		out.Header.Del(h)
	}
	if c.inQuery { // the expiry stays
		dropQuery(out.URL, "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Signature", "X-Amz-Security-Token")
	}
	with, err := p.creds.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the credentials for the store: %w", err)
	}
	if err := c.resign(ctx, out, with); err != nil {
		return nil, fmt.Errorf("sign the request for the store: %w", err)
	}
	resp, err := p.http.RoundTrip(out)
	if err != nil {
		return nil, fmt.Errorf("%s %s at the store: %w", r.Method, r.URL.Path, err)
	}
	return resp, nil
}
