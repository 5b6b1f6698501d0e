package core

// Item is one entry of a listing.
type Item struct {
	Key    string
	Upload string // KListUploads: the upload's id
	Size   int64  // KList
}

// Reply is what came back for one effect.
type Reply struct {
	Outcome Outcome
	More    bool   // KScan, KList: the range holds more
	Rev     int64  // KGet: of the row; KTxn: of the transaction
	Size    int64  // KStat, KReadTail: of the object
	Val     string // KGet, KReadRange, KReadTail, KCreateUpload, KUploadPart, KCopyPart, KTake
	Rows    []Row  // KScan; immutable
	Items   []Item // KList, KListUploads; immutable
}

// Row is the row that a KGet of key returned; an absent one has Rev 0.
func (r *Reply) Row(key string) Row {
	if r.Outcome != OK {
		return Row{Mark: Mark{Key: key}}
	}
	return Row{Mark: Mark{Key: key, Rev: r.Rev}, Val: r.Val}
}

// Found reports whether the answer was definite: the thing read, or its absence.
func (r *Reply) Found() (present, definite bool) {
	return r.Outcome == OK, r.Outcome == OK || r.Outcome == Absent
}
