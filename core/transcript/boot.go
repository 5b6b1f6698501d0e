package transcript

import (
	"fmt"

	"nova/core"
	"nova/core/admin"
	"nova/core/duty"
	"nova/core/serve"
)

// Role is what a root machine is for. The set is closed.
type Role uint8

const (
	Auditor Role = iota + 1
	Star
	Create
	Delete
	Trim
	SetPolicy
	ReadPlan
	Fetch
	Decommission
	roles
)

var roleNames = [roles]string{"none", "auditor", "star", "create", "delete", "trim", "set-policy", "read-plan", "fetch", "decommission"}

func (r Role) String() string {
	if r < roles {
		return roleNames[r]
	}
	return "role?"
}

// Begin is everything that a root machine is a function of, beside its turns.
type Begin struct {
	Root uint64 // its number in the recording
	Role Role
	Env  core.Env

	Queues  duty.QueueSet  // Auditor
	Name    string         // Star
	Class   core.Class     // Star
	Spec    serve.Spec     // Create
	Stream  uint64         // Delete, Trim, SetPolicy, ReadPlan
	From    uint64         // Trim: up to; ReadPlan
	Limit   uint64         // ReadPlan
	MaxAge  core.Ms        // SetPolicy
	Extents []serve.Extent // Fetch
	Until   core.Ms        // Fetch
	Sink    int            // Fetch: the first of its sinks
	Order   admin.Order    // Decommission
}

// Machine is a root machine that shows its state: a pointer to plain data.
type Machine interface {
	core.Machine
	State() any
}

// root is a machine, the step that its host gives it, and its state.
type root struct {
	step  func(core.Turn) bool
	state any
}

// Step steps the machine.
func (r root) Step(t core.Turn) bool { return r.step(t) }

// State is the machine.
func (r root) State() any { return r.state }

// Root makes a root machine of a step and of what it steps.
func Root(state any, step func(core.Turn) bool) Machine { return root{step, state} }

// Boot makes the root machine. Its environment is b's: b must not change.
func (b *Begin) Boot() (Machine, error) {
	e := &b.Env
	verdict := func(state any, step func(core.Turn) core.Verdict) (Machine, error) {
		return Root(state, func(t core.Turn) bool { return step(t) != core.Working }), nil
	}
	switch b.Role {
	case Auditor:
		m := &duty.Auditor{Queues: b.Queues}
		return Root(m, func(t core.Turn) bool { return m.Step(t, e) }), nil
	case Star:
		m := &serve.Star{Name: b.Name, Class: b.Class}
		return Root(m, func(t core.Turn) bool { return m.Step(t, e) }), nil
	case Create:
		m := &serve.Create{}
		return verdict(m, func(t core.Turn) core.Verdict { return m.Step(t, e, b.Spec) })
	case Delete:
		m := &serve.Delete{}
		return verdict(m, func(t core.Turn) core.Verdict { return m.Step(t, e, b.Stream) })
	case Trim:
		m := &serve.Trim{}
		return verdict(m, func(t core.Turn) core.Verdict { return m.Step(t, e, b.Stream, b.From) })
	case SetPolicy:
		m := &serve.SetPolicy{}
		return verdict(m, func(t core.Turn) core.Verdict { return m.Step(t, e, b.Stream, b.MaxAge) })
	case ReadPlan:
		m := &serve.ReadPlan{}
		return verdict(m, func(t core.Turn) core.Verdict { return m.Step(t, e, b.Stream, b.From, b.Limit) })
	case Fetch:
		m := &serve.Fetch{}
		return Root(m, func(t core.Turn) bool { return m.Step(t, e, b.Extents, b.Until, b.Sink) }), nil
	case Decommission:
		m := &admin.Decommission{}
		return verdict(m, func(t core.Turn) core.Verdict { return m.Step(t, e, &b.Order) })
	}
	return nil, fmt.Errorf("boot machine %d: role %d is of no machine of this build", b.Root, b.Role)
}

// String says what the machine is, in a few words.
func (b *Begin) String() string {
	switch b.Role {
	case Star:
		return fmt.Sprintf("%s %s, class %s, process %s", b.Role, b.Name, b.Class, b.Env.Process)
	case Create:
		return fmt.Sprintf("%s %s/%s, process %s", b.Role, b.Spec.Bucket, b.Spec.Name, b.Env.Process)
	case Delete, Trim, SetPolicy, ReadPlan:
		return fmt.Sprintf("%s of stream %d, process %s", b.Role, b.Stream, b.Env.Process)
	case Decommission:
		return fmt.Sprintf("%s of star %s, process %s", b.Role, b.Order.Star, b.Env.Process)
	}
	return fmt.Sprintf("%s, process %s", b.Role, b.Env.Process)
}
