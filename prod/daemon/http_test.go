package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nova/prod/client"
)

// memory is a service that holds streams in memory.
type memory struct {
	streams map[string][]string
	failAt  uint64 // Read: fail before this record, when not 0
}

func (m *memory) Create(_ context.Context, s client.Stream) (client.Stream, error) {
	if _, ok := m.streams[s.Bucket+"/"+s.Name]; ok {
		return s, &client.Problem{Code: client.CodeExists, Text: "it exists"}
	}
	m.streams[s.Bucket+"/"+s.Name] = []string{}
	s.ID = uint64(len(m.streams))
	return s, nil
}

func (m *memory) Streams(_ context.Context, bucket string, f func(client.Stream) error) error {
	for k := range m.streams {
		if b, n, _ := strings.Cut(k, "/"); b == bucket || bucket == "" {
			if err := f(client.Stream{Bucket: b, Name: n}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *memory) Delete(_ context.Context, bucket, name string) error {
	if _, ok := m.streams[bucket+"/"+name]; !ok {
		return &client.Problem{Code: client.CodeNotFound, Text: "no such stream"}
	}
	delete(m.streams, bucket+"/"+name)
	return nil
}

func (m *memory) Append(_ context.Context, bucket, name string, next func() ([]byte, error)) (a client.Appended, err error) {
	k := bucket + "/" + name
	a.First = uint64(len(m.streams[k]))
	a.End = a.First
	for {
		b, err := next()
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return a, err
		}
		m.streams[k] = append(m.streams[k], string(b))
		a.End, a.Records = a.End+1, a.Records+1
	}
}

func (m *memory) Read(_ context.Context, bucket, name string, from, limit uint64, f func(Record) error) error {
	all, ok := m.streams[bucket+"/"+name]
	if !ok {
		return &client.Problem{Code: client.CodeNotFound, Text: "no such stream"}
	}
	for i := from; i < uint64(len(all)) && (limit == 0 || i < from+limit); i++ {
		if m.failAt != 0 && i == m.failAt {
			return errors.New("the store is gone")
		}
		if err := f(Record{Seq: i, Time: 1, Data: []byte(all[i])}); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Trim(context.Context, string, string, uint64) error { return nil }

func serveMemory(t *testing.T) (*memory, *client.Client, string) {
	t.Helper()
	m := &memory{streams: map[string][]string{}}
	srv := httptest.NewServer(Handler(m, slog.New(slog.DiscardHandler)))
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return m, c, srv.URL
}

func TestTheInterfaceCarriesEveryRecord(t *testing.T) {
	_, c, _ := serveMemory(t)
	ctx := t.Context()
	const name = "a/../b c\x00%2F~é" // names may hold anything
	if _, err := c.Create(ctx, client.Stream{Name: name}); err != nil {
		t.Fatal(err)
	}
	a, err := c.Append(ctx, client.DefaultBucket, name, client.TypeText, strings.NewReader("one\n\n\xff\xfe\nlast"))
	if err != nil || a.Records != 4 || a.End != 4 {
		t.Fatalf("append: %+v, %v", a, err)
	}
	b, err := client.Record{Data: []byte("line\nbreak")}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append(ctx, client.DefaultBucket, name, client.TypeLines, strings.NewReader(string(b)+"\n")); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = c.Read(ctx, client.DefaultBucket, name, 1, 0, func(r client.Record) error {
		got = append(got, fmt.Sprintf("%d:%s", r.Seq, r.Data))
		return nil
	})
	if d := cmp.Diff([]string{"1:", "2:\xff\xfe", "3:last", "4:line\nbreak"}, got); err != nil || d != "" {
		t.Fatalf("read: %v\n%s", err, d)
	}
}

func TestProblemsKeepTheirCode(t *testing.T) {
	m, c, url := serveMemory(t)
	ctx := t.Context()
	code := func(err error) client.Code {
		var p *client.Problem
		if !errors.As(err, &p) {
			t.Fatalf("%v is no problem", err)
		}
		return p.Code
	}
	none := func(client.Record) error { return nil }
	if err := c.Read(ctx, "b", "n", 0, 0, none); code(err) != client.CodeNotFound {
		t.Error(err)
	}
	m.streams["b/n"] = []string{"a", "b", "c"}
	if _, err := c.Create(ctx, client.Stream{Bucket: "b", Name: "n"}); code(err) != client.CodeExists {
		t.Error(err)
	}
	// A read that fails half-way brings what it had, and then the problem.
	m.failAt = 2
	n := 0
	if err := c.Read(ctx, "b", "n", 0, 0, func(client.Record) error { n++; return nil }); code(err) != client.CodeUnknown || n != 2 {
		t.Errorf("%d records, then %v", n, err)
	}
	a, err := c.Append(ctx, "b", "n", client.TypeLines, strings.NewReader("{\"data\":\"d\"}\n{}\n"))
	if code(err) != client.CodeBadRequest || a.Records != 1 || a.End != 4 {
		t.Errorf("append of a bad line: %+v, %v", a, err)
	}
	for _, path := range []string{"/v1/records?bucket=b", "/v1/records?name=n&from=x", "/v1/records?name=n&limit=-1"} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s, want 400", path, resp.Status)
		}
	}
}

func TestAReadInPlainTextIsTheLines(t *testing.T) {
	m, _, url := serveMemory(t)
	m.streams["default/n"] = []string{"a", "", "c\xff"}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/records?name=n", nil)
	req.Header.Set("Accept", client.TypeText)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "a\n\nc\xff\n" {
		t.Fatalf("%q, %v", b, err)
	}
}
