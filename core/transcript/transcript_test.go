package transcript

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"nova/core"
	"nova/plain"
)

// fill sets every field to something that is not zero, and says how many there are.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[core.Path]() {
			v.Set(reflect.ValueOf(core.Path{}.Then(3).Then(300)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("\x00\x00text \xff")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	default:
		v.SetUint(1)
	}
}

// full is a record of a kind in which no field is zero.
func full(k Kind) *Record {
	r := &Record{Kind: k}
	fill(reflect.ValueOf(r).Elem().Field(int(k)))
	r.Turn.First = false
	return r
}

// Every field of every record comes back, and no cut of its bytes does.
func TestEveryFieldComesBack(t *testing.T) {
	for k := KSegment; k < kinds; k++ {
		for name, r := range map[string]*Record{"full": full(k), "empty": {Kind: k}} {
			enc := string(Append(nil, r))
			got, err := Decode(enc)
			if err != nil || !plain.Equal(&got, r) {
				t.Errorf("%s %s: %v\nhave %s\nwant %s", name, k, err, plain.Print(&got), plain.Print(r))
			}
			for cut := range len(enc) {
				if _, err := Decode(enc[:cut]); !errors.Is(err, ErrDamaged) {
					t.Fatalf("%s %s, cut at %d of %d: %v", name, k, cut, len(enc), err)
				}
			}
			if _, err := Decode(enc + "\x00"); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %s, a byte too many: %v", name, k, err)
			}
		}
	}
	first := &Record{Kind: KTurn, Turn: Turn{Root: 1, First: true, Now: -7, Panic: "why"}}
	if got, err := Decode(string(Append(nil, first))); err != nil || !plain.Equal(&got, first) {
		t.Errorf("a first turn: %v, %s", err, plain.Print(&got))
	}
}

// A build that has other dials does not take them for its own; other values it does.
func TestDialsOfAnotherBuild(t *testing.T) {
	r := full(KBegin)
	r.Begin.Env.Dials = core.Spec()
	enc := string(Append(nil, r))
	if got, err := Decode(enc); err != nil || got.Begin.Env.Dials != core.Spec() {
		t.Errorf("%v, %+v", err, got.Begin.Env.Dials)
	}
	names := string(Append(nil, &Record{Kind: KGap, Gap: Gap{Dropped: dialNames}})[1:])
	other := string(Append(nil, &Record{Kind: KGap, Gap: Gap{Dropped: dialNames ^ 1}})[1:])
	if !strings.Contains(enc, names) {
		t.Fatal("the names are not where they are looked for")
	}
	if _, err := Decode(strings.Replace(enc, names, other, 1)); !errors.Is(err, ErrDials) || errors.Is(err, ErrDamaged) {
		t.Errorf("other names: %v", err)
	}
	all := 0
	eachDial(&r.Begin.Env.Dials, func(reflect.Value) { all++ })
	if want := reflect.TypeFor[core.Dials]().NumField(); all < want || len(enc) > 1000 {
		t.Errorf("%d numbers of %d dials, %d bytes", all, want, len(enc))
	}
}

func TestScan(t *testing.T) {
	seg := []byte(Magic)
	var at []int
	for k := KSegment; k < kinds; k++ {
		at = append(at, len(seg))
		seg = AppendFrame(seg, full(k))
	}
	scan := func(s string) (seen int, at int, err error) {
		at, err = Scan(s, func(int, *Record) error { seen++; return nil })
		return seen, at, err
	}
	if n, end, err := scan(string(seg)); n != len(at) || end != len(seg) || err != nil {
		t.Fatalf("%d records to %d: %v", n, end, err)
	}
	for cut := range seg { // cut anywhere, what is whole is read
		whole := 0
		for whole < len(at)-1 && at[whole+1] <= cut {
			whole++
		}
		if cut < at[0]+FrameSize {
			whole = 0
		}
		n, where, err := scan(string(seg[:cut]))
		if onEdge := cut >= at[0] && (cut == at[whole] || cut == at[0]); onEdge {
			if err != nil || where != cut {
				t.Fatalf("cut at the edge %d: %d records, at %d: %v", cut, n, where, err)
			}
			continue
		}
		if !errors.Is(err, ErrTorn) || n != whole || cut >= at[0] && where != at[whole] {
			t.Fatalf("cut at %d: %d records of %d, at %d: %v", cut, n, whole, where, err)
		}
	}
	for i := range seg { // any bit that changes is found, where it is
		bad := append([]byte(nil), seg...)
		bad[i] ^= 1
		_, where, err := scan(string(bad))
		last := at[len(at)-1]
		if err == nil || i >= at[0] && where > i || errors.Is(err, ErrTorn) && i < last {
			t.Fatalf("byte %d changed: at %d: %v", i, where, err)
		}
	}
	stop := errors.New("stop")
	if where, err := Scan(string(seg), func(int, *Record) error { return stop }); err != stop || where != at[0] {
		t.Errorf("f's own error: %v at %d", err, where)
	}
}

