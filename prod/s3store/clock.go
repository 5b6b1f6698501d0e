package s3store

import (
	"net/http"
	"sync/atomic"

	"nova/core"
)

// clock compares the server's clock with the process's.
type clock struct {
	now   func() core.Ms
	ahead atomic.Int64
	known atomic.Bool
}

// maxRoundTrip is how long a request may have taken for its date to count.
const maxRoundTrip core.Ms = 2000

// saw records the Date of the answer to a request that was sent and answered at
// these times. A date is cut to the second, so its middle is taken.
func (c *clock) saw(date string, sent, answered core.Ms) {
	if answered-sent > maxRoundTrip || answered < sent {
		return
	}
	t, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.ahead.Store(t.UnixMilli() + 500 - int64(sent+answered)/2)
	c.known.Store(true)
}

func (c *clock) skew() (core.Ms, bool) { return core.Ms(c.ahead.Load()), c.known.Load() }

// dated is a transport that shows every answer's date to a clock.
type dated struct {
	next  http.RoundTripper
	clock *clock
}

// RoundTrip sends a request and notes the date of its answer.
func (d *dated) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := d.clock.now()
	resp, err := d.next.RoundTrip(r)
	if err == nil && r.ContentLength <= 0 { // the answer to an upload comes long after it was sent
		d.clock.saw(resp.Header.Get("Date"), sent, d.clock.now())
	}
	return resp, err
}

// CloseIdleConnections closes the idle connections below.
func (d *dated) CloseIdleConnections() {
	if c, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
