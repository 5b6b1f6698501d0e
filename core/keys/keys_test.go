package keys

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nova/core"
)

// names are those of people, and the worst of them (case C43).
var names = []string{"a", "stream-1", "", ".", "..", "a/b", "a~b", "a@b", "a+b", "+", "%2F", "=", "==41", "a\x00b", "\x1b[0m", "\xff\xfe",
	"🦀", "a.b", ".hidden", "~final", "const", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 1000),
	strings.Repeat(".", 1000), strings.Repeat("/", 1000), strings.Repeat("=", 84) + "..", strings.Repeat("é~", 300)}

func drawName(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom(names), rapid.String(), rapid.StringN(0, 400, 1000),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) })).Draw(t, "name")
}

func drawNumber(t *rapid.T) uint64 {
	return rapid.OneOf(rapid.Uint64(), rapid.Uint64Max(3)).Draw(t, "number")
}

func drawMs(t *rapid.T) core.Ms {
	return core.Ms(rapid.OneOf(rapid.Int64Min(0), rapid.Int64Range(0, 100)).Draw(t, "at"))
}

func TestGoldenKeys(t *testing.T) {
	d := Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 7, Revision: 2}
	o := d.At(Incarnation{1, 77}).Key()
	for _, c := range []struct{ got, want string }{
		{Star("s1"), "star/s1"},
		{Auditor("a"), "auditor/a"},
		{Gone("s1"), "gone/s1"},
		{ChainConst("s1", 3), "chain/s1/0000000000000003/const"},
		{ChainHead("s1", 3), "chain/s1/0000000000000003/head"},
		{ChainTrim("s1", 3), "chain/s1/0000000000000003/trim"},
		{Mint("s1", core.Express), "mint/s1/express"},
		{Name("b", "a/b c"), "name/b/a=2fb=20c"},
		{Name("", ".."), "name/=/=2e."},
		{Stream(9), "stream/0000000000000009"},
		{Ref(9, 11), "ref/0000000000000009/000000000000000b"},
		{Trim(9), "trim/0000000000000009"},
		{Producer(9), "producer/0000000000000009"},
		{Writer(9), "writer/0000000000000009"},
		{StreamLease(9), "lease/stream/0000000000000009"},
		{ChainLease("s1", 3), "lease/chain/s1/0000000000000003"},
		{SettleClaim("s1", 3), "lease/settle/s1/0000000000000003"},
		{CounterStream, "counter/stream"},
		{CounterEpoch, "counter/epoch"},
		{GenerationKey, "generation"},
		{Slot("s1", 3, 4), "chain/s1/0000000000000003/0000000000000004"},
		{ChainPrefix("s1", 3), "chain/s1/0000000000000003/"},
		{StarPrefix("s1"), "chain/s1/"},
		{StreamPrefix("b", 9), "data/b/0000000000000009/"},
		{d.Key(), "data/b/0000000000000009/0000000000000003/0000000000000007~00000002"},
		{Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 7}.Key(), "data/b/0000000000000009/0000000000000003/0000000000000007"},
		{o, "data/b/0000000000000009/0000000000000003/0000000000000007~00000002@00000001-000000000000004d"},
		{DueSettle(3, 1000, "s1", 3), "due/settle/0003/0000000000000001000~s1~0000000000000003"},
		{DueTrimCheck(3, 1000, "s1", 3), "due/trimcheck/0003/0000000000000001000~s1~0000000000000003"},
		{DueReap(3, 1000, o), "due/reap/0003/0000000000000001000~" + o},
		{DueTeardown(3, 1000, 9, false), "due/teardown/0003/0000000000000001000~0000000000000009"},
		{DueTeardown(3, 1000, 9, true), "due/teardown/0003/0000000000000001000~0000000000000009~final"},
		{DueRetention(3, 1000, 9), "due/retention/0003/0000000000000001000~0000000000000009"},
		{DueGC(3, 1000, o), "due/gc/0003/9223372036854774807~" + o},
		{DueDenorm(3, "s1", 3, 4), "due/denorm/0003/s1~0000000000000003~0000000000000004"},
		{SchedDenorm(3, 1000, "s1", 3, 4), "sched/denorm/0003/0000000000000001000~s1~0000000000000003~0000000000000004"},
		{DueOrphan(3, o), "due/orphan/0003/" + o},
		{SchedOrphan(3, -1000, o), "sched/orphan/0003/0000000000000000000~" + o},
		{Park(Reap, DueReap(3, 1000, o)), "park/reap/due/reap/0003/0000000000000001000~" + o},
	} {
		if c.got != c.want {
			t.Errorf("key %s, golden %s: the keyspace never changes", c.got, c.want)
		}
	}
}

