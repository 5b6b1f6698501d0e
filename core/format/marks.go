package format

import "nova/core"

func (w *writer) attempts(a Attempts) { w.u(uint64(a)) }

func (r *reader) attempts() Attempts {
	v := r.u()
	r.check(v <= 1<<16-1, "more attempts than are counted")
	if r.why != "" {
		return 0
	}
	return Attempts(v)
}

// Encode is the value of due/settle, and of every marker that carries no more.
func (m SettleMark) Encode() string {
	w := begin(tagSettleMark, 3)
	w.attempts(m.Attempts)
	return w.end()
}

// DecodeSettleMark decodes SettleMark's value.
func DecodeSettleMark(v string) (SettleMark, error) {
	r := open(tagSettleMark, v)
	m := SettleMark{Attempts: r.attempts()}
	if err := r.close(); err != nil {
		return SettleMark{}, err
	}
	return m, nil
}

// Encode is the value of due/retention.
func (m RetentionMark) Encode() string {
	w := begin(tagRetentionMark, 8)
	w.attempts(m.Attempts)
	w.u(uint64(m.Policy))
	return w.end()
}

// DecodeRetentionMark decodes RetentionMark's value.
func DecodeRetentionMark(v string) (RetentionMark, error) {
	r := open(tagRetentionMark, v)
	m := RetentionMark{Attempts: r.attempts(), Policy: r.u32()}
	if err := r.close(); err != nil {
		return RetentionMark{}, err
	}
	return m, nil
}

// Encode is the value of due/trimcheck.
func (m TrimMark) Encode() string {
	w := begin(tagTrimMark, 3)
	w.attempts(m.Attempts)
	return w.end()
}

// DecodeTrimMark decodes TrimMark's value.
func DecodeTrimMark(v string) (TrimMark, error) {
	r := open(tagTrimMark, v)
	m := TrimMark{Attempts: r.attempts()}
	if err := r.close(); err != nil {
		return TrimMark{}, err
	}
	return m, nil
}

// Encode is the value of due/reap and due/gc.
func (m ReapMark) Encode() string {
	w := begin(tagReapMark, 40)
	w.attempts(m.Attempts)
	w.class(m.Class)
	w.window(m.Footer)
	w.flags(m.Confirmed)
	w.size(m.Dead)
	w.ms(m.NotBefore)
	return w.end()
}

// DecodeReapMark decodes ReapMark's value.
func DecodeReapMark(v string) (ReapMark, error) {
	var m ReapMark
	r := open(tagReapMark, v)
	m.Attempts = r.attempts()
	m.Class = r.class()
	m.Footer = r.window()
	r.flags(&m.Confirmed)
	m.Dead = r.size()
	m.NotBefore = r.ms()
	if err := r.close(); err != nil {
		return ReapMark{}, err
	}
	return m, nil
}

// Encode is the value of due/teardown.
func (m TeardownMark) Encode() string {
	w := begin(tagTeardownMark, 13)
	w.attempts(m.Attempts)
	w.ms(m.DeletedAt)
	return w.end()
}

// DecodeTeardownMark decodes TeardownMark's value.
func DecodeTeardownMark(v string) (TeardownMark, error) {
	var m TeardownMark
	r := open(tagTeardownMark, v)
	m.Attempts = r.attempts()
	m.DeletedAt = r.ms()
	if err := r.close(); err != nil {
		return TeardownMark{}, err
	}
	return m, nil
}

// Encode is the value of due/denorm.
func (m BatchMark) Encode() string {
	w := begin(tagBatchMark, 40+len(m.Slots)*20)
	w.attempts(m.Attempts)
	w.class(m.Class)
	w.ms(m.Birth)
	w.ms(m.Ready)
	w.flags(m.Crossing, m.Parked)
	w.u(uint64(len(m.Slots)))
	for i := range m.Slots {
		w.u(m.Slots[i].Slot)
		w.window(m.Slots[i].Footer)
	}
	return w.end()
}

const leastInventory = 3

// DecodeBatchMark decodes BatchMark's value: an inventory of at least one slot,
// ascending.
func DecodeBatchMark(v string) (BatchMark, error) {
	var m BatchMark
	r := open(tagBatchMark, v)
	m.Attempts = r.attempts()
	m.Class = r.class()
	m.Birth = r.ms()
	m.Ready = r.ms()
	r.flags(&m.Crossing, &m.Parked)
	if n := r.count(leastInventory); n > 0 {
		m.Slots = make([]Inventory, n)
	}
	for i := range m.Slots {
		m.Slots[i] = Inventory{Slot: r.u(), Footer: r.window()}
		r.check(i == 0 || m.Slots[i-1].Slot < m.Slots[i].Slot, "an inventory that does not ascend")
	}
	r.check(len(m.Slots) > 0, "an empty inventory")
	if err := r.close(); err != nil {
		return BatchMark{}, err
	}
	return m, nil
}

// Encode is the value of due/orphan.
func (x Intent) Encode() string {
	w := begin(tagIntent, 64+len(x.Store)+len(x.Attempt))
	w.attempts(x.Attempts)
	w.class(x.Class)
	w.str(string(x.Store))
	w.ms(x.Birth)
	w.str(x.Attempt)
	w.u(uint64(x.Generation))
	w.i(x.Created)
	w.flags(x.Condemned, x.Shared)
	w.ms(x.Since)
	w.b = append(w.b, byte(x.Look))
	return w.end()
}

// DecodeIntent decodes Intent's value.
func DecodeIntent(v string) (Intent, error) {
	var x Intent
	r := open(tagIntent, v)
	x.Attempts = r.attempts()
	x.Class = r.class()
	x.Store = core.Store(r.str())
	x.Birth = r.ms()
	x.Attempt = r.str()
	x.Generation = r.u32()
	x.Created = r.i()
	r.flags(&x.Condemned, &x.Shared)
	x.Since = r.ms()
	x.Look = Look(r.byte())
	r.check(x.Look <= LookVisible, "a look that does not exist")
	if err := r.close(); err != nil {
		return Intent{}, err
	}
	return x, nil
}

// Encode is the value of park/….
func (p Parked) Encode() string {
	w := begin(tagParked, 24+len(p.Reason)+len(p.Value))
	w.str(p.Reason)
	w.ms(p.At)
	w.str(p.Value)
	return w.end()
}

// DecodeParked decodes Parked's value.
func DecodeParked(v string) (Parked, error) {
	var p Parked
	r := open(tagParked, v)
	p.Reason = r.str()
	p.At = r.ms()
	p.Value = r.str()
	if err := r.close(); err != nil {
		return Parked{}, err
	}
	return p, nil
}