// Every role boots, asks for something, and is of plain data.
func TestEveryRoleBoots(t *testing.T) {
	for role := Auditor; role < roles; role++ {
		r := full(KBegin)
		b := &r.Begin
		b.Role, b.Env.Dials, b.Until = role, core.Spec(), 1<<40
		for i := range b.Extents {
			b.Extents[i].Lost = false
		}
		m, err := b.Boot()
		if err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		var x core.Exchange
		m.Step(x.Start())
		if len(x.Out) == 0 {
			t.Errorf("%s asks for nothing", role)
		}
		if len(plain.Append(nil, m.State())) == 0 || strings.Contains(b.String(), "?") {
			t.Errorf("%s: %s", role, b)
		}
	}
	if _, err := (&Begin{}).Boot(); err == nil {
		t.Error("no role boots")
	}
}

func TestBlank(t *testing.T) {
	for k := core.KNone + 1; int(k) < core.Kinds; k++ {
		r := Blank(k, core.Reply{Val: "bytes of a record", Size: 17})
		want := k != core.KReadTail && k != core.KReadRange
		if have := strings.Contains(r.Val, "record"); have != want || len(r.Val) != 17 {
			t.Errorf("%s: %q", k, r.Val)
		}
	}
}

func TestZerosAreANumber(t *testing.T) {
	for _, n := range []int{0, 1, maxBlank - 1, maxBlank, maxBlank + 1, 2*maxBlank + 3} {
		val := strings.Repeat("\x00", n) + "tail"
		r := &Record{Kind: KTurn, Turn: Turn{Reply: core.Reply{Val: val}}}
		enc := string(Append(nil, r))
		got, err := Decode(enc)
		if err != nil || got.Turn.Reply.Val != val {
			t.Errorf("%d zeros: %v, %d bytes", n, err, len(got.Turn.Reply.Val))
		}
		if n <= maxBlank && len(enc) > 64 {
			t.Errorf("%d zeros take %d bytes", n, len(enc))
		}
	}
}

func BenchmarkAppendTurn(b *testing.B) {
	turn := full(KTurn).Turn
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendTurn(Frame(buf[:0]), &turn)
		Seal(buf, 0)
	}
}

func FuzzDecode(f *testing.F) {
	for k := KSegment; k < kinds; k++ {
		f.Add(string(Append(nil, full(k))))
		f.Add(string(Append(nil, &Record{Kind: k})))
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Decode(s)
		if err == nil && string(Append(nil, &r)) != s {
			t.Errorf("%q decodes, and encodes as %q", s, Append(nil, &r))
		}
	})
}

func FuzzScan(f *testing.F) {
	seg := []byte(Magic)
	for k := KSegment; k < kinds; k++ {
		seg = AppendFrame(seg, full(k))
		f.Add(string(seg))
	}
	f.Fuzz(func(t *testing.T, s string) {
		back := []byte(Magic)
		at, err := Scan(s, func(at int, r *Record) error {
			if at != len(back) {
				t.Errorf("a record at %d, %d bytes of records before it", at, len(back))
			}
			back = AppendFrame(back, r)
			return nil
		})
		if len(s) >= len(Magic) && s[:len(Magic)] == Magic && string(back) != s[:at] {
			t.Errorf("%q is read as %q: %v", s[:at], back, err)
		}
	})
}
