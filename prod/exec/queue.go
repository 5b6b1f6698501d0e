package exec

import (
	"context"
	"fmt"
	"sync"

	"nova/core"
)

// queueDepth is how many requests wait in a queue before Push blocks.
const queueDepth = 1024

// Queue is one of the process's own queues: requests go in by Push and come to
// the machine by Take; the machine's answers, by Give, come out by Answer. What
// belongs to what is in their values. Its methods may be called from many
// goroutines.
type Queue struct {
	name string
	in   chan string

	mu    sync.Mutex
	out   []string
	ready chan struct{} // holds a token while out is not empty
}

// Queue is the queue of a name; it is made when it is first asked for, by either
// side.
func (d *Driver) Queue(name string) *Queue {
	d.mu.Lock()
	defer d.mu.Unlock()
	q, ok := d.queues[name]
	if !ok {
		q = &Queue{name: name, in: make(chan string, queueDepth), ready: make(chan struct{}, 1)}
		d.queues[name] = q
	}
	return q
}

// Push hands a request to the machine. It blocks while the queue is full, until
// ctx ends.
func (q *Queue) Push(ctx context.Context, val string) error {
	select {
	case q.in <- val:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("push a request into queue %s, which holds %d: %w", q.name, len(q.in), context.Cause(ctx))
	}
}

// TryPush is Push without waiting: it reports whether there was room.
func (q *Queue) TryPush(val string) bool {
	select {
	case q.in <- val:
		return true
	default:
		return false
	}
}

// Answer is the machine's next answer. It blocks until there is one, or ctx ends.
func (q *Queue) Answer(ctx context.Context) (string, error) {
	select {
	case <-q.ready:
	case <-ctx.Done():
		return "", fmt.Errorf("await an answer from queue %s: %w", q.name, context.Cause(ctx))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	val := q.out[0]
	if q.out = q.out[1:]; len(q.out) > 0 {
		q.ready <- struct{}{}
	} else {
		q.out = nil
	}
	return val, nil
}

// take is KTake: it never answers while there is no request.
func (q *Queue) take(ctx context.Context) core.Reply {
	select {
	case val := <-q.in:
		return core.Reply{Val: val}
	case <-ctx.Done():
		return unknown
	}
}

// give is KGive: it never blocks, or a client that went away would stop the
// machine.
func (q *Queue) give(val string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.out = append(q.out, val); len(q.out) == 1 {
		q.ready <- struct{}{}
	}
}
