package s3store

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"nova/core"
)

// Config says how an endpoint is reached.
type Config struct {
	// URL is the endpoint; "" is AWS itself, in Region.
	URL string
	// Region is signed into every request; "" is us-east-1.
	Region string
	// AccessKey and SecretKey are static credentials; or give Credentials.
	AccessKey, SecretKey string
	Credentials          aws.CredentialsProvider
	// HostStyle puts the bucket into the host name. With a URL, path style is
	// the default; AWS is always addressed by host.
	HostStyle bool
	// Transport sends the requests; nil is a transport with idle connections
	// enough for the driver's widths.
	Transport http.RoundTripper
	// Now is the process's clock, by which a NotAfter is meant; nil is the wall
	// clock.
	Now func() core.Ms
}

// Endpoint is one S3 endpoint: the stores that it serves share a client, and
// parts are copied between them inside the server.
type Endpoint struct {
	url    string
	client *s3.Client
	http   *http.Client
	now    func() core.Ms
	clock  clock

	mu      sync.Mutex
	buckets map[core.Store]string
}

// Connect prepares an endpoint. It sends nothing.
func Connect(c Config) (*Endpoint, error) {
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if c.Now == nil {
		c.Now = func() core.Ms { return core.Ms(time.Now().UnixMilli()) }
	}
	if c.Credentials == nil {
		if c.AccessKey == "" || c.SecretKey == "" {
			return nil, fmt.Errorf("connect to S3 at %q: no credentials: give an access key and a secret key, or a provider", c.URL)
		}
		c.Credentials = credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, "")
	}
	if c.Transport == nil {
		c.Transport = defaultTransport()
	}
	e := &Endpoint{url: c.URL, now: c.Now, buckets: map[core.Store]string{}}
	e.clock.now = c.Now
	e.http = &http.Client{Transport: &dated{next: c.Transport, clock: &e.clock}, CheckRedirect: noRedirect}
	o := s3.Options{
		Region:       c.Region,
		Credentials:  c.Credentials,
		UsePathStyle: c.URL != "" && !c.HostStyle,
		HTTPClient:   e.http,
		// The driver alone decides what is sent twice.
		Retryer:                    aws.NopRetryer{},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		HTTPSignerV4:               newSigner(c.Now),
	}
	if c.URL != "" {
		o.BaseEndpoint = aws.String(c.URL)
	}
	e.client = s3.New(o)
	return e, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// defaultTransport keeps as many idle connections as the driver has requests
// abreast. They are dropped early: a mutation sent on a connection that the
// server has just closed is an outcome that nobody knows.
func defaultTransport() http.RoundTripper {
	d := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           d.DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   512,
		IdleConnTimeout:       20 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
	}
}

// Bucket describes one store of an endpoint.
type Bucket struct {
	Name string // of the S3 bucket
	// Express marks a directory bucket: its listings are unsorted, and their
	// prefixes end in "/".
	Express bool
}

// Store makes a store of one of the endpoint's buckets, known to the core as
// name.
func (e *Endpoint) Store(name core.Store, b Bucket) (*Store, error) {
	if name == "" || b.Name == "" {
		return nil, errors.New("make a store: it needs a name and a bucket")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if old, ok := e.buckets[name]; ok && old != b.Name {
		return nil, fmt.Errorf("make store %s of bucket %s: it is bucket %s already: choose another name", name, b.Name, old)
	}
	e.buckets[name] = b.Name
	return &Store{e: e, name: name, bucket: b.Name, express: b.Express}, nil
}

// Close closes idle connections. Call it once nothing uses the stores any more.
func (e *Endpoint) Close() { e.http.CloseIdleConnections() }

// bucketOf is the bucket of a store at this endpoint.
func (e *Endpoint) bucketOf(name core.Store) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, ok := e.buckets[name]
	return b, ok
}

// Serves reports whether a store is one of this endpoint's: whether a part can be
// copied from it inside the server.
func (e *Endpoint) Serves(name core.Store) bool {
	_, ok := e.bucketOf(name)
	return ok
}

// Skew is how far the server's clock is ahead of the process's, measured from
// the dates of answers to within a second or so, and false before the first. A
// duty that deletes by its own clock must not run while it exceeds Dials.Skew
// (gap 11, C7).
func (e *Endpoint) Skew() (ahead core.Ms, known bool) { return e.clock.skew() }
