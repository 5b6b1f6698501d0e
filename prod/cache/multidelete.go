package cache

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
)

// deleteBody bounds the bodies of a multi-delete and of its answer: a thousand
// keys of 1,024 bytes, each of them escaped.
const deleteBody = 8 << 20

// deletion is what a multi-delete asks for, and deleted what it is answered.
type deletion struct {
	Quiet   bool
	Objects []struct{ Key string } `xml:"Object"`
}

type deleted struct {
	Deleted []struct{ Key string }
	Errors  []struct{ Key string } `xml:"Error"`
}

// deleteMany sends a multi-delete on. Every key is evicted before and after, as in
// change; the store's word on each is passed on as it is (C39), and those that it
// does not say are gone are shunned.
func (p *Proxy) deleteMany(w http.ResponseWriter, r *http.Request, c *claim, bucket string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, deleteBody+1))
	var asked deletion
	switch {
	case err != nil:
		fail(w, r, &problem{http.StatusBadRequest, "IncompleteBody", "the body did not come whole"})
		return
	case len(body) > deleteBody || xml.Unmarshal(body, &asked) != nil:
		fail(w, r, &problem{http.StatusBadRequest, "MalformedXML", "the cache cannot read which keys are to be deleted"})
		return
	}
	p.deletes.Add(int64(len(asked.Objects)))
	for _, o := range asked.Objects {
		p.mem.hold(bucket + "/" + o.Key)
	}
	resp, err := p.send(r.Context(), r, c, bytes.NewReader(body), int64(len(body)))
	var said []byte
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		said, err = io.ReadAll(io.LimitReader(resp.Body, deleteBody))
	}
	if err != nil {
		p.log.Warn("the store does not answer the cache", "err", err)
		p.settle(bucket, &asked, nil)
		fail(w, r, noStore)
		return
	}
	p.settle(bucket, &asked, asked.gone(resp.StatusCode, said))
	back(w, resp, bytes.NewReader(said))
}

// settle ends the holds of a multi-delete.
func (p *Proxy) settle(bucket string, asked *deletion, gone map[string]bool) {
	for _, o := range asked.Objects {
		p.mem.unhold(bucket+"/"+o.Key, !gone[o.Key])
	}
}

// gone is the keys that the answer says are deleted.
func (d *deletion) gone(status int, answer []byte) map[string]bool {
	keys := map[string]bool{}
	var a deleted
	if status != http.StatusOK || xml.Unmarshal(answer, &a) != nil {
		return keys
	}
	if d.Quiet {
		for _, o := range d.Objects {
			keys[o.Key] = true
		}
	}
	for _, o := range a.Deleted {
		keys[o.Key] = true
	}
	for _, o := range a.Errors {
		delete(keys, o.Key)
	}
	return keys
}
