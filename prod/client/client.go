package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Client calls one star.
type Client struct {
	base string
	http *http.Client
}

// New makes a client of the star at an address, "http://127.0.0.1:7070" say; the
// scheme may be left out.
func New(address string) (*Client, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is no address of a star: give one like http://127.0.0.1:7070", address)
	}
	return &Client{base: strings.TrimSuffix(u.String(), "/"), http: &http.Client{}}, nil
}

// call sends a request and returns the body of its answer, which the caller
// closes; an answer that is an error becomes a *Problem.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, kind string, body io.Reader) (io.ReadCloser, error) {
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make a request to %s: %w", c.base, err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call the star at %s (does it run? --server names another): %w", c.base, err)
	}
	if resp.StatusCode < 300 {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var p Problem
	if json.Unmarshal(b, &p) != nil || p.Code == "" {
		return nil, fmt.Errorf("%s %s at %s: %s: %s", method, path, c.base, resp.Status, bytes.TrimSpace(b))
	}
	return nil, &p
}

// answer is call for an answer that is one JSON value, or nothing.
func (c *Client) answer(ctx context.Context, method, path string, query url.Values, kind string, body io.Reader, to any) error {
	r, err := c.call(ctx, method, path, query, kind, body)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if to == nil {
		return nil
	}
	if err := json.NewDecoder(r).Decode(to); err != nil {
		return fmt.Errorf("read the answer to %s %s of %s: %w", method, path, c.base, err)
	}
	return nil
}

func of(bucket, name string) url.Values { return url.Values{"bucket": {bucket}, "name": {name}} }

// Create creates a stream, and returns it as the star describes it.
func (c *Client) Create(ctx context.Context, s Stream) (Stream, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	err = c.answer(ctx, http.MethodPost, "/v1/streams", nil, TypeJSON, bytes.NewReader(b), &s)
	return s, err
}

// Streams calls f for every stream of a bucket ("": of all).
func (c *Client) Streams(ctx context.Context, bucket string, f func(Stream) error) error {
	q := url.Values{}
	if bucket != "" {
		q.Set("bucket", bucket)
	}
	r, err := c.call(ctx, http.MethodGet, "/v1/streams", q, "", nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return each(r, func(line []byte) error {
		var s Stream
		if err := json.Unmarshal(line, &s); err != nil {
			return fmt.Errorf("read a stream's line: %w", err)
		}
		return f(s)
	})
}

// Append appends records: the lines of a text, or JSON lines (kind TypeLines).
// An error may still say how far it came (Problem.Appended).
func (c *Client) Append(ctx context.Context, bucket, name, kind string, records io.Reader) (Appended, error) {
	var a Appended
	err := c.answer(ctx, http.MethodPost, "/v1/records", of(bucket, name), kind, records, &a)
	var p *Problem
	if errors.As(err, &p) && p.Appended != nil {
		a = *p.Appended
	}
	return a, err
}

// Read calls f for records from a sequence number on, at most limit of them (0:
// to the end). A record's data is valid during the call only.
func (c *Client) Read(ctx context.Context, bucket, name string, from, limit uint64, f func(Record) error) error {
	q := of(bucket, name)
	q.Set("from", strconv.FormatUint(from, 10))
	if limit > 0 {
		q.Set("limit", strconv.FormatUint(limit, 10))
	}
	r, err := c.call(ctx, http.MethodGet, "/v1/records", q, "", nil)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return each(r, func(line []byte) error {
		var last struct {
			Problem *Problem `json:"problem"`
		}
		if bytes.HasPrefix(line, []byte(problemLine)) && json.Unmarshal(line, &last) == nil && last.Problem != nil {
			return last.Problem
		}
		var record Record
		if err := json.Unmarshal(line, &record); err != nil {
			return fmt.Errorf("read a record's line: %w", err)
		}
		return f(record)
	})
}

// problemLine begins the last line of a read that failed half-way.
const problemLine = `{"problem":`

// ProblemLine is the last line of a read that failed half-way.
func ProblemLine(p *Problem) []byte {
	b, _ := json.Marshal(p)
	return slices.Concat([]byte(problemLine), b, []byte("}\n"))
}

// Trim drops the records below a sequence number.
func (c *Client) Trim(ctx context.Context, bucket, name string, before uint64) error {
	q := of(bucket, name)
	q.Set("before", strconv.FormatUint(before, 10))
	return c.answer(ctx, http.MethodPost, "/v1/trim", q, "", nil, nil)
}

// Delete deletes a stream; its address is free at once.
func (c *Client) Delete(ctx context.Context, bucket, name string) error {
	return c.answer(ctx, http.MethodDelete, "/v1/streams", of(bucket, name), "", nil, nil)
}

// each calls f for every line.
func each(r io.Reader, f func(line []byte) error) error {
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := b.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := f(bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the answer broke off: %w", err)
		}
	}
}