func TestGoldenShards(t *testing.T) {
	o := Settled{Bucket: "b", Stream: 9, Epoch: 3, First: 7}
	got := []int{ShardOfChain("s1", 3, 16), ShardOfChain("s1", 4, 16), ShardOfChain("", 0, 4096), ShardOfStream(9, 16), ShardOfStream(10, 4096),
		ShardOfObject(o.Key(), 16), ShardOfObject(o.At(Incarnation{1, 2}).Key(), 16), ShardOfObject("x", 4096), ShardOfChain("s1", 3, 1)}
	if want := []int{14, 9, 3191, 15, 881, 11, 11, 400, 0}; !slices.Equal(got, want) {
		t.Errorf("shards %v, golden %v: a marker's shard never changes", got, want)
	}
	var seen [16]int
	for i := range uint64(1600) {
		seen[ShardOfStream(i, 16)]++
		seen[ShardOfChain("star", i, 16)]++
	}
	for s, n := range seen {
		if n < 140 || n > 260 {
			t.Errorf("shard %d has %d of 3200", s, n)
		}
	}
}

// TestNames: a name has one escaped form, that form gives it back, its
// components are short and harmless, and it is no prefix trap for another.
func TestNames(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, name string) {
		e := escape(name)
		if back, ok := unescape(e); !ok || back != name {
			t.Fatalf("%q is %q, which is %q", name, e, back)
		}
		for _, c := range strings.Split(e, "/") {
			if len(c) == 0 || len(c) > component || c[0] == '.' {
				t.Fatalf("%q has component %q", name, c)
			}
		}
		if strings.ContainsAny(e, "~@%\\ \x00") {
			t.Fatalf("%q is %q", name, e)
		}
	}
	for _, n := range names {
		check(t, n)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawName(t), drawName(t)
		check(t, a)
		ea, eb := escape(a), escape(b)
		if (a == b) != (ea == eb) {
			t.Fatalf("%q and %q are %q and %q", a, b, ea, eb)
		}
		if a != b && strings.HasPrefix(ea, eb+"/") {
			t.Fatalf("%q is a directory of %q", eb, ea)
		}
		// Anything that is not what escape makes is refused.
		if s := rapid.StringMatching(`[a-c.=+/0-9]{0,12}`).Draw(t, "raw"); true {
			if n, ok := unescape(s); ok && escape(n) != s {
				t.Fatalf("%q was accepted as %q", s, n)
			}
		}
	})
}

