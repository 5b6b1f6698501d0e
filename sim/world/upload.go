package world

import (
	"fmt"
	"slices"
	"strings"

	"nova/core"
)

func (b *Bucket) upload(key, id string) (int, bool) {
	return slices.BinarySearchFunc(b.uploads, Upload{Key: key, ID: id}, func(u *Upload, v Upload) int {
		if c := strings.Compare(u.Key, v.Key); c != 0 {
			return c
		}
		return strings.Compare(u.ID, v.ID)
	})
}

func (w *World) createUpload(b *Bucket, op *core.Op, at When) core.Reply {
	if late := expired(op, at); late.Outcome != core.OK {
		return late
	}
	u := &Upload{ID: w.uploadID(b, op.Key), Key: op.Key, when: at.Now}
	w.setUpload(b, u)
	return core.Reply{Val: u.ID}
}

// setUpload puts an upload among the unfinished ones.
func (w *World) setUpload(b *Bucket, u *Upload) {
	if i, ok := b.upload(u.Key, u.ID); ok {
		b.uploads[i] = u
	} else {
		b.uploads = slices.Insert(b.uploads, i, u)
	}
	w.Changes = append(w.Changes, Change{Kind: UploadPut, Store: b.Name, Key: u.Key, Upload: u})
}

// uploadPart lands a part whose bytes came through the client, or were copied
// inside of the store.
func (w *World) uploadPart(b *Bucket, op *core.Op, at When) core.Reply {
	var body Body
	var bad core.Reply
	if op.Kind == core.KCopyPart {
		body, bad = w.copied(op)
	} else {
		body, bad = w.assemble(op.Body)
	}
	if bad.Outcome != core.OK {
		return bad
	}
	if late := expired(op, at); late.Outcome != core.OK {
		return late
	}
	u := w.partTarget(b, op, at)
	switch {
	case u == nil:
		return absent()
	case op.Num < 1 || int(op.Num) > w.Limits.PartCount:
		return refused("part number %d", op.Num)
	case body.size > w.Limits.PartMax:
		return refused("part of %d bytes is too large", body.size)
	}
	p := Part{Num: op.Num, Tag: fmt.Sprintf("%08x-%d", body.CRC(0, body.size), body.size), Body: body}
	next := *u
	i, ok := slices.BinarySearchFunc(u.Parts, p.Num, func(q Part, n int32) int { return int(q.Num - n) })
	next.Parts = slices.Clone(u.Parts)
	if ok {
		next.Parts[i] = p
	} else {
		next.Parts = slices.Insert(next.Parts, i, p)
	}
	w.setUpload(b, &next)
	return core.Reply{Val: p.Tag}
}

// copied is the body of a copied part: the store reads the source itself and
// checks no checksum.
func (w *World) copied(op *core.Op) (Body, core.Reply) {
	if len(op.Body) != 1 || op.Body[0].Kind != core.Range {
		w.breach("copy-part %s: it needs one range piece, and has %d pieces", op.Key, len(op.Body))
		return Body{}, refused("not a range")
	}
	p := &op.Body[0]
	src := w.Bucket(p.From.Store)
	if src == nil || src.Down {
		return Body{}, refused(SourceUnavailable)
	}
	o := src.Lookup(p.From.Key)
	switch {
	case o == nil && w.unlit(src, p.From.Key):
		return Body{}, refused(SourceUnavailable)
	case o == nil:
		return Body{}, refused(SourceAbsent)
	case p.Off < 0 || p.Len <= 0 || p.Off+p.Len > o.Size():
		return Body{}, refused("copy range %d+%d of %d bytes", p.Off, p.Len, o.Size())
	}
	return o.Body.Slice(p.Off, p.Len), core.Reply{}
}

