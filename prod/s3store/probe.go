package s3store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"nova/core"
	"nova/prod/exec"
)

// ProbePrefix begins the keys that Probe writes and deletes. What a killed
// process left there, a later probe deletes; verify and sweeps pass over it.
const ProbePrefix = "probe/"

// probeLeft is how old a key under ProbePrefix is when nobody can be using it.
const probeLeft = time.Hour

// Abilities is what a store can do beyond what every store must.
type Abilities struct {
	// Copyable: parts can be copied inside the server. Without it the driver
	// fetches them and sends them as data.
	Copyable bool
	// MultiDelete: several keys go in one request.
	MultiDelete bool
}

// ErrAbility is wrapped by Probe's error when the store lacks something that
// Nova cannot do without.
var ErrAbility = errors.New("the store lacks an ability")

// Probe finds out what the store can do, by doing it under ProbePrefix (gap 12).
// It refuses, naming what is missing, a store that does not keep create-once
// promises (on put and on complete, a second writer included), that lets a
// request in after its expiry, that has no suffix reads, that does not say
// definitely that an object is absent, or whose bucket keeps versions (a deleted
// object's bytes would stand for ever). Every process calls it at its start.
func (s *Store) Probe(ctx context.Context) (Abilities, error) {
	p := &probe{s: s, ctx: ctx, base: ProbePrefix + strings.ToLower(rand.Text()) + "/"}
	checks := []struct {
		name string
		run  func() error
	}{
		{"a bucket that does not keep versions", p.versions},
		{"create-once on put (If-None-Match)", p.createOnce},
		{"one winner among concurrent creates", p.race},
		{"suffix reads", p.tails},
		{"a definite answer for what is absent", p.absence},
		{"expiry of signed requests", p.expiry},
		{"create-once on complete (If-None-Match)", p.completeOnce},
		{"multi-delete", p.multiDelete},
		{"part copy", p.copies},
	}
	defer p.clean()
	for _, c := range checks {
		if err := c.run(); err != nil {
			return Abilities{}, fmt.Errorf("store %s (bucket %s at %q): %s: %w", s.name, s.bucket, s.e.url, c.name, err)
		}
	}
	return p.can, nil
}

// probe is one run of Probe.
type probe struct {
	s    *Store
	ctx  context.Context
	base string
	keys []string
	ups  []core.Op // aborts of the uploads that it began
	can  Abilities
}

const probeBody = "0123456789abcdef"

func (p *probe) key(name string) string {
	k := p.base + name
	p.keys = append(p.keys, k)
	return k
}

func (p *probe) obj(name string) core.Obj { return core.Obj{Store: p.s.name, Key: p.key(name)} }

// soon is a NotAfter that is far enough away.
func (p *probe) soon() core.Ms { return p.s.e.now() + 60_000 }

func (p *probe) do(op core.Op, body string) (core.Reply, error) {
	return p.s.Do(p.ctx, op, bodyOf(body))
}

// bodyOf is a body of literal bytes.
func bodyOf(b string) *exec.Body {
	return &exec.Body{N: int64(len(b)), Open: func() io.ReadCloser { return io.NopCloser(bytes.NewReader([]byte(b))) }}
}

// want says what is wrong with a reply: it lacks an ability only if the answer
// was definite, otherwise the probe itself failed.
func want(r core.Reply, err error, o core.Outcome, doing string) error {
	switch {
	case r.Outcome == o:
		return nil
	case r.Outcome == core.Unknown:
		return fmt.Errorf("%s: no definite answer: try again, or see the cause: %w", doing, err)
	}
	return fmt.Errorf("%w: %s was answered %s, not %s (%v)", ErrAbility, doing, r.Outcome, o, err)
}

func (p *probe) versions() error {
	out, err := p.s.e.client.GetBucketVersioning(p.ctx, &s3.GetBucketVersioningInput{Bucket: &p.s.bucket})
	if err != nil {
		if f := fault(core.KList, err); f.Code == "NoSuchBucket" {
			return fmt.Errorf("%w: there is no such bucket: create it", ErrAbility)
		}
		return nil // a server that has no versions, or does not tell
	}
	if out.Status == "Enabled" {
		return fmt.Errorf("%w: versioning is on: suspend it, or deleted bytes stand for ever", ErrAbility)
	}
	return nil
}

func (p *probe) createOnce() error {
	o := p.obj("once")
	r, err := p.do(core.Create(o, nil, p.soon()), probeBody)
	if err := want(r, err, core.OK, "the first put of a key"); err != nil {
		return err
	}
	r, err = p.do(core.Create(o, nil, p.soon()), "another body")
	if err := want(r, err, core.Exists, "a second put of a key"); err != nil {
		return err
	}
	r, err = p.do(core.ReadRange(o, 0, int64(len(probeBody))), "")
	if err := want(r, err, core.OK, "reading it back"); err != nil {
		return err
	}
	if r.Val != probeBody {
		return fmt.Errorf("%w: a refused put changed the object to %q", ErrAbility, r.Val)
	}
	return nil
}

// race lets eight creates of one key go at once.
func (p *probe) race() error {
	o := p.obj("race")
	replies := make(chan core.Reply)
	const racers = 8
	for range racers {
		go func() {
			r, _ := p.s.Do(p.ctx, core.Create(o, nil, p.soon()), bodyOf(probeBody))
			replies <- r
		}()
	}
	won := 0
	for range racers {
		if r := <-replies; r.Outcome == core.OK {
			won++
		}
	}
	if won > 1 {
		return fmt.Errorf("%w: %d of %d concurrent creates of one key were answered OK", ErrAbility, won, racers)
	}
	return nil
}

