package core

import "fmt"

// Kind tags an operation. The set is closed.
type Kind uint8

const (
	KNone Kind = iota
	// Metastore.
	KGet  // Key → the row
	KScan // [Key, End) ascending, at most Num rows → rows, More
	KTxn  // Txn → OK with Rev, or Conflict
	// Object store.
	KStat         // Obj → Size
	KReadRange    // Obj, Off, Len → Val (footers only: chunk bytes never enter the core)
	KReadTail     // Obj, Len → Val: the last Len bytes (or the whole object), and Size
	KCreate       // Obj, Body, NotAfter: create-once → OK or Exists
	KCreateUpload // Obj, NotAfter → Val: the upload's id
	KUploadPart   // Obj, Upload, Num, Body, NotAfter → Val: the part's tag; Absent: no such upload
	KCopyPart     // Obj, Upload, Num, Body[0] (one Range piece), NotAfter → as KUploadPart
	KComplete     // Obj, Upload, Parts, NotAfter: create-once → OK, Exists, or Absent: no such upload
	KAbort        // Obj, Upload → OK (also when it is gone already)
	KListUploads  // Store, Key: uploads of exactly this key → Items
	KList         // Store, Key: prefix, End: after, Num: limit → Items, More
	KDelete       // Obj → OK (also when it was absent)
	// The process itself.
	KWait  // until Until, or a nudge → OK
	KTake  // Key: the queue's name → Val: the next request; never answers while there is none
	KGive  // Key: the queue's name, Val: the answer
	KFetch // Obj, Off, Len, CRC, Num: sink → OK once the bytes are in the sink; Damaged: another checksum
	KStage // Obj, Len: a hint that the object's bytes will be wanted soon; OK always

	Kinds = int(KStage) + 1
)

