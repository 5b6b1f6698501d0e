package s3store

import (
	"net/http"
	"sync/atomic"
	"time"

	"nova/core"
)

// clock compares the server's clock with the process's. It counts the server's on
// from its last answer by a clock that nobody sets, so that a jump of the
// process's shows at once, and not with the next answer (C7).
type clock struct {
	now    func() core.Ms
	steady func() core.Ms // never set, never jumps; nil is the process's monotonic clock
	server atomic.Int64   // the server's time when steady showed 0
	known  atomic.Bool
}

// started is where the monotonic clock of the process begins.
var started = time.Now()

func (c *clock) mono() core.Ms {
	if c.steady != nil {
		return c.steady()
	}
	return core.Ms(time.Since(started).Milliseconds())
}

// maxRoundTrip is how long a request may have taken for its date to count, and
// maxFirstTrip the same while there is no better one.
const (
	maxRoundTrip core.Ms = 2000
	maxFirstTrip core.Ms = 10_000
)

// saw records the Date of the answer to a request that was sent and answered at
// these times of the steady clock. A date is cut to the second, so its middle is
// taken.
func (c *clock) saw(date string, sent, answered core.Ms) {
	most := maxRoundTrip
	if !c.known.Load() {
		most = maxFirstTrip
	}
	if answered-sent > most || answered < sent {
		return
	}
	t, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.server.Store(t.UnixMilli() + 500 - int64(sent+answered)/2)
	c.known.Store(true)
}

// skew is how far the server's clock is ahead of the process's now.
func (c *clock) skew() (core.Ms, bool) {
	return core.Ms(c.server.Load()) + c.mono() - c.now(), c.known.Load()
}

// dated is a transport that shows every answer's date to a clock.
type dated struct {
	next  http.RoundTripper
	clock *clock
}

// RoundTrip sends a request and notes the date of its answer.
func (d *dated) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := d.clock.mono()
	resp, err := d.next.RoundTrip(r)
	if err == nil && r.ContentLength <= 0 { // the answer to an upload comes long after it was sent
		d.clock.saw(resp.Header.Get("Date"), sent, d.clock.mono())
	}
	return resp, err
}

// CloseIdleConnections closes the idle connections below.
func (d *dated) CloseIdleConnections() {
	if c, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
