package keys

func hex(v uint64) string { return string(appendHex(make([]byte, 0, wide), v, wide)) }

func ofStream(prefix string, id uint64) string {
	b := make([]byte, 0, len(prefix)+wide)
	return string(appendHex(append(b, prefix...), id, wide))
}

func parseOfStream(prefix, key string) (uint64, error) {
	c := cursor{s: key}
	c.lit(prefix)
	id := c.hex(wide)
	return id, c.done(prefix, key)
}

// Stream is the descriptor, and once deleted the tombstone.
func Stream(id uint64) string { return ofStream("stream/", id) }

// ParseStream is the inverse of Stream.
func ParseStream(key string) (id uint64, err error) { return parseOfStream("stream/", key) }

// StreamsRange holds every Stream row, by id.
func StreamsRange() (from, end string) { return prefixRange("stream/") }

// Trim is a stream's watermark: records below it are gone.
func Trim(id uint64) string { return ofStream("trim/", id) }

// ParseTrim is the inverse of Trim.
func ParseTrim(key string) (id uint64, err error) { return parseOfStream("trim/", key) }

// TrimRange holds every Trim row, by id.
func TrimRange() (from, end string) { return prefixRange("trim/") }

// Producer is a stream's producer handle.
func Producer(id uint64) string { return ofStream("producer/", id) }

// ParseProducer is the inverse of Producer.
func ParseProducer(key string) (id uint64, err error) { return parseOfStream("producer/", key) }

// Writer is a stream's last-writer record.
func Writer(id uint64) string { return ofStream("writer/", id) }

// ParseWriter is the inverse of Writer.
func ParseWriter(key string) (id uint64, err error) { return parseOfStream("writer/", key) }

// WriterRange holds every Writer row, by id.
func WriterRange() (from, end string) { return prefixRange("writer/") }

// StreamLease says which star leads a stream (leased).
func StreamLease(id uint64) string { return ofStream("lease/stream/", id) }

// ParseStreamLease is the inverse of StreamLease.
func ParseStreamLease(key string) (id uint64, err error) { return parseOfStream("lease/stream/", key) }

// Ref is the row of a stream that ends with the sequence number last.
func Ref(id, last uint64) string {
	b := make([]byte, 0, len("ref/")+wide+1+wide)
	b = append(appendHex(append(b, "ref/"...), id, wide), '/')
	return string(appendHex(b, last, wide))
}

// ParseRef is the inverse of Ref.
func ParseRef(key string) (id, last uint64, err error) {
	c := cursor{s: key}
	c.lit("ref/")
	id = c.hex(wide)
	c.lit("/")
	last = c.hex(wide)
	return id, last, c.done("ref", key)
}

// RefRange holds the rows of a stream whose last sequence number is from or
// above: the first of them is the row that covers from, if any does.
func RefRange(id, from uint64) (start, end string) {
	return Ref(id, from), ofStream("ref/", id) + "0" // '0' follows '/'
}

// RefsRange holds every Ref row.
func RefsRange() (from, end string) { return prefixRange("ref/") }