var kindNames = [Kinds]string{"none", "get", "scan", "txn", "stat", "read-range", "read-tail", "create",
	"create-upload", "upload-part", "copy-part", "complete", "abort", "list-uploads", "list", "delete",
	"wait", "take", "give", "fetch", "stage"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// Op is one operation, built by the constructors below. It is a value; its
// slices are immutable once it is emitted.
type Op struct {
	Kind     Kind
	Num      int32  // part number, row limit, or sink
	CRC      uint32 // KFetch: CRC-32C that the bytes must have
	Store    Store
	Key      string // metastore key, object key, prefix or queue
	End      string // KScan: end of the range; KList: list after this key; uploads: the upload's id
	Val      string // KGive
	Off, Len int64
	Until    Ms // KWait: wake at; store mutations: NotAfter, the store refuses to admit it later
	Txn      []Write
	Body     []Piece
	Parts    []string // KComplete: tags, by part number from 1
}

// PieceKind says where a piece's bytes come from.
type PieceKind uint8

const (
	Literal PieceKind = iota // the bytes themselves: footers, trailers, fences
	Blob                     // bytes that a client handed to this process, by handle
	Range                    // bytes [Off, Off+Len) of a standing object
)

// Piece is one run of a body's bytes: a descriptor, never chunk bytes.
type Piece struct {
	Kind     PieceKind
	NoCRC    bool   // Range: a part of a chunk, or several; no checksum of these very bytes is known
	CRC      uint32 // Range, Blob: CRC-32C of the bytes; the driver refuses to write others
	Bytes    string // Literal
	Blob     uint64 // Blob
	From     Obj    // Range
	Also     []Obj  // Range: replicas to try, in order, where From does not have it
	Off, Len int64  // Blob, Range
}

// Size is the number of bytes that the piece contributes.
func (p *Piece) Size() int64 {
	if p.Kind == Literal {
		return int64(len(p.Bytes))
	}
	return p.Len
}

// Size is the number of bytes of a body.
func Size(body []Piece) (n int64) {
	for i := range body {
		n += body[i].Size()
	}
	return n
}

// Bytes makes a body of literal bytes.
func Bytes(s string) []Piece { return []Piece{{Kind: Literal, Bytes: s}} }

// Get reads one row.
func Get(key string) Op { return Op{Kind: KGet, Key: key} }

// Scan reads at most limit rows of [from, end), ascending. Every range has a
// near end: a range read costs what the whole range holds, whatever its limit.
func Scan(from, end string, limit int) Op {
	return Op{Kind: KScan, Key: from, End: end, Num: int32(limit)}
}

// Txn is one transaction: every If must hold, then every other write applies.
func Txn(ws ...Write) Op { return Op{Kind: KTxn, Txn: ws} }

// Stat asks whether an object stands, and its size.
func Stat(o Obj) Op { return Op{Kind: KStat, Store: o.Store, Key: o.Key} }

// ReadRange reads bytes of a footer window.
func ReadRange(o Obj, off, n int64) Op {
	return Op{Kind: KReadRange, Store: o.Store, Key: o.Key, Off: off, Len: n}
}

// ReadTail reads the last n bytes, or the whole object where it is shorter.
func ReadTail(o Obj, n int64) Op { return Op{Kind: KReadTail, Store: o.Store, Key: o.Key, Len: n} }

// Create writes a whole object unless one stands at its key.
func Create(o Obj, body []Piece, notAfter Ms) Op {
	return Op{Kind: KCreate, Store: o.Store, Key: o.Key, Body: body, Until: notAfter}
}

// CreateUpload begins a multipart upload.
func CreateUpload(o Obj, notAfter Ms) Op {
	return Op{Kind: KCreateUpload, Store: o.Store, Key: o.Key, Until: notAfter}
}

// UploadPart uploads part num (from 1).
func UploadPart(o Obj, upload string, num int, body []Piece, notAfter Ms) Op {
	return Op{Kind: KUploadPart, Store: o.Store, Key: o.Key, End: upload, Num: int32(num), Body: body, Until: notAfter}
}

// CopyPart makes part num of a range of a standing object, inside the store.
func CopyPart(o Obj, upload string, num int, from Piece, notAfter Ms) Op {
	return Op{Kind: KCopyPart, Store: o.Store, Key: o.Key, End: upload, Num: int32(num), Body: []Piece{from}, Until: notAfter}
}

// Complete finishes an upload unless an object stands at its key.
func Complete(o Obj, upload string, parts []string, notAfter Ms) Op {
	return Op{Kind: KComplete, Store: o.Store, Key: o.Key, End: upload, Parts: parts, Until: notAfter}
}

// Abort drops an upload and its parts.
func Abort(o Obj, upload string) Op {
	return Op{Kind: KAbort, Store: o.Store, Key: o.Key, End: upload}
}

// ListUploads lists the unfinished uploads of exactly this key.
func ListUploads(o Obj) Op { return Op{Kind: KListUploads, Store: o.Store, Key: o.Key} }

// List lists at most limit objects whose keys begin with prefix and sort after
// the key after. For verify and the decommission sweep only.
func List(s Store, prefix, after string, limit int) Op {
	return Op{Kind: KList, Store: s, Key: prefix, End: after, Num: int32(limit)}
}

// Delete removes an object; absence is success.
func Delete(o Obj) Op { return Op{Kind: KDelete, Store: o.Store, Key: o.Key} }

// Wait sleeps until a time of the process's clock, or until it is nudged.
func Wait(until Ms) Op { return Op{Kind: KWait, Until: until} }

// Take waits for the next request in one of the process's own queues.
func Take(queue string) Op { return Op{Kind: KTake, Key: queue} }

// Give answers a request.
func Give(queue, val string) Op { return Op{Kind: KGive, Key: queue, Val: val} }

// Fetch moves n bytes of an object into one of the process's sinks.
func Fetch(o Obj, off, n int64, crc uint32, sink int) Op {
	return Op{Kind: KFetch, Store: o.Store, Key: o.Key, Off: off, Len: n, CRC: crc, Num: int32(sink)}
}

// Stage hints that an object of n bytes will be read soon.
func Stage(o Obj, n int64) Op { return Op{Kind: KStage, Store: o.Store, Key: o.Key, Len: n} }

// Obj is the object that a store operation addresses.
func (o *Op) Obj() Obj { return Obj{o.Store, o.Key} }

// Upload is the id of the multipart upload that an operation addresses.
func (o *Op) Upload() string { return o.End }

// Mutates reports whether the operation can change the metastore or a store.
func (o *Op) Mutates() bool {
	switch o.Kind {
	case KTxn, KCreate, KCreateUpload, KUploadPart, KCopyPart, KComplete, KAbort, KDelete:
		return true
	}
	return false
}

// IsStore reports whether the operation goes to the object store.
func (o *Op) IsStore() bool { return o.Kind >= KStat && o.Kind <= KDelete || o.Kind == KFetch }

// IsMeta reports whether the operation goes to the metastore.
func (o *Op) IsMeta() bool { return o.Kind >= KGet && o.Kind <= KTxn }

func (o Op) String() string {
	switch o.Kind {
	case KGet:
		return fmt.Sprintf("get %s", o.Key)
	case KScan:
		return fmt.Sprintf("scan [%s, %s) limit %d", o.Key, o.End, o.Num)
	case KTxn:
		s := "txn"
		for i := range o.Txn {
			s += " " + o.Txn[i].String()
		}
		return s
	case KReadRange, KReadTail:
		return fmt.Sprintf("%s %s/%s %d+%d", o.Kind, o.Store, o.Key, o.Off, o.Len)
	case KFetch:
		return fmt.Sprintf("fetch %s/%s %d+%d crc=%08x", o.Store, o.Key, o.Off, o.Len, o.CRC)
	case KCreate:
		return fmt.Sprintf("create %s/%s %d bytes until %d", o.Store, o.Key, Size(o.Body), o.Until)
	case KUploadPart, KCopyPart:
		return fmt.Sprintf("%s %s/%s upload=%s part %d, %d bytes", o.Kind, o.Store, o.Key, o.End, o.Num, Size(o.Body))
	case KComplete:
		return fmt.Sprintf("complete %s/%s upload=%s %d parts until %d", o.Store, o.Key, o.End, len(o.Parts), o.Until)
	case KAbort:
		return fmt.Sprintf("abort %s/%s upload=%s", o.Store, o.Key, o.End)
	case KList:
		return fmt.Sprintf("list %s/%s* after %q limit %d", o.Store, o.Key, o.End, o.Num)
	case KWait:
		return fmt.Sprintf("wait until %d", o.Until)
	case KTake:
		return fmt.Sprintf("take %s", o.Key)
	case KGive:
		return fmt.Sprintf("give %s, %d bytes", o.Key, len(o.Val))
	}
	return fmt.Sprintf("%s %s/%s", o.Kind, o.Store, o.Key)
}