// partTarget is the upload that a part goes to. One that was already being
// served when its upload was aborted may be stored all the same, if the dialect
// says so: then the upload is listed again, until it is aborted again.
func (w *World) partTarget(b *Bucket, op *core.Op, at When) *Upload {
	if i, ok := b.upload(op.Key, op.Upload()); ok {
		if u := b.uploads[i]; !u.ended || at.Admitted <= u.when {
			return u
		}
		return nil
	}
	if !w.Dialect.LateParts {
		return nil
	}
	for _, u := range b.ended {
		if u.Key == op.Key && u.ID == op.Upload() && at.Admitted <= u.when {
			return u
		}
	}
	return nil
}

// complete is a conditional complete.
func (w *World) complete(b *Bucket, op *core.Op, at When) core.Reply {
	if late := expired(op, at); late.Outcome != core.OK {
		return late
	}
	i, ok := b.upload(op.Key, op.Upload())
	if !ok || b.uploads[i].ended {
		return w.repeated(b, op)
	}
	u := b.uploads[i]
	body, bad := w.whole(u, op.Parts)
	if bad.Outcome != core.OK {
		return bad
	}
	// A lost race leaves the upload standing: it is the loser's to abort.
	r := w.stand(b, &Object{Key: op.Key, Body: body, Born: at.Now, upload: u.ID})
	if r.Outcome == core.OK {
		w.endUpload(b, i, at)
	}
	return r
}

// whole is the body that the named parts make.
func (w *World) whole(u *Upload, tags []string) (body Body, bad core.Reply) {
	if len(tags) == 0 {
		return body, refused("no parts")
	}
	for k, tag := range tags {
		i, ok := slices.BinarySearchFunc(u.Parts, int32(k+1), func(q Part, n int32) int { return int(q.Num - n) })
		switch {
		case !ok || u.Parts[i].Tag != tag:
			return Body{}, refused("invalid part %d", k+1)
		case k+1 < len(tags) && u.Parts[i].Body.size < w.Limits.PartMin:
			return Body{}, refused("part %d of %d bytes is too small", k+1, u.Parts[i].Body.size)
		}
		body.join(u.Parts[i].Body)
	}
	return body, core.Reply{}
}

// repeated answers a complete whose upload is gone, as servers differ.
func (w *World) repeated(b *Bucket, op *core.Op) core.Reply {
	o := b.Lookup(op.Key)
	switch {
	case o != nil && w.Dialect.RepeatComplete == core.Exists:
		return core.Reply{Outcome: core.Exists}
	case o != nil && w.Dialect.RepeatComplete == core.OK && o.upload == op.Upload():
		return core.Reply{}
	}
	return absent()
}

func (w *World) abort(b *Bucket, op *core.Op, at When) core.Reply {
	if i, ok := b.upload(op.Key, op.Upload()); ok {
		w.endUpload(b, i, at)
	}
	return core.Reply{}
}

// endUpload takes an upload out of the unfinished ones.
func (w *World) endUpload(b *Bucket, i int, at When) {
	u := b.uploads[i]
	b.uploads = slices.Delete(b.uploads, i, i+1)
	if w.Dialect.LateParts {
		gone := &Upload{ID: u.ID, Key: u.Key, ended: true, when: at.Now}
		// What can still be in flight is bounded, so what must be remembered is as well.
		b.ended = slices.DeleteFunc(b.ended, func(e *Upload) bool {
			return e.Key == u.Key && e.ID == u.ID || e.when+w.Limits.Remember < at.Now
		})
		b.ended = append(b.ended, gone)
	}
	w.Changes = append(w.Changes, Change{Kind: UploadGone, Store: b.Name, Key: u.Key, Upload: u})
}

func (b *Bucket) listUploads(op *core.Op) (r core.Reply) {
	i, _ := b.upload(op.Key, "")
	for ; i < len(b.uploads) && b.uploads[i].Key == op.Key; i++ {
		r.Items = append(r.Items, core.Item{Key: op.Key, Upload: b.uploads[i].ID})
	}
	return r
}
