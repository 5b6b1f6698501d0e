package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"nova/prod/client"
)

// Service is what a star offers over HTTP. An error that is a *client.Problem
// keeps its code; any other is CodeUnknown.
type Service interface {
	// Create creates a stream.
	Create(ctx context.Context, s client.Stream) (client.Stream, error)
	// Streams calls f for every stream of a bucket ("": of all).
	Streams(ctx context.Context, bucket string, f func(client.Stream) error) error
	// Delete deletes a stream.
	Delete(ctx context.Context, bucket, name string) error
	// Append appends records until next says io.EOF, and returns when all of them
	// are acknowledged. next's bytes are valid until its next call. After an error
	// the answer says how far it came.
	Append(ctx context.Context, bucket, name string, next func() ([]byte, error)) (client.Appended, error)
	// Read calls f for at most limit records (0: to the end) from a sequence
	// number on.
	Read(ctx context.Context, bucket, name string, from, limit uint64, f func(Record) error) error
	// Trim drops the records below a sequence number.
	Trim(ctx context.Context, bucket, name string, before uint64) error
}

// Handler serves a star's HTTP interface; package client says what it is.
func Handler(s Service, log *slog.Logger) http.Handler {
	h := &handler{s: s, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/streams", h.list)
	mux.HandleFunc("POST /v1/streams", h.create)
	mux.HandleFunc("DELETE /v1/streams", h.remove)
	mux.HandleFunc("GET /v1/records", h.read)
	mux.HandleFunc("POST /v1/records", h.append)
	mux.HandleFunc("POST /v1/trim", h.trim)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return mux
}

type handler struct {
	s   Service
	log *slog.Logger
}

var statuses = map[client.Code]int{
	client.CodeBadRequest:  http.StatusBadRequest,
	client.CodeNotFound:    http.StatusNotFound,
	client.CodeExists:      http.StatusConflict,
	client.CodeLedBy:       http.StatusMisdirectedRequest,
	client.CodeTrimmed:     http.StatusGone,
	client.CodeLost:        http.StatusGone,
	client.CodeUnknown:     http.StatusInternalServerError,
	client.CodeUnavailable: http.StatusServiceUnavailable,
}

// problem is an error as it goes over the wire.
func problem(err error) *client.Problem {
	var p *client.Problem
	if errors.As(err, &p) {
		return p
	}
	return &client.Problem{Code: client.CodeUnknown, Text: err.Error()}
}

func bad(format string, args ...any) error {
	return &client.Problem{Code: client.CodeBadRequest, Text: fmt.Sprintf(format, args...)}
}

func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problem(err)
	status, ok := statuses[p.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	if status >= 500 && r.Context().Err() == nil {
		h.log.Warn("a request failed", "method", r.Method, "url", r.URL.String(), "err", err)
	}
	answer(w, status, p)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", client.TypeJSON)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func number(r *http.Request, field string) (uint64, error) {
	v := r.URL.Query().Get(field)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, bad("%s=%s is no sequence number", field, v)
	}
	return n, nil
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	out := &stream{w: w, kind: client.TypeLines}
	e := json.NewEncoder(out)
	err := h.s.Streams(r.Context(), r.URL.Query().Get("bucket"), func(s client.Stream) error { return e.Encode(s) })
	h.finish(out, r, err)
}

func (h *handler) create(w http.ResponseWriter, r *http.Request) {
	var s client.Stream
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		h.fail(w, r, bad("the body is no stream's description: %v", err))
		return
	}
	if s.Bucket == "" {
		s.Bucket = client.DefaultBucket
	}
	s, err := h.s.Create(r.Context(), s)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer(w, http.StatusCreated, s)
}

func (h *handler) remove(w http.ResponseWriter, r *http.Request) {
	bucket, name, err := query(r)
	if err == nil {
		err = h.s.Delete(r.Context(), bucket, name)
	}
	h.nothing(w, r, err)
}

func (h *handler) trim(w http.ResponseWriter, r *http.Request) {
	bucket, name, err := query(r)
	var before uint64
	if err == nil {
		before, err = number(r, "before")
	}
	if err == nil {
		err = h.s.Trim(r.Context(), bucket, name, before)
	}
	h.nothing(w, r, err)
}

// nothing answers a request that has no answer but that it was done.
func (h *handler) nothing(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) append(w http.ResponseWriter, r *http.Request) {
	bucket, name, err := query(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	l := NewLines(r.Body)
	next := l.Next
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind == client.TypeLines {
		next = func() ([]byte, error) {
			line, err := l.Next()
			if err != nil {
				return nil, err
			}
			var record client.Record
			if err := json.Unmarshal(line, &record); err != nil {
				return nil, bad("a line of the body is no record: %v", err)
			}
			return record.Data, nil
		}
	}
	done, err := h.s.Append(r.Context(), bucket, name, next)
	if err != nil {
		p := *problem(err)
		p.Appended = &done
		err = &p
		h.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, done)
}

func (h *handler) read(w http.ResponseWriter, r *http.Request) {
	bucket, name, err := query(r)
	var from, limit uint64
	if err == nil {
		from, err = number(r, "from")
	}
	if err == nil {
		limit, err = number(r, "limit")
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := &stream{w: w, kind: client.TypeLines}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	write := func(rec Record) error {
		return e.Encode(client.Record{Seq: rec.Seq, TimeMs: int64(rec.Time), Data: rec.Data})
	}
	if r.Header.Get("Accept") == client.TypeText {
		out.kind = client.TypeText
		write = func(rec Record) error {
			if _, err := out.Write(rec.Data); err != nil {
				return err
			}
			return out.b.WriteByte('\n')
		}
	}
	err = h.s.Read(r.Context(), bucket, name, from, limit, write)
	h.finish(out, r, err)
}

// query is the stream that a request names.
func query(r *http.Request) (bucket, name string, err error) {
	q := r.URL.Query()
	bucket, name = q.Get("bucket"), q.Get("name")
	if bucket == "" {
		bucket = client.DefaultBucket
	}
	if name == "" {
		return "", "", bad("the request names no stream: add name=…")
	}
	return bucket, name, nil
}

// finish ends an answer of lines. Once lines are out, an error can only be a
// line as well (or, in plain text, a connection that breaks off).
func (h *handler) finish(out *stream, r *http.Request, err error) {
	switch {
	case err == nil:
		if out.b == nil {
			out.begin()
		}
		_ = out.b.Flush()
	case out.b == nil:
		h.fail(out.w, r, err)
	case out.kind == client.TypeLines:
		_, _ = out.b.Write(client.ProblemLine(problem(err)))
		_ = out.b.Flush()
	default:
		panic(http.ErrAbortHandler)
	}
}

// stream is an answer whose head is written with its first byte.
type stream struct {
	w    http.ResponseWriter
	kind string
	b    *bufio.Writer
}

func (s *stream) begin() {
	s.w.Header().Set("Content-Type", s.kind)
	s.w.WriteHeader(http.StatusOK)
	s.b = bufio.NewWriterSize(s.w, 64<<10)
}

func (s *stream) Write(p []byte) (int, error) {
	if s.b == nil {
		s.begin()
	}
	return s.b.Write(p)
}
