package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nova/core"
	"nova/core/admin"
	"nova/core/format"
	"nova/core/keys"
)

// words is a command's arguments: plain ones, and those with a value.
type words struct {
	plain []string
	named map[string]string
	used  map[string]bool
}

func split(args []string) words {
	w := words{named: map[string]string{}, used: map[string]bool{}}
	for _, a := range args {
		if k, v, ok := strings.Cut(a, "="); ok && !strings.ContainsAny(k, "/@~") {
			w.named[k] = v
		} else {
			w.plain = append(w.plain, a)
		}
	}
	return w
}

func (w *words) at(i int) string {
	if i < len(w.plain) {
		return w.plain[i]
	}
	return ""
}

func (w *words) flag(name string) bool {
	for i, p := range w.plain {
		if p == name {
			w.plain = append(w.plain[:i:i], w.plain[i+1:]...)
			return true
		}
	}
	return false
}

func (w *words) time(name string) (core.Ms, error) {
	w.used[name] = true
	v, ok := w.named[name]
	if !ok {
		return 0, nil
	}
	return parseSpan(v)
}

func (w *words) number(name string, or int) (int, error) {
	w.used[name] = true
	v, ok := w.named[name]
	if !ok {
		return or, nil
	}
	return strconv.Atoi(v)
}

func (w *words) text(name string) string {
	w.used[name] = true
	return w.named[name]
}

// rest refuses what no command has asked for.
func (w *words) rest() error {
	for k := range w.named {
		if !w.used[k] {
			return fmt.Errorf("what is %s?", k)
		}
	}
	return nil
}

// command runs one command.
func (s *Script) command(cmd string, args []string, lines []string) error {
	switch cmd {
	case "scene":
		return s.scene(args)
	case "setup":
		return s.setup(lines)
	case "always":
		return s.standing(strings.Join(args, " "))
	}
	rs, err := rules(lines)
	if err != nil {
		return err
	}
	w := split(args)
	err = s.verbs(cmd, &w, rs)
	if errors.Is(err, errNoCommand) {
		err = s.hand(cmd, &w)
	}
	if err != nil {
		return err
	}
	return w.rest()
}

var errNoCommand = errors.New("no such command")

// setup runs commands, and prints nothing of them.
func (s *Script) setup(lines []string) error {
	s.silent = true
	defer func() { s.silent, s.said = false, s.now }()
	for _, l := range lines {
		f := strings.Fields(l)
		if len(f) == 0 {
			continue
		}
		if err := s.command(f[0], f[1:], nil); err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
		if s.err != nil {
			return fmt.Errorf("%s: %w", l, s.err)
		}
	}
	return nil
}

// standing sets, or lifts, a rule for everybody.
func (s *Script) standing(line string) error {
	if line == "off" {
		s.struck(s.always)
		s.always = nil
		return nil
	}
	r, err := parseRule(line)
	if err != nil {
		return err
	}
	r.all = true
	s.always = append(s.always, r)
	return nil
}