func (p *probe) tails() error {
	o := core.Obj{Store: p.s.name, Key: p.base + "once"}
	for n, tail := range map[int64]string{4: "cdef", 100: probeBody} {
		r, err := p.do(core.ReadTail(o, n), "")
		if err := want(r, err, core.OK, fmt.Sprintf("reading the last %d bytes", n)); err != nil {
			return err
		}
		if r.Val != tail || r.Size != int64(len(probeBody)) {
			return fmt.Errorf("%w: the last %d bytes of %q read as %q, of %d", ErrAbility, n, probeBody, r.Val, r.Size)
		}
	}
	return nil
}

func (p *probe) absence() error {
	o := p.obj("absent")
	for _, op := range []core.Op{core.Stat(o), core.ReadTail(o, 8), core.ReadRange(o, 0, 8)} {
		r, err := p.do(op, "")
		if err := want(r, err, core.Absent, op.Kind.String()+" of a key that was never written"); err != nil {
			return err
		}
	}
	return nil
}

// expiry sends a put whose signature has been dead for a minute.
func (p *probe) expiry() error {
	o := p.obj("late")
	then := core.Ms(p.s.e.now() - 120_000)
	ctx := context.WithValue(p.ctx, signedAtKey{}, then)
	r, err := p.s.Do(ctx, core.Create(o, nil, then+60_000), bodyOf(probeBody))
	if err := want(r, err, core.Refused, "a put that expired a minute ago"); err != nil {
		return err
	}
	r, err = p.do(core.Stat(o), "")
	return want(r, err, core.Absent, "the object of a put that expired a minute ago")
}

func (p *probe) upload(o core.Obj) (string, error) {
	r, err := p.do(core.CreateUpload(o, p.soon()), "")
	if err := want(r, err, core.OK, "creating an upload"); err != nil {
		return "", err
	}
	p.ups = append(p.ups, core.Abort(o, r.Val))
	return r.Val, nil
}

func (p *probe) part(o core.Obj, up string) ([]string, error) {
	r, err := p.do(core.UploadPart(o, up, 1, nil, p.soon()), probeBody)
	return []string{r.Val}, want(r, err, core.OK, "uploading a part")
}

func (p *probe) completeOnce() error {
	o := p.obj("upload")
	for i, o2 := range []core.Outcome{core.OK, core.Exists} {
		up, err := p.upload(o)
		if err != nil {
			return err
		}
		parts, err := p.part(o, up)
		if err != nil {
			return err
		}
		r, err := p.do(core.Complete(o, up, parts, p.soon()), "")
		if err := want(r, err, o2, fmt.Sprintf("complete number %d of a key", i+1)); err != nil {
			return err
		}
	}
	up, err := p.upload(o)
	if err != nil {
		return err
	}
	r, err := p.do(core.ListUploads(o), "")
	if err := want(r, err, core.OK, "listing a key's uploads"); err != nil {
		return err
	}
	for _, it := range r.Items {
		if it.Upload == up {
			return nil
		}
	}
	return fmt.Errorf("%w: a standing upload is in no listing of its key", ErrAbility)
}

// multiDelete and copies find out what is merely better to have.
func (p *probe) multiDelete() error {
	replies, err := p.s.Delete(p.ctx, []string{p.key("gone-1"), p.key("gone-2")})
	for _, r := range replies {
		if err := want(r, err, core.OK, "deleting what is absent"); err != nil {
			return err
		}
	}
	p.can.MultiDelete = !p.s.single.Load()
	return nil
}

func (p *probe) copies() error {
	o := p.obj("copy")
	up, err := p.upload(o)
	if err != nil {
		return err
	}
	from := core.Piece{Kind: core.Range, From: core.Obj{Store: p.s.name, Key: p.base + "once"}, Off: 4, Len: 8}
	r, err := p.do(core.CopyPart(o, up, 1, from, p.soon()), "")
	if r.Outcome == core.Unknown {
		return want(r, err, core.OK, "copying a part")
	}
	if r.Outcome != core.OK {
		p.s.noCopy.Store(true)
		return nil
	}
	r, err = p.do(core.Complete(o, up, []string{r.Val}, p.soon()), "")
	if err := want(r, err, core.OK, "completing an upload of a copied part"); err != nil {
		return err
	}
	r, err = p.do(core.ReadTail(o, 100), "")
	if err := want(r, err, core.OK, "reading a copied part"); err != nil {
		return err
	}
	p.can.Copyable = r.Val == probeBody[4:12]
	p.s.noCopy.Store(!p.can.Copyable)
	return nil
}

// clean deletes what the probe wrote, and what killed processes left: best
// effort, since it is under ProbePrefix and the next probe comes.
func (p *probe) clean() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), 10*time.Second)
	defer cancel()
	for _, op := range p.ups {
		_, _ = p.s.Do(ctx, op, nil)
	}
	keys := p.keys
	out, err := p.s.e.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &p.s.bucket, Prefix: str(ProbePrefix)})
	if err == nil {
		old := time.UnixMilli(int64(p.s.e.now())).Add(-probeLeft)
		for i := range out.Contents {
			if t := out.Contents[i].LastModified; t != nil && t.Before(old) {
				keys = append(keys, aws.ToString(out.Contents[i].Key))
			}
		}
	}
	_, _ = p.s.Delete(ctx, keys)
}
