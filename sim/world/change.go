package world

import (
	"fmt"

	"nova/core"
)

// ChangeKind says what kind of thing changed.
type ChangeKind uint8

const (
	RowPut     ChangeKind = iota + 1 // a metastore row was written
	RowDel                           // a metastore row went
	ObjectPut                        // an object came to stand
	ObjectDel                        // an object went
	UploadPut                        // an unfinished upload stands (begun, or given a part)
	UploadGone                       // it was completed or aborted
)

var changeNames = [...]string{"none", "row-put", "row-del", "object-put", "object-del", "upload-put", "upload-gone"}

func (k ChangeKind) String() string {
	if int(k) < len(changeNames) {
		return changeNames[k]
	}
	return "change?"
}

// Change is one effective write, in the order in which it took effect.
type Change struct {
	Kind   ChangeKind
	Store  core.Store
	Key    string
	Was    string // RowPut, RowDel: the value before ("" for a new row)
	Val    string // RowPut: the value
	Rev    int64  // RowPut, RowDel: the revision
	New    bool   // RowPut: the row did not stand before
	Object *Object
	Upload *Upload
}

func (c Change) String() string {
	switch c.Kind {
	case RowPut, RowDel:
		return fmt.Sprintf("%s %s@%d", c.Kind, c.Key, c.Rev)
	case UploadPut, UploadGone:
		return fmt.Sprintf("%s %s/%s upload=%s", c.Kind, c.Store, c.Key, c.Upload.ID)
	}
	return fmt.Sprintf("%s %s/%s %d bytes", c.Kind, c.Store, c.Key, c.Object.Size())
}
