package cache

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// span is a range that was asked for: from off on, or the last n bytes when
// suffix is set; n < 0 is to the end.
type span struct {
	off, n int64
	suffix bool
}

// parseRange reads a Range header; nil is all of it. What it does not take (two
// ranges, other units) is the store's to judge.
func parseRange(h string) (*span, bool) {
	if h == "" {
		return nil, true
	}
	first, last, ok := strings.Cut(strings.TrimPrefix(h, "bytes="), "-")
	if !ok || !strings.HasPrefix(h, "bytes=") {
		return nil, false
	}
	number := func(s string) (int64, bool) {
		n, err := strconv.ParseUint(s, 10, 62)
		return int64(n), err == nil
	}
	if first == "" {
		n, ok := number(last)
		return &span{n: n, suffix: true}, ok
	}
	off, ok := number(first)
	if !ok || last == "" {
		return &span{off: off, n: -1}, ok
	}
	end, ok := number(last)
	return &span{off: off, n: end - off + 1}, ok && end >= off
}

// in is the range within an object of size bytes, and whether it holds any.
func (s *span) in(size int64) (off, n int64, ok bool) {
	if s.suffix {
		n = min(s.n, size)
		return size - n, n, n > 0
	}
	if n = size - s.off; s.n >= 0 {
		n = min(n, s.n)
	}
	return s.off, n, n > 0
}

// answer writes an entry, or the range of it that was asked for.
func (e *entry) answer(w http.ResponseWriter, r *http.Request, rng *span) {
	copyHeader(w.Header(), e.header)
	status, body, size := e.status, e.body, int64(len(e.body))
	if rng != nil && status == http.StatusOK {
		off, n, ok := rng.in(size)
		if !ok {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", size))
			fail(w, r, &problem{http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable"})
			return
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, off+n-1, size))
		status, body = http.StatusPartialContent, body[off:off+n]
	}
	if status == http.StatusOK || status == http.StatusPartialContent {
		w.Header().Set("Accept-Ranges", "bytes")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client went: nothing to tell it
	}
}

// kept is the part of an answer's header that another answer may have too: not
// what is of one request or of one connection, and no checksum, which a range of
// the object does not have.
func kept(h http.Header) http.Header {
	out := h.Clone()
	for name := range out {
		if strings.HasPrefix(name, "X-Amz-Checksum-") || strings.HasPrefix(name, "X-Amz-Id-") {
			delete(out, name)
		}
	}
	for _, name := range append([]string{"Date", "Content-Length", "Content-Range", "Accept-Ranges", "X-Amz-Request-Id", "Server", header}, hops...) {
		out.Del(name)
	}
	return out
}

func copyHeader(to, from http.Header) {
	for name, vals := range from {
		to[name] = vals
	}
}

// fail answers with one of S3's errors.
func fail(w http.ResponseWriter, r *http.Request, p *problem) {
	body := p.body(r.URL.Path)
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

func (p *problem) body(resource string) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	_ = xml.NewEncoder(&b).Encode(struct { // into memory, of strings: it does not fail
		XMLName  xml.Name `xml:"Error"`
		Code     string
		Message  string
		Resource string
	}{Code: p.code, Message: p.text, Resource: resource})
	return b.Bytes()
}

// broken is the answer when the store gave none. It says nothing of the object.
func (p *Proxy) broken(err error) *entry {
	p.log.Warn("the store does not answer the cache", "err", err)
	return &entry{status: http.StatusBadGateway, header: http.Header{"Content-Type": {"application/xml"}}, body: noStore.body("")}
}

var noStore = &problem{http.StatusBadGateway, "InternalError", "the store does not answer the cache"}

// forward sends a request on and its answer back. It calls answered once, with
// the status, before any of the answer is sent.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, c *claim, answered func(status int)) {
	resp, err := p.send(r.Context(), r, c, r.Body, r.ContentLength)
	if err != nil {
		p.log.Warn("the store does not answer the cache", "err", err)
		answered(noStore.status)
		fail(w, r, noStore)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	answered(resp.StatusCode)
	back(w, resp, resp.Body)
}

// back sends a store's answer to the client. A body that ends early must not look
// whole: the connection is cut.
func back(w http.ResponseWriter, resp *http.Response, body io.Reader) {
	h := resp.Header.Clone()
	for _, name := range hops {
		h.Del(name)
	}
	copyHeader(w.Header(), h)
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, body); err != nil {
		panic(http.ErrAbortHandler)
	}
}
