package format

// EncodeNumber is the value of the rows that hold one number: the counters, a
// mint's epoch, a name's stream id, a trim watermark, the generation.
func EncodeNumber(n uint64) string {
	w := begin(tagNumber, 10)
	w.u(n)
	return w.end()
}

// DecodeNumber decodes EncodeNumber's value.
func DecodeNumber(v string) (uint64, error) {
	r := open(tagNumber, v)
	n := r.u()
	return n, r.close()
}

// Encode is the value of chain/…/const.
func (c ChainConst) Encode() string {
	w := begin(tagChainConst, 64)
	w.class(c.Class)
	w.stores(c.Stores)
	w.u(uint64(c.Pipeline))
	w.ms(c.Born)
	return w.end()
}

// DecodeChainConst decodes a chain's constants: 1 to MaxStores stores, a
// pipeline of at least one slot.
func DecodeChainConst(v string) (ChainConst, error) {
	var c ChainConst
	r := open(tagChainConst, v)
	c.Class = r.class()
	c.Stores = r.stores()
	c.Pipeline = r.u32()
	c.Born = r.ms()
	r.check(len(c.Stores) > 0, "a chain without a store")
	r.check(c.Pipeline > 0, "a chain without a pipeline")
	if err := r.close(); err != nil {
		return ChainConst{}, err
	}
	return c, nil
}

// Encode is the value of chain/…/head.
func (h ChainHead) Encode() string {
	w := begin(tagChainHead, 40)
	w.b = append(w.b, byte(h.State))
	w.u(h.Checkpoint)
	w.u(h.Cut)
	w.ms(h.CutAt)
	w.ms(h.SweptAt)
	return w.end()
}

// DecodeChainHead decodes a chain's head. That the checkpoint is not above the
// cut is a law's affair: a head that breaks it must still be readable.
func DecodeChainHead(v string) (ChainHead, error) {
	var h ChainHead
	r := open(tagChainHead, v)
	h.State = ChainState(r.byte())
	h.Checkpoint = r.u()
	h.Cut = r.u()
	h.CutAt = r.ms()
	h.SweptAt = r.ms()
	r.check(h.State >= ChainOpen && h.State <= ChainSettled, "a state that does not exist")
	if err := r.close(); err != nil {
		return ChainHead{}, err
	}
	return h, nil
}

// Encode is the value of chain/…/trim.
func (t ChainTrim) Encode() string {
	w := begin(tagChainTrim, 30)
	w.u(t.Trimmed)
	w.u(t.Rewritten)
	w.ms(t.RewrittenAt)
	return w.end()
}

// DecodeChainTrim decodes a chain's trim cursors.
func DecodeChainTrim(v string) (ChainTrim, error) {
	var t ChainTrim
	r := open(tagChainTrim, v)
	t.Trimmed = r.u()
	t.Rewritten = r.u()
	t.RewrittenAt = r.ms()
	if err := r.close(); err != nil {
		return ChainTrim{}, err
	}
	return t, nil
}

// Encode is the value of stream/{id}.
func (s Stream) Encode() string {
	w := begin(tagStream, 48+len(s.Bucket)+len(s.Name))
	w.str(s.Bucket)
	w.str(s.Name)
	w.class(s.Class)
	w.ms(s.MaxAge)
	w.ms(s.Born)
	w.u(uint64(s.Policy))
	w.flags(s.Deleted)
	w.ms(s.DeletedAt)
	return w.end()
}

// DecodeStream decodes a stream's descriptor or tombstone.
func DecodeStream(v string) (Stream, error) {
	var s Stream
	r := open(tagStream, v)
	s.Bucket = r.str()
	s.Name = r.str()
	s.Class = r.class()
	s.MaxAge = r.ms()
	s.Born = r.ms()
	s.Policy = r.u32()
	r.flags(&s.Deleted)
	s.DeletedAt = r.ms()
	r.check(s.MaxAge >= 0, "an age policy below zero")
	if err := r.close(); err != nil {
		return Stream{}, err
	}
	return s, nil
}

// Encode is the value of writer/{id}.
func (x Writer) Encode() string {
	w := begin(tagWriter, 48+len(x.Star))
	w.str(x.Star)
	w.u(x.Epoch)
	w.u(x.End)
	w.size(x.Total)
	w.size(x.Base)
	return w.end()
}

// DecodeWriter decodes a stream's last-writer record.
func DecodeWriter(v string) (Writer, error) {
	var x Writer
	r := open(tagWriter, v)
	x.Star = r.str()
	x.Epoch = r.u()
	x.End = r.u()
	x.Total = r.size()
	x.Base = r.size()
	r.check(x.Base <= x.Total, "a size trigger crossed beyond the total")
	if err := r.close(); err != nil {
		return Writer{}, err
	}
	return x, nil
}
