package client

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestRecordsCrossTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Record{
			Seq: rapid.Uint64().Draw(t, "seq"), TimeMs: rapid.Int64().Draw(t, "time"),
			Data: rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "data"),
		}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(b, []byte(problemLine)) || bytes.Contains(b, []byte("\n")) {
			t.Fatalf("%s is no record's line", b)
		}
		var got Record
		if err := json.Unmarshal(b, &got); err != nil || got.Seq != want.Seq || got.TimeMs != want.TimeMs || !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("%+v came back as %+v: %v", want, got, err)
		}
	})
}

func TestRecordsWithoutDataAreRefused(t *testing.T) {
	for _, s := range []string{`{}`, `{"seq":1}`, `{"data":"a","base64":"YQ=="}`, `{"base64":"?"}`, `{"data":1}`, `[]`} {
		var r Record
		if err := json.Unmarshal([]byte(s), &r); err == nil {
			t.Errorf("%s is taken for a record: %+v", s, r)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, s := range []string{"", "http://", "://x", "http://[::1"} {
		if _, err := New(s); err == nil {
			t.Errorf("%q is taken for an address", s)
		}
	}
	c, err := New("127.0.0.1:7070/")
	if err != nil || c.base != "http://127.0.0.1:7070" {
		t.Errorf("%v, %v", c, err)
	}
}
