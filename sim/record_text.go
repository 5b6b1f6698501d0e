package sim

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"nova/core"
	"nova/faults"
)

// ErrRecord is wrapped by every error about a record's text.
var ErrRecord = errors.New("not a record")

// Encode writes a record as text: a head of one fact a line, the choices one a
// line in the order in which they were made, and the raw tape, if there is one.
func (r *Record) Encode() []byte {
	var b bytes.Buffer
	f := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	f("%s", RecordVersion)
	f("seed %d", r.Seed)
	f("plan %s", r.Plan)
	if r.Planted != "" {
		f("planted %s", r.Planted)
	}
	f("commit %s", orDash(r.Commit))
	f("go %s", orDash(r.Go))
	f("effects %d", r.Effects)
	f("instant %v", r.Instant)
	f("sum %016x", r.Sum)
	if r.Breach != nil {
		f("breach law=%d at=%d %s", r.Breach.Law, r.Breach.At-Epoch, strconv.Quote(r.Breach.What))
	}
	dials, err := json.Marshal(r.Dials)
	if err != nil {
		panic(err) // numbers only
	}
	f("dials %s", dials)
	f("world repeat-complete=%s late-parts=%v", r.Dialect.RepeatComplete, r.Dialect.LateParts)
	for _, c := range r.Actors {
		f("actor %s %s class=%d", bare(c.Name), orDash(c.Role), c.Class)
	}
	f("choices %d", len(r.Lines))
	for _, l := range r.Lines {
		b.WriteString(l.String())
		b.WriteByte('\n')
	}
	if r.Tape != nil {
		for t := packTape(r.Tape); t != ""; {
			n := min(len(t), 120)
			f("tape %s", t[:n])
			t = t[n:]
		}
	}
	b.WriteString(RecordEnd(b.Bytes()))
	return b.Bytes()
}

// String is the line as it stands in a record.
func (l *Line) String() string {
	b := []string{strconv.FormatInt(int64(l.At), 10), doNames[l.Do]}
	switch l.Do {
	case DoAsk:
		return strings.Join(append(b, l.Ask.String()), " ")
	case DoStart:
		b = append(b, bare(l.Proc), "number="+strconv.FormatInt(l.Num, 10))
		if l.Skews {
			b = append(b, "skew="+strconv.FormatInt(int64(l.Skew), 10))
		}
	case DoBack:
		b = append(b, bare(l.Proc), "after="+strconv.FormatInt(l.Num, 10))
	case DoStop:
		b = append(b, bare(l.Proc))
	case DoMourn:
		b = append(b, bare(l.Proc), l.Ask.String())
	case DoCalm, DoEnd:
	default:
		b = append(b, bare(l.ID.Proc), l.ID.Path, l.ID.Kind.String(), bare(l.Key), "~"+strconv.Itoa(l.ID.N))
		switch l.Do {
		case DoSlow, DoNudge:
			b = append(b, "ms="+strconv.FormatInt(l.Num, 10))
		case DoInFlight:
			b = append(b, "becomes="+strconv.FormatInt(l.Num, 10))
		}
		if l.Fault != faults.None {
			b = append(b, "fault="+l.Fault.String())
		}
		if len(l.Args) > 0 {
			b = append(b, "args="+strings.ReplaceAll(strings.Trim(fmt.Sprint(l.Args), "[]"), " ", ","))
		}
		if l.Mark {
			b = append(b, "mark")
		}
		if l.Early {
			b = append(b, "early")
		}
		if l.Reply {
			b = append(b, "reply")
		}
	}
	return strings.Join(b, " ")
}

// bare is a word: a text without blanks that word reads again.
func bare(s string) string {
	if s == "" {
		return `""`
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '"' {
			return strings.ReplaceAll(strconv.QuoteToASCII(s), " ", `\x20`)
		}
	}
	return s
}

func word(s string) (string, error) {
	if strings.HasPrefix(s, `"`) {
		return strconv.Unquote(s)
	}
	return s, nil
}

