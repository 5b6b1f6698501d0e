package keys

// Incarnation tells the objects of one derived key apart: the cluster's
// generation, and the metastore revision at which the intent was created that
// the object was published under.
type Incarnation struct {
	Generation uint32
	Created    int64
}

// ChainPrefix is the prefix of every slot of one chain, in every store of its
// bucket set. It ends in "/".
func ChainPrefix(star string, epoch uint64) string { return chainPrefix(star, epoch) }

// StarPrefix is the prefix of every slot of a star, in every store. It ends in
// "/". Only decommission lists it.
func StarPrefix(star string) string { return "chain/" + escape(star) + "/" }

// Slot is the object of one slot of a chain.
func Slot(star string, epoch, slot uint64) string {
	b := append(make([]byte, 0, 96), "chain/"...)
	b = append(append(b, escape(star)...), '/')
	b = append(appendHex(b, epoch, wide), '/')
	return string(appendHex(b, slot, wide))
}

// ParseSlot is the inverse of Slot.
func ParseSlot(key string) (star string, epoch, slot uint64, err error) {
	c := cursor{s: key}
	c.lit("chain/")
	star = c.name('/')
	epoch = c.hex(wide)
	c.lit("/")
	slot = c.hex(wide)
	if err = c.done("slot", key); err != nil {
		return "", 0, 0, err
	}
	return star, epoch, slot, nil
}

// Settled addresses a settled object, or without an incarnation the derived key
// at which its intent stands.
type Settled struct {
	Bucket   string
	Stream   uint64
	Epoch    uint64 // of the output's first chunk
	First    uint64 // first sequence number that it covered when it was first made
	Revision uint32
	Inc      Incarnation
	HasInc   bool
}

// Key is the object key (HasInc), or the derived key.
func (s Settled) Key() string {
	e := escape(s.Bucket)
	b := make([]byte, 0, len("data/")+len(e)+3*(1+wide)+1+narrow+1+narrow+1+wide)
	b = append(append(b, "data/"...), e...)
	b = appendHex(append(b, '/'), s.Stream, wide)
	b = appendHex(append(b, '/'), s.Epoch, wide)
	b = appendHex(append(b, '/'), s.First, wide)
	if s.Revision != 0 {
		b = appendHex(append(b, '~'), uint64(s.Revision), narrow)
	}
	if s.HasInc {
		b = appendHex(append(b, '@'), uint64(s.Inc.Generation), narrow)
		b = appendHex(append(b, '-'), uint64(s.Inc.Created), wide)
	}
	return string(b)
}

// Derived is the address without its incarnation.
func (s Settled) Derived() Settled {
	s.Inc, s.HasInc = Incarnation{}, false
	return s
}

// At is the address of one incarnation.
func (s Settled) At(inc Incarnation) Settled {
	s.Inc, s.HasInc = inc, true
	return s
}

// ParseSettled is the inverse of Settled.Key.
func ParseSettled(key string) (Settled, error) {
	var s Settled
	c := cursor{s: key}
	c.lit("data/")
	s.Bucket = c.name('/')
	s.Stream = c.hex(wide)
	c.lit("/")
	s.Epoch = c.hex(wide)
	c.lit("/")
	s.First = c.hex(wide)
	if !c.bad && c.s != "" && c.s[0] == '~' {
		c.take(1)
		s.Revision = uint32(c.hex(narrow))
		c.bad = c.bad || s.Revision == 0
	}
	if !c.bad && c.s != "" && c.s[0] == '@' {
		c.take(1)
		s.HasInc = true
		s.Inc.Generation = uint32(c.hex(narrow))
		c.lit("-")
		s.Inc.Created = int64(c.hex(wide))
	}
	if err := c.done("settled object", key); err != nil {
		return Settled{}, err
	}
	return s, nil
}

// StreamPrefix is the prefix of every settled object of a stream. It ends in "/".
func StreamPrefix(bucket string, id uint64) string {
	return "data/" + escape(bucket) + "/" + hex(id) + "/"
}