func TestNamesRefusedByName(t *testing.T) {
	for _, bad := range []string{"", strings.Repeat("x", 256), strings.Repeat("~", 86)} {
		if CheckStar(bad) == nil || CheckBucket(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if CheckName("") == nil || CheckName(strings.Repeat("x", MaxName+1)) == nil {
		t.Error("a stream's name may be 1 to MaxName bytes")
	}
	for _, good := range []string{"a", "..", "\x00", "🦀", strings.Repeat("x", 255)} {
		if err := errors.Join(CheckStar(good), CheckBucket(good), CheckName(good)); err != nil {
			t.Error(err)
		}
	}
}

// made draws one key of any kind, and the function that parses it and makes it again.
func made(t *rapid.T) (key string, again func(string) (string, error)) {
	star, epoch, n := drawName(t), drawNumber(t), drawNumber(t)
	switch rapid.IntRange(0, 16).Draw(t, "kind") {
	case 0:
		return Star(star), func(k string) (string, error) { s, err := ParseStar(k); return Star(s), err }
	case 1:
		return Auditor(star), func(k string) (string, error) { s, err := ParseAuditor(k); return Auditor(s), err }
	case 2:
		k := rapid.SampledFrom([]string{ChainConst(star, epoch), ChainHead(star, epoch), ChainTrim(star, epoch)}).Draw(t, "part")
		return k, func(k string) (string, error) {
			s, e, p, err := ParseChain(k)
			return ChainPrefix(s, e) + p, err
		}
	case 3:
		return Mint(star, core.Express), func(k string) (string, error) { s, c, err := ParseMint(k); return Mint(s, c), err }
	case 4:
		return Name(star, drawName(t)), func(k string) (string, error) { b, s, err := ParseName(k); return Name(b, s), err }
	case 5:
		return Stream(n), func(k string) (string, error) { n, err := ParseStream(k); return Stream(n), err }
	case 6:
		return Ref(epoch, n), func(k string) (string, error) { a, b, err := ParseRef(k); return Ref(a, b), err }
	case 7:
		return Trim(n), func(k string) (string, error) { n, err := ParseTrim(k); return Trim(n), err }
	case 8:
		return Producer(n), func(k string) (string, error) { n, err := ParseProducer(k); return Producer(n), err }
	case 9:
		return Writer(n), func(k string) (string, error) { n, err := ParseWriter(k); return Writer(n), err }
	case 10:
		return StreamLease(n), func(k string) (string, error) { n, err := ParseStreamLease(k); return StreamLease(n), err }
	case 11:
		return ChainLease(star, n), func(k string) (string, error) { s, n, err := ParseChainLease(k); return ChainLease(s, n), err }
	case 12:
		return SettleClaim(star, n), func(k string) (string, error) { s, n, err := ParseSettleClaim(k); return SettleClaim(s, n), err }
	case 13:
		return Slot(star, epoch, n), func(k string) (string, error) { s, e, n, err := ParseSlot(k); return Slot(s, e, n), err }
	case 14:
		return drawSettled(t).Key(), func(k string) (string, error) { s, err := ParseSettled(k); return s.Key(), err }
	case 15:
		return Gone(star), func(k string) (string, error) { s, err := ParseGone(k); return Gone(s), err }
	}
	again = func(k string) (string, error) { d, err := ParseDue(k); return d.Key(), err }
	key = drawDue(t).Key()
	if rapid.Bool().Draw(t, "parked") {
		return Park(GC, key), func(k string) (string, error) { q, m, err := ParsePark(k); return Park(q, m), err }
	}
	return key, again
}

func drawSettled(t *rapid.T) Settled {
	s := Settled{Bucket: drawName(t), Stream: drawNumber(t), Epoch: drawNumber(t), First: drawNumber(t), Revision: rapid.Uint32().Draw(t, "revision")}
	if rapid.Bool().Draw(t, "incarnation") {
		s = s.At(Incarnation{rapid.Uint32().Draw(t, "generation"), rapid.Int64().Draw(t, "created")})
	}
	return s
}

func drawDue(t *rapid.T) Due {
	d := Due{Queue: Queue(rapid.IntRange(0, Queues-1).Draw(t, "queue")), Shard: rapid.IntRange(0, Shards-1).Draw(t, "shard")}
	d.Sched = d.Queue.Scheduled() && rapid.Bool().Draw(t, "sched")
	if d.timed() {
		d.At = drawMs(t)
	}
	switch d.Queue {
	case Denorm:
		d.Slot = drawNumber(t)
		fallthrough
	case Settle, TrimCheck:
		d.Star, d.Epoch = drawName(t), drawNumber(t)
	case Teardown:
		d.Final = rapid.Bool().Draw(t, "final")
		fallthrough
	case Retention:
		d.Stream = drawNumber(t)
	case GC:
		d.Dead = rapid.Int64Min(0).Draw(t, "dead")
		fallthrough
	default:
		d.Object = drawSettled(t).Key()
	}
	return d
}

func TestEveryKeyParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, again := made(t)
		if back, err := again(key); err != nil || back != key {
			t.Fatalf("%q parses to %q, %v", key, back, err)
		}
		// What is nearly a key is refused, or is another key of the kind.
		b := []byte(key)
		switch i := rapid.IntRange(0, len(b)-1).Draw(t, "byte"); rapid.IntRange(0, 2).Draw(t, "damage") {
		case 0:
			b = b[:i]
		case 1:
			b[i] = rapid.Byte().Draw(t, "other")
		case 2:
			b = slices.Insert(b, i, rapid.Byte().Draw(t, "more"))
		}
		if back, err := again(string(b)); err == nil && back != string(b) {
			t.Fatalf("%q was accepted as %q", b, back)
		} else if err != nil && !errors.Is(err, ErrKey) {
			t.Fatalf("%q: %v", b, err)
		}
	})
}

func TestDueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDue(t)
		if back, err := ParseDue(d.Key()); err != nil || back != d {
			t.Fatalf("%+v is %q, which is %+v, %v", d, d.Key(), back, err)
		}
	})
}

func within(key, from, end string) bool { return from <= key && key < end }

// TestOrder: markers sort by time whatever follows it, ranges hold what they say
// and nothing of another shard, queue, chain or stream.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawDue(t), drawDue(t)
		until := rapid.OneOf(rapid.Just(a.At), rapid.Map(rapid.Int64(), func(v int64) core.Ms { return core.Ms(v) })).Draw(t, "until")
		b.Queue = a.Queue
		b.Sched = a.Sched
		b.Shard = rapid.SampledFrom([]int{a.Shard, b.Shard}).Draw(t, "shard")
		if a.Queue == GC && a.Shard == b.Shard && a.Dead > b.Dead && a.Key() >= b.Key() {
			t.Fatalf("more dead bytes come later: %q, %q", a.Key(), b.Key())
		}
		if a.timed() && a.Shard == b.Shard && a.At < b.At && a.Key() >= b.Key() {
			t.Fatalf("an earlier marker sorts later: %q, %q", a.Key(), b.Key())
		}
		for _, d := range []Due{a, b} {
			ripe := DueRange
			if d.Sched {
				ripe = SchedRange
			}
			from, end := ripe(a.Queue, a.Shard, until)
			want := d.Shard == a.Shard && (!d.timed() || d.At <= max(until, 0))
			if within(d.Key(), from, end) != want {
				t.Fatalf("%q in [%q, %q) is %v", d.Key(), from, end, !want)
			}
			all := DueAll
			if d.Sched {
				all = SchedAll
			}
			if from, end := all(a.Queue, a.Shard); within(d.Key(), from, end) != (d.Shard == a.Shard) {
				t.Fatalf("%q in [%q, %q)", d.Key(), from, end)
			}
			if a.Queue == Denorm && !a.Sched {
				from, end := DenormChain(a.Shard, a.Star, a.Epoch)
				if within(d.Key(), from, end) != (d.Shard == a.Shard && d.Star == a.Star && d.Epoch == a.Epoch) {
					t.Fatalf("%q in the chain of %q", d.Key(), a.Key())
				}
			}
		}
	})
}

func TestRowRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, other, from, last := drawNumber(t), drawNumber(t), drawNumber(t), drawNumber(t)
		start, end := RefRange(id, from)
		if within(Ref(other, last), start, end) != (other == id && last >= from) {
			t.Fatalf("%q in [%q, %q)", Ref(other, last), start, end)
		}
		star, star2 := drawName(t), drawName(t)
		check := func(key string, want bool, start, end string) {
			if within(key, start, end) != want {
				t.Fatalf("%q in [%q, %q) is %v", key, start, end, !want)
			}
		}
		start, end = ChainRange(star)
		check(ChainHead(star2, id), star == star2, start, end)
		start, end = ChainRows(star, id)
		check(ChainTrim(star2, other), star == star2 && id == other, start, end)
		start, end = NameRange(star)
		check(Name(star2, star), star == star2, start, end)
		start, end = MintRange(star)
		check(Mint(star2, core.Standard), star == star2, start, end)
		p := ChainPrefix(star, id)
		if strings.HasPrefix(Slot(star2, other, last), p) != (star == star2 && id == other) {
			t.Fatalf("%q has the prefix %q", Slot(star2, other, last), p)
		}
		check(Star(star), true, ranged(StarRange()), rangeEnd(StarRange()))
		check(Gone(star), true, ranged(GoneRange()), rangeEnd(GoneRange()))
		check(Mint(star, core.Express), true, ranged(MintsRange()), rangeEnd(MintsRange()))
		start, end = DenormStar(3, star)
		check(DueDenorm(3, star2, id, other), star == star2, start, end)
		check(DueDenorm(2, star, id, other), false, start, end)
		check(Auditor(star), true, ranged(AuditorsRange()), rangeEnd(AuditorsRange()))
		check(Stream(id), true, ranged(StreamsRange()), rangeEnd(StreamsRange()))
		check(ChainConst(star, id), true, ranged(ChainsRange()), rangeEnd(ChainsRange()))
		check(Park(GC, star+"x"), true, ranged(ParkRange()), rangeEnd(ParkRange()))
	})
}

