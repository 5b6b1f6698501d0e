package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Media types.
const (
	TypeLines = "application/x-ndjson" // one JSON object a line
	TypeText  = "text/plain"
	TypeJSON  = "application/json"
)

// DefaultBucket is the namespace of a stream whose bucket is not named.
const DefaultBucket = "default"

// Stream describes one stream.
type Stream struct {
	Bucket   string `json:"bucket"`
	Name     string `json:"name"`
	Class    string `json:"class,omitempty"`      // standard (also when empty) or express
	MaxAgeMs int64  `json:"max_age_ms,omitempty"` // records older than this are dropped; 0: never
	// What the server says of it.
	ID     uint64 `json:"id,omitempty"`
	BornMs int64  `json:"born_ms,omitempty"`
	First  uint64 `json:"first"` // records below it are gone
	End    uint64 `json:"end"`   // sequence number after the last record that can be read
	Star   string `json:"star,omitempty"`
}

// Record is one record on the wire.
type Record struct {
	Seq    uint64
	TimeMs int64
	Data   []byte
}

type wireRecord struct {
	Seq    uint64  `json:"seq"`
	TimeMs int64   `json:"time_ms,omitempty"`
	Data   *string `json:"data,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// MarshalJSON writes data that is text as a string and other data in base 64.
func (r Record) MarshalJSON() ([]byte, error) {
	w := wireRecord{Seq: r.Seq, TimeMs: r.TimeMs}
	if s := string(r.Data); utf8.ValidString(s) {
		w.Data = &s
	} else {
		s = base64.StdEncoding.EncodeToString(r.Data)
		w.Base64 = &s
	}
	return json.Marshal(w)
}

// UnmarshalJSON is the inverse of MarshalJSON. A record without any data is
// refused.
func (r *Record) UnmarshalJSON(b []byte) error {
	var w wireRecord
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*r = Record{Seq: w.Seq, TimeMs: w.TimeMs}
	switch {
	case w.Data != nil && w.Base64 == nil:
		r.Data = []byte(*w.Data)
	case w.Base64 != nil && w.Data == nil:
		data, err := base64.StdEncoding.DecodeString(*w.Base64)
		if err != nil {
			return fmt.Errorf("decode a record's base64: %w", err)
		}
		r.Data = data
	default:
		return fmt.Errorf(`a record has either "data" or "base64"`)
	}
	return nil
}

// Appended answers an append.
type Appended struct {
	First   uint64 `json:"first"` // sequence number of the first record
	End     uint64 `json:"end"`   // after the last
	Records uint64 `json:"records"`
}

// Code says what kind of problem it is.
type Code string

const (
	CodeBadRequest  Code = "bad-request"
	CodeNotFound    Code = "not-found"   // no such stream
	CodeExists      Code = "exists"      // the address is taken
	CodeLedBy       Code = "led-by"      // another star leads the stream
	CodeTrimmed     Code = "trimmed"     // the records asked for are gone
	CodeLost        Code = "lost"        // the records asked for are truly lost
	CodeUnknown     Code = "unknown"     // no definite answer: it may have happened
	CodeUnavailable Code = "unavailable" // not now
)

// Problem is an error on the wire.
type Problem struct {
	Code Code   `json:"code"`
	Text string `json:"error"`
	Star string `json:"star,omitempty"` // CodeLedBy: who leads the stream
	// Appended is how far an append came that failed half-way.
	Appended *Appended `json:"appended,omitempty"`
}

func (p *Problem) Error() string { return p.Text }