// DecodeRecord reads what Encode wrote.
func DecodeRecord(text []byte) (*Record, error) {
	body, err := opened(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	in := bufio.NewScanner(bytes.NewReader(body))
	in.Buffer(nil, 1<<20)
	r := &Record{Dials: Dials(ReplayTape(nil))}
	n, lines, tape, seen := 1, -1, "", map[string]bool{} // the first line was read
	fail := func(err error) (*Record, error) {
		return nil, fmt.Errorf("%w: line %d: %w", ErrRecord, n, err)
	}
	for in.Scan() {
		n++
		t := in.Text()
		key, val, _ := strings.Cut(t, " ")
		var err error
		switch {
		case lines >= 0 && key != "" && key[0] >= '0' && key[0] <= '9':
			var l *Line
			if l, err = parseLine(strings.Fields(t)); err == nil {
				r.Lines = append(r.Lines, l)
			}
		case key == "tape" && lines >= 0:
			tape += val
		case lines < 0:
			if err = once(seen, key); err != nil {
				break
			}
			if key != "choices" {
				err = r.head(key, val)
			} else if lines, err = strconv.Atoi(val); err == nil && lines < 0 {
				err = errors.New("so many choices there are in no run")
			}
		default:
			err = fmt.Errorf("%s is no choice", clipped(t))
		}
		if err != nil {
			return fail(err)
		}
	}
	if err := in.Err(); err != nil {
		return fail(err)
	}
	if err := complete(seen); err != nil {
		return fail(err)
	}
	if lines != len(r.Lines) {
		return fail(fmt.Errorf("it has %d choices, and says %d", len(r.Lines), lines))
	}
	if err := r.Dials.Check(); err != nil {
		return fail(err)
	}
	if tape != "" {
		var err error
		if r.Tape, err = unpackTape(tape); err != nil {
			return fail(err)
		}
	}
	return r, nil
}

// noChoice is the error of a line that is none.
type noChoice []string

func (w noChoice) Error() string { return clipped(strings.Join(w, " ")) + " is no choice" }

func parseLine(w []string) (l *Line, err error) {
	l = &Line{}
	at, err := strconv.ParseInt(w[0], 10, 64)
	if l.At = core.Ms(at); err != nil || at < 0 || at > 1<<40 {
		return nil, fmt.Errorf("%s is no time", clipped(w[0]))
	}
	bad := noChoice(w)
	if len(w) < 2 {
		return nil, bad
	}
	for d := DoAsk; d < dos; d++ {
		if doNames[d] == w[1] {
			l.Do = d
		}
	}
	rest := w[2:]
	switch l.Do {
	case 0:
		return nil, bad
	case DoAsk:
		l.Ask, err = parseAsked(rest)
		return l, err
	case DoCalm, DoEnd:
	case DoStart, DoBack, DoStop:
		if len(rest) < 1 {
			return nil, bad
		}
		if l.Proc, err = word(rest[0]); err != nil {
			return nil, bad
		}
		rest = rest[1:]
	case DoMourn:
		if len(rest) < 1 {
			return nil, bad
		}
		if l.Proc, err = word(rest[0]); err != nil {
			return nil, bad
		}
		l.Ask, err = parseAsked(rest[1:])
		return l, err
	default:
		if len(rest) < 5 || !strings.HasPrefix(rest[4], "~") {
			return nil, bad
		}
		proc, err1 := word(rest[0])
		key, err2 := word(rest[3])
		n, err3 := strconv.Atoi(rest[4][1:])
		kind, ok := kindNamed(rest[2])
		if err1 != nil || err2 != nil || err3 != nil || !ok {
			return nil, bad
		}
		l.Key, l.ID = key, ID{Proc: proc, Path: rest[1], Kind: kind, Noun: Noun(key), N: n}
		rest = rest[5:]
	}
	for _, f := range rest {
		if !l.flag(f) {
			return nil, bad
		}
	}
	return l, nil
}

// flag reads one of the words that follow.
func (l *Line) flag(f string) bool {
	key, val, has := strings.Cut(f, "=")
	num, err := strconv.ParseInt(val, 10, 64)
	switch {
	case key == "early" && !has:
		l.Early = true
	case key == "mark" && !has:
		l.Mark = true
	case key == "reply" && !has:
		l.Reply = true
	case key == "fault":
		k, ok := faultNamed(val)
		l.Fault = k
		return ok
	case key == "args":
		for a := range strings.SplitSeq(val, ",") {
			v, err := strconv.ParseUint(a, 10, 32)
			if err != nil {
				return false
			}
			l.Args = append(l.Args, uint32(v))
		}
	case err != nil || num > 1<<40 || num < -1<<40:
		return false
	case key == "skew" && l.Do == DoStart:
		l.Skews, l.Skew = true, core.Ms(num)
	case key == "number" && l.Do == DoStart, key == "after" && l.Do == DoBack,
		key == "ms" && (l.Do == DoSlow || l.Do == DoNudge), key == "becomes" && l.Do == DoInFlight:
		l.Num = num
	default:
		return false
	}
	return true
}

// packTape packs raw choices: most are 0 or small, and much repeats.
func packTape(tape []uint32) string {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic(err) // the level is one that there is
	}
	var v [binary.MaxVarintLen32]byte
	for _, c := range tape {
		z.Write(v[:binary.PutUvarint(v[:], uint64(c))]) // into memory
	}
	z.Close()
	return base64.RawStdEncoding.EncodeToString(b.Bytes())
}

func unpackTape(s string) ([]uint32, error) {
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), 1<<26))
	if err != nil {
		return nil, err
	}
	tape := []uint32{}
	for len(raw) > 0 {
		v, n := binary.Uvarint(raw)
		if n <= 0 || v > 1<<32-1 {
			return nil, errors.New("the tape is damaged")
		}
		tape, raw = append(tape, uint32(v)), raw[n:]
	}
	return tape, nil
}