func (s *Script) verbs(cmd string, w *words, rs []*rule) error {
	if cmd == "star" || cmd == "delete" {
		clock, err := w.time("clock")
		if err != nil {
			return err
		}
		s.skew = clock
		defer func() { s.skew = 0 }()
	}
	switch cmd {
	case "star":
		return s.star(w.at(0), classOf(w.flag("express")), rs)
	case "create":
		age, err := w.time("age")
		if err != nil {
			return err
		}
		return s.create(w.at(0), classOf(w.flag("express")), age, rs)
	case "open":
		st, err := s.stream(w.at(1))
		if err != nil {
			return err
		}
		return s.open(w.at(0), st, rs)
	case "append":
		dated, err := w.time("dated")
		if err != nil {
			return err
		}
		return s.append(w.at(0), w.plain[min(1, len(w.plain)):], dated, rs)
	case "close":
		return s.close(w.at(0), rs)
	case "trim":
		to, err := strconv.ParseUint(w.at(1), 10, 64)
		if err != nil {
			return err
		}
		return s.trim(w.at(0), to, rs)
	case "policy":
		age, err := parseSpan(w.at(1))
		if err != nil {
			return err
		}
		return s.policy(w.at(0), age, rs)
	case "delete":
		return s.delete(w.at(0), rs)
	case "read":
		from, err := w.number("from", 0)
		if err != nil {
			return err
		}
		return s.plan(w.at(0), w.at(1), uint64(from), rs)
	case "fetch":
		return s.fetch(w.at(0), rs)
	case "verify":
		return s.verify()
	case "run", "start", "drain":
		return s.audit(cmd, w, rs)
	case "round":
		s.round()
		return nil
	case "converge":
		return s.converge()
	case "still":
		n, err := w.number("passes", 50)
		if err != nil {
			return err
		}
		return s.still(n)
	case "decommission":
		return s.decommission(admin.Order{Force: w.flag("force"), CoolDown: w.flag("cool-down"), Star: w.at(0)}, rs)
	case "go":
		return s.wake(w.plain, rs)
	}
	if len(rs) > 0 {
		return fmt.Errorf("%s takes no rules", cmd)
	}
	return errNoCommand
}

func classOf(express bool) core.Class {
	if express {
		return core.Express
	}
	return core.Standard
}

// audit runs, or starts, one pass of a duty.
func (s *Script) audit(cmd string, w *words, rs []*rule) error {
	q, err := queueOf(w.at(0))
	if err != nil {
		return err
	}
	skew, err := w.time("clock")
	if err != nil {
		return err
	}
	name := w.text("as")
	if cmd == "drain" {
		return s.drain(q, name, skew, rs)
	}
	p, err := s.pass1(q, name, skew)
	if err != nil {
		return err
	}
	if cmd == "start" {
		p.asleep = true
		return nil
	}
	s.run(rs, p)
	s.report(p, rs)
	s.ended(p)
	return nil
}

// hand is what an operator does, or fate.
func (s *Script) hand(cmd string, w *words) error {
	switch cmd {
	case "tick":
		d, err := parseSpan(w.at(0))
		if err != nil {
			return err
		}
		s.tick(s.now + d)
		s.said = s.now
		s.printf("it is %s", clock(s.now))
		return nil
	case "cut":
		return s.kill(w.at(0), w.flag("landing"))
	case "expire":
		return s.expireSession(w.at(0))
	case "log":
		s.verbose = w.at(0) == "all"
		return nil
	case "allow":
		clear(s.allowed)
		for _, a := range w.plain {
			n, err := strconv.Atoi(a)
			if err != nil {
				return err
			}
			s.allowed[n] = true
		}
		return nil
	case "down", "up":
		b := s.W.Bucket(core.Store(w.at(0)))
		if b == nil {
			return fmt.Errorf("no store %s", w.at(0))
		}
		b.Down = cmd == "down"
		return nil
	case "space":
		s.W.Meta.SetNoSpace(w.at(0) == "off")
		return nil
	case "show":
		s.show(w.plain)
		return nil
	case "expect":
		return s.expect(w.plain)
	case "damage":
		return s.damage(w.at(1))
	case "plant", "tear", "take":
		n, err := w.number("bytes", 0)
		if err != nil {
			return err
		}
		return s.disturb(cmd, w.at(0), int64(n))
	case "arm":
		return s.arm(w.at(0))
	case "crowd":
		at, err := w.time("at")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(w.at(0))
		for i := range n {
			o := keys.Settled{Bucket: "crowd", Stream: 1 << 20, First: uint64(i), HasInc: true}
			s.put(keys.DueReap(keys.ShardOfObject(o.Key(), s.Dials.Shards), s.now+at, o.Key()), format.ReapMark{}.Encode())
		}
		return err
	}
	return errNoCommand
}

