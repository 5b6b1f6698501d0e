package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nova/core"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
)

func at(key string) core.Obj { return core.Obj{Store: "s", Key: key} }

func rng(key string, off, n int64, copyable bool) Stretch {
	return Stretch{Piece: core.Piece{Kind: core.Range, CRC: 7, From: at(key), Off: off, Len: n}, Copyable: copyable}
}

func literal(n int) Stretch {
	return Stretch{Piece: core.Piece{Kind: core.Literal, Bytes: string(make([]byte, n))}}
}

// flat joins pieces that continue each other, so that two cuttings of the same
// bytes are equal.
func flat(ps []core.Piece) (out []core.Piece) {
	for _, p := range ps {
		p.CRC, p.NoCRC = 0, false
		if p.Size() == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Kind == p.Kind {
			if l := &out[n-1]; p.Kind == core.Literal {
				l.Bytes += p.Bytes
				continue
			} else if l.From == p.From && l.Off+l.Len == p.Off {
				l.Len += p.Len
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// valid checks what every assembly must be, and returns its parts' bytes.
func valid(t interface{ Fatalf(string, ...any) }, d *core.Dials, body []Stretch, a Assembly) {
	var in, out []core.Piece
	var total int64
	for i := range body {
		in = append(in, body[i].Piece)
		total += body[i].Size()
	}
	for i := range a.Parts {
		p := &a.Parts[i]
		out = append(out, p.Pieces...)
		if a.Single {
			continue
		}
		switch n := p.Size(); {
		case n == 0:
			t.Fatalf("part %d is empty", i)
		case n < d.PartMin && i < len(a.Parts)-1:
			t.Fatalf("part %d of %d has %d bytes", i, len(a.Parts), n)
		case n > partLimit:
			t.Fatalf("part %d has %d bytes", i, n)
		}
		if p.Copy && (len(p.Pieces) != 1 || p.Pieces[0].Kind != core.Range || p.Size() < d.PartMin) {
			t.Fatalf("part %d cannot be copied: %+v", i, p.Pieces)
		}
	}
	if diff := cmp.Diff(flat(in), flat(out)); diff != "" {
		t.Fatalf("the parts are not the body: %s", diff)
	}
	if a.Single != (total < d.PartMin) || a.Single && len(a.Parts) != 1 {
		t.Fatalf("%d bytes: single %v, %d parts", total, a.Single, len(a.Parts))
	}
	if len(a.Parts) > d.PartCount {
		t.Fatalf("%d parts", len(a.Parts))
	}
}

// copied is how many bytes the store copies itself.
func copied(a Assembly) (n int64) {
	for i := range a.Parts {
		if a.Parts[i].Copy {
			n += a.Parts[i].Size()
		}
	}
	return n
}

// TestAssembleSizes is C42: outputs of 0, 1, 5 MiB − 1, 5 MiB, 5 GiB + 1 and
// 100 GiB, copied or not, in one chunk or in many.
func TestAssembleSizes(t *testing.T) {
	d := core.Spec()
	for _, n := range []int64{0, 1, 5*mib - 1, 5 * mib, 5*gib + 1, 100 * gib} {
		for _, copyable := range []bool{false, true} {
			for _, chunk := range []int64{n, 5*mib - 1, 5 * mib, 7*mib + 3, 700 * mib} {
				if chunk == 0 {
					continue
				}
				var body []Stretch
				for off := int64(0); off < n; off += chunk {
					body = append(body, rng(string(rune('a'+off/chunk%3)), off*2, min(chunk, n-off), copyable))
				}
				body = append(body, literal(100))
				a := Assemble(&d, body)
				valid(t, &d, body, a)
				if copyable && chunk >= 2*d.PartMin && n >= chunk && copied(a) < n/2 {
					t.Errorf("%d bytes in chunks of %d: only %d are copied", n, chunk, copied(a))
				}
				for i := range a.Parts {
					if a.Parts[i].Size() > d.PartMax {
						t.Errorf("%d bytes in chunks of %d: part %d has %d", n, chunk, i, a.Parts[i].Size())
					}
				}
			}
		}
	}
}

func TestAssembleGrowsParts(t *testing.T) {
	d := core.Spec()
	d.PartCount = 50
	body := []Stretch{rng("a", 0, 20*gib, false), literal(9)}
	valid(t, &d, body, Assemble(&d, body))
	body = nil
	for i := range int64(1000) { // a part each would be too many
		body = append(body, rng("a", i*20*mib, 6*mib, true))
	}
	body = append(body, literal(9))
	valid(t, &d, body, Assemble(&d, body))
}

// TestAssembleBorrows: small chunks between large ones.
func TestAssembleBorrows(t *testing.T) {
	d := core.Spec()
	small := rng("small", 0, 3, false)
	for _, c := range []struct {
		large       int64
		copied, rot int64 // rot: bytes of the large chunk that lost their checksum on the way
	}{
		{5*mib + 1, 0, 0},                   // 5 MiB − 3 to borrow: nothing left to copy; whole as data
		{10*mib - 4, 0, 0},                  // the remainder would be one byte short
		{10*mib - 3, 5 * mib, 10*mib - 3},   // just enough
		{200 * mib, 195*mib + 3, 200 * mib}, // carved, the rest copied in ranges
	} {
		body := []Stretch{small, rng("large", 0, c.large, true), small, literal(50)}
		a := Assemble(&d, body)
		valid(t, &d, body, a)
		var lost int64
		for i := range a.Parts {
			for _, p := range a.Parts[i].Pieces {
				if p.NoCRC {
					lost += p.Len
				} else if p.Kind == core.Range && p.CRC != 7 {
					t.Errorf("a whole chunk lost its checksum")
				}
			}
		}
		if copied(a) != c.copied || lost != c.rot {
			t.Errorf("a chunk of %d bytes behind 3: %d copied, %d without checksum; want %d, %d", c.large, copied(a), lost, c.copied, c.rot)
		}
	}
}

// TestAssembleRuns: small chunks side by side in one object are copied as one
// range; what is borrowed from them is borrowed whole, with its checksum.
func TestAssembleRuns(t *testing.T) {
	d := core.Spec()
	body := []Stretch{rng("other", 0, 3, false)}
	for i := range int64(100) {
		body = append(body, rng("tail", i*mib, mib, true))
	}
	body = append(body, literal(50))
	a := Assemble(&d, body)
	valid(t, &d, body, a)
	if want := 95 * mib; copied(a) != want {
		t.Errorf("%d bytes copied, want %d", copied(a), want)
	}
	for _, p := range a.Parts[0].Pieces {
		if p.NoCRC {
			t.Errorf("a borrowed chunk lost its checksum: %+v", p)
		}
	}
}

func TestAssembleAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := core.Spec()
		d.PartMin = rapid.Int64Range(1, 12).Draw(t, "min")
		d.PartMax = rapid.Int64Range(2*d.PartMin, 5*d.PartMin).Draw(t, "max")
		d.PartCount = rapid.IntRange(20, 1000).Draw(t, "count")
		n := rapid.IntRange(0, 12).Draw(t, "chunks")
		var body []Stretch
		off := int64(0)
		key := "k"
		for range n {
			if rapid.Bool().Draw(t, "elsewhere") {
				key, off = rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"), off+rapid.Int64Range(0, 3).Draw(t, "gap")
			}
			size := rapid.Int64Range(0, 4*d.PartMax).Draw(t, "size")
			body = append(body, rng(key, off, size, rapid.Bool().Draw(t, "copyable")))
			off += size
		}
		body = append(body, literal(rapid.IntRange(1, 30).Draw(t, "footer")))
		a := Assemble(&d, body)
		valid(t, &d, body, a)

		if a.Single || d.PartCount < 500 {
			return
		}
		for i := range a.Parts {
			if a.Parts[i].Size() > d.PartMax {
				t.Fatalf("part %d of %d bytes", i, a.Parts[i].Size())
			}
		}
		var could int64 // what a chunk gives up at most: the least part, less a byte
		for i := range body {
			if body[i].Copyable && body[i].Size() >= 2*d.PartMin {
				could += body[i].Size() - d.PartMin + 1
			}
		}
		if copied(a) < could {
			t.Fatalf("%d bytes copied, at least %d could be", copied(a), could)
		}
	})
}
