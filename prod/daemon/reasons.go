package daemon

import (
	"errors"
	"fmt"

	"nova/core/serve"
	"nova/prod/client"
)

// refusal is a machine's reason as an error.
type refusal struct{ reason serve.Reason }

func (r refusal) Error() string { return r.reason.String() }

// Is makes an undecided refusal ErrUndecided.
func (r refusal) Is(err error) bool { return err == ErrUndecided && r.reason == serve.Undecided }

// reasonError is the error for a reason, nil for none.
func reasonError(r serve.Reason) error {
	if r == serve.None {
		return nil
	}
	return refusal{r}
}

// Reason is the machine's reason in an error, serve.None without one.
func Reason(err error) serve.Reason {
	var r refusal
	if errors.As(err, &r) {
		return r.reason
	}
	return serve.None
}

var codes = map[serve.Reason]client.Code{
	serve.NoStream:  client.CodeNotFound,
	serve.Deleted:   client.CodeNotFound,
	serve.NotOpen:   client.CodeUnavailable,
	serve.Held:      client.CodeLedBy,
	serve.Undecided: client.CodeUnknown,
	serve.Closing:   client.CodeUnavailable,
	serve.Busy:      client.CodeUnavailable,
	serve.Damaged:   client.CodeLost,
	serve.Malformed: client.CodeBadRequest,
	serve.NameTaken: client.CodeExists,
	serve.BadName:   client.CodeBadRequest,
	serve.BadPolicy: client.CodeBadRequest,
	serve.BeyondEnd: client.CodeBadRequest,
	serve.Trimmed:   client.CodeTrimmed,
	serve.Lost:      client.CodeLost,
	serve.Missing:   client.CodeLost,
	serve.Expired:   client.CodeUnavailable,
	serve.Gone:      client.CodeUnavailable,
}

// wireProblem says an error to a client of the HTTP interface, with what it was
// about.
func wireProblem(err error, about string, args ...any) error {
	if err == nil {
		return nil
	}
	about = fmt.Sprintf(about, args...)
	var p *client.Problem
	if errors.As(err, &p) {
		return err
	}
	code, ok := codes[Reason(err)]
	switch {
	case ok:
	case errors.Is(err, ErrUndecided):
		code = client.CodeUnknown
	default:
		code = client.CodeUnavailable
	}
	return &client.Problem{Code: code, Text: about + ": " + err.Error()}
}
