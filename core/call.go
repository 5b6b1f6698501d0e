package core

// Call is one effect that a machine awaits. The zero Call is ready to send; once
// its reply has been taken it is ready again.
type Call struct{ sent bool }

// Await emits op the first time it is reached, and reports the reply once it is
// here. The reply is valid during this turn only. Use AwaitFunc where building
// the operation costs something.
func (c *Call) Await(t Turn, op Op) (*Reply, bool) {
	if !c.sent {
		c.send(t, op)
		return nil, false
	}
	return c.take(t)
}

// AwaitFunc is Await with an operation that is built only when it is sent.
func (c *Call) AwaitFunc(t Turn, op func() Op) (*Reply, bool) {
	if !c.sent {
		c.send(t, op())
		return nil, false
	}
	return c.take(t)
}

func (c *Call) send(t Turn, op Op) {
	c.sent = true
	x := t.Exchange
	x.Out = append(x.Out, Effect{t.at, op})
	if x.Where != nil {
		x.Sites = append(x.Sites, x.Where())
	}
}

func (c *Call) take(t Turn) (*Reply, bool) {
	if t.mine && t.has && t.Ev.At.s[MaxDepth] == t.at.s[MaxDepth] {
		c.sent, t.Exchange.has = false, false
		return &t.Ev.Reply, true
	}
	return nil, false
}

// Sent reports whether the call is in flight.
func (c *Call) Sent() bool { return c.sent }