func ranged(from, _ string) string { return from }

func rangeEnd(_, end string) string { return end }

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ in, want string }{{"a/", "a0"}, {"a\xff", "b"}, {"\xff\xff", ""}, {"", ""}} {
		if got := PrefixEnd(c.in); got != c.want {
			t.Errorf("PrefixEnd(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// TestNoDirectories: no key is a directory of another, of whatever kind; on
// objects some stores insist on it.
func TestNoDirectories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ks []string
		star := drawName(t)
		ks = append(ks, Slot(star, drawNumber(t), drawNumber(t)), Slot(drawName(t), 1, drawNumber(t)))
		s := drawSettled(t)
		u := s
		u.Revision = rapid.Uint32Max(2).Draw(t, "revision")
		ks = append(ks, s.Key(), u.Key(), s.Derived().Key(), u.Derived().Key(), drawSettled(t).Key())
		for _, a := range ks {
			for _, b := range ks {
				if strings.HasPrefix(a, b+"/") {
					t.Fatalf("%q is a directory of %q", b, a)
				}
			}
		}
	})
}

// FuzzParse feeds every parser: it must not panic, and what it accepts must be
// the key that its maker makes.
func FuzzParse(f *testing.F) {
	for _, k := range []string{Star("a/b"), ChainHead("s", 3), Mint("s", 1), Name("b", "n"), Ref(1, 2), Slot("s", 1, 2),
		Settled{Bucket: "b", Revision: 1}.At(Incarnation{1, 2}).Key(), DueReap(1, 2, "o"), DueGC(1, 2, "o"), SchedDenorm(1, 2, "s", 3, 4),
		DueTeardown(1, 2, 3, true), Park(GC, "x"), Name(strings.Repeat("~", 300), "="), Gone("s"), Auditor("a/0"),
		Stream(1), Trim(1 << 63), Producer(0), Writer(7), StreamLease(9), ChainLease("s/t", 2), SettleClaim("s", 1<<40),
		ChainConst("s", 1), ChainTrim("s", 1)} {
		f.Add(k)
		f.Add(k[:len(k)-1])
		f.Add(k + "0")
	}
	f.Fuzz(func(t *testing.T, k string) {
		try := func(back string, err error) {
			if err == nil && back != k {
				t.Fatalf("%q was accepted as %q", k, back)
			} else if err != nil && !errors.Is(err, ErrKey) {
				t.Fatal(err)
			}
		}
		if s, err := ParseStar(k); true {
			try(Star(s), err)
		}
		if s, err := ParseGone(k); true {
			try(Gone(s), err)
		}
		if s, err := ParseAuditor(k); true {
			try(Auditor(s), err)
		}
		for _, of := range []struct {
			make  func(uint64) string
			parse func(string) (uint64, error)
		}{{Stream, ParseStream}, {Trim, ParseTrim}, {Producer, ParseProducer}, {Writer, ParseWriter}, {StreamLease, ParseStreamLease}} {
			id, err := of.parse(k)
			try(of.make(id), err)
		}
		if s, e, err := ParseChainLease(k); true {
			try(ChainLease(s, e), err)
		}
		if s, e, err := ParseSettleClaim(k); true {
			try(SettleClaim(s, e), err)
		}
		if s, e, p, err := ParseChain(k); true {
			try(ChainPrefix(s, e)+p, err)
		}
		if s, c, err := ParseMint(k); true {
			try(Mint(s, c), err)
		}
		if b, n, err := ParseName(k); true {
			try(Name(b, n), err)
		}
		if a, b, err := ParseRef(k); true {
			try(Ref(a, b), err)
		}
		if s, e, n, err := ParseSlot(k); true {
			try(Slot(s, e, n), err)
		}
		if s, err := ParseSettled(k); true {
			try(s.Key(), err)
		}
		if d, err := ParseDue(k); true {
			try(d.Key(), err)
		}
		if q, m, err := ParsePark(k); true {
			try(Park(q, m), err)
		}
	})
}
