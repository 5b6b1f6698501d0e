package exec

import (
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"nova/core"
)

// limitedLog tells why effects were not answered OK, a few a second: a store
// that is down fails thousands.
type limitedLog struct {
	to *slog.Logger

	mu      sync.Mutex
	lim     *rate.Limiter
	dropped int
}

func newLimitedLog(to *slog.Logger) *limitedLog {
	return &limitedLog{to: to, lim: rate.NewLimiter(5, 20)}
}

// reply logs an answer that somebody may want to know the cause of. Outcomes
// that are part of a machine's ordinary day have no error, or are not logged.
func (l *limitedLog) reply(op *core.Op, r core.Reply, err error) {
	switch r.Outcome {
	case core.OK, core.Absent, core.Exists, core.Conflict, core.OutOfRange:
		return
	case core.Unknown:
		if err == nil {
			return
		}
	}
	l.warn("an effect was not answered OK", op, r, err)
}

func (l *limitedLog) warn(msg string, op *core.Op, r core.Reply, err error) {
	l.mu.Lock()
	ok := l.lim.AllowN(time.Now(), 1)
	dropped := l.dropped
	if ok {
		l.dropped = 0
	} else {
		l.dropped++
	}
	l.mu.Unlock()
	if ok {
		l.to.Warn(msg, "op", op.String(), "outcome", r.Outcome.String(), "err", err, "more", dropped)
	}
}