// put writes a row by hand.
func (s *Script) put(key, val string) {
	op := core.Txn(core.Put(key, val))
	s.apply(&op, "", s.now)
	s.judged()
}

// damage makes a row's value garbage.
func (s *Script) damage(name string) error {
	for i := range s.W.Meta.Len() {
		if r := s.W.Meta.Row(i); s.key(r.Key) == name {
			s.put(r.Key, "\x7fgarbage")
			return nil
		}
	}
	return fmt.Errorf("no row %s", name)
}

// place finds the store and the object key that a name means. The object need not
// stand: of a settled one that does not, an intent or an entry says the key.
func (s *Script) place(name string) (core.Obj, error) {
	st, rest, _ := strings.Cut(name, "/")
	b := s.W.Bucket(core.Store(st))
	if b == nil {
		return core.Obj{}, fmt.Errorf("no store %s", st)
	}
	for i := range b.Len() {
		if o := b.Object(i); s.object(o.Key) == rest {
			return core.Obj{Store: b.Name, Key: o.Key}, nil
		}
	}
	var star string
	var epoch, slot uint64
	if strings.HasPrefix(rest, "chain/") {
		if _, err := fmt.Sscanf(strings.ReplaceAll(rest[6:], "/", " "), "%s %d %d", &star, &epoch, &slot); err == nil {
			return core.Obj{Store: b.Name, Key: keys.Slot(star, epoch, slot)}, nil
		}
		return core.Obj{Store: b.Name, Key: rest}, nil // a foreign one
	}
	at, num, _ := strings.Cut(rest, "@")
	n, err := strconv.Atoi(num)
	o, err2 := s.derived(at)
	if err == nil && err2 == nil {
		if inc, ok := s.revision(o, n); ok {
			return core.Obj{Store: b.Name, Key: o.At(inc).Key()}, nil
		}
	}
	return core.Obj{}, fmt.Errorf("no object %s", name)
}

// derived parses a derived key as it is printed.
func (s *Script) derived(name string) (o keys.Settled, err error) {
	name, rev, ok := strings.Cut(name, "~")
	if ok {
		n, err := strconv.ParseUint(rev, 10, 32)
		if err != nil {
			return o, err
		}
		o.Revision = uint32(n)
	}
	_, err = fmt.Sscanf(strings.ReplaceAll(name, "/", " "), "data %s %d %d %d", &o.Bucket, &o.Stream, &o.Epoch, &o.First)
	return o, err
}

// disturb plants, tears or takes an object.
func (s *Script) disturb(how, name string, n int64) error {
	at, err := s.place(name)
	if err != nil {
		return err
	}
	o := s.W.Bucket(at.Store).Lookup(at.Key)
	var bytes string
	switch {
	case how == "plant":
		bytes = strings.Repeat("x", int(n))
	case o == nil:
		return fmt.Errorf("%s does not stand", name)
	case how == "tear":
		bytes = o.Body.Read(0, min(n, o.Size()))
	}
	if o != nil {
		op := core.Delete(at)
		s.apply(&op, "", s.now)
	}
	if how != "take" {
		op := core.Create(at, core.Bytes(bytes), s.now)
		s.apply(&op, "", s.now)
	}
	s.judged()
	return nil
}

// arm puts the reap-check of an object, due now, as if its killer had been cut
// before the kill.
func (s *Script) arm(name string) error {
	at, err := s.place(name)
	if err != nil {
		return err
	}
	o := s.W.Bucket(at.Store).Lookup(at.Key)
	if o == nil {
		return fmt.Errorf("%s does not stand", name)
	}
	t, err := format.ParseTail(o.Tail(o.Size()), o.Size())
	if err != nil {
		return err
	}
	m := format.ReapMark{Footer: t.Window}
	s.put(keys.DueReap(keys.ShardOfObject(at.Key, s.Dials.Shards), s.now, at.Key), m.Encode())
	return nil
}
