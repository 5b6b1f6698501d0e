package core

import (
	"errors"
	"fmt"
)

// Verb tags one element of a transaction.
type Verb uint8

const (
	VIf        Verb = iota // the key's modification revision is Rev (0: the key is absent)
	VPut                   // write Val
	VPutLeased             // write Val under the process's session lease
	VDel                   // delete the key (absence is success)
	VDelRange              // delete [Key, End)
)

// Write is one element of a transaction: a compare or a write.
type Write struct {
	Verb Verb
	At   Mark   // the key, and for VIf the revision that it must have
	Val  string // VPut, VPutLeased: the value; VDelRange: the end of the range
}

// If compares: the key still stands as it was read (or is absent, for Rev 0).
func If(m Mark) Write { return Write{Verb: VIf, At: m} }

// Missing compares: the key is absent.
func Missing(key string) Write { return If(Mark{Key: key}) }

// Put writes a key.
func Put(key, val string) Write { return Write{Verb: VPut, At: Mark{Key: key}, Val: val} }

// PutLeased writes a key that goes when the process's session does.
func PutLeased(key, val string) Write { return Write{Verb: VPutLeased, At: Mark{Key: key}, Val: val} }

// Del deletes a key.
func Del(key string) Write { return Write{Verb: VDel, At: Mark{Key: key}} }

// DelRange deletes every key of [from, end).
func DelRange(from, end string) Write {
	return Write{Verb: VDelRange, At: Mark{Key: from}, Val: end}
}

func (w *Write) String() string {
	switch w.Verb {
	case VIf:
		if w.At.Rev == 0 {
			return "if-missing(" + w.At.Key + ")"
		}
		return fmt.Sprintf("if(%s@%d)", w.At.Key, w.At.Rev)
	case VPut:
		return fmt.Sprintf("put(%s)", w.At.Key)
	case VPutLeased:
		return fmt.Sprintf("put-leased(%s)", w.At.Key)
	case VDel:
		return fmt.Sprintf("del(%s)", w.At.Key)
	}
	return fmt.Sprintf("del-range(%s, %s)", w.At.Key, w.Val)
}

// Limits of a transaction: etcd's defaults.
const (
	TxnOps   = 128       // compares, and writes, each counted on their own
	TxnBytes = 1_500_000 // keys and values of one request (etcd refuses 1.5 MiB)
)

// ErrTxn is wrapped by every error of CheckTxn.
var ErrTxn = errors.New("transaction breaks its contract")

// CheckTxn refuses a transaction that etcd would refuse: more than TxnOps
// compares or writes, more than TxnBytes, or one key written twice (a put inside
// a range that it deletes included). Every host calls it before it sends.
func CheckTxn(ws []Write) error {
	var ifs, thens, size int
	for i := range ws {
		w := &ws[i]
		size += len(w.At.Key) + len(w.Val)
		if w.At.Key == "" {
			return fmt.Errorf("%w: element %d names no key", ErrTxn, i)
		}
		if w.Verb == VIf {
			ifs++
		} else {
			thens++
		}
		for j := range i {
			if v := &ws[j]; clash(v, w) {
				return fmt.Errorf("%w: %s and %s touch one key", ErrTxn, v.String(), w.String())
			}
		}
	}
	switch {
	case ifs > TxnOps || thens > TxnOps:
		return fmt.Errorf("%w: %d compares and %d writes, at most %d each", ErrTxn, ifs, thens, TxnOps)
	case size > TxnBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTxn, size, TxnBytes)
	case thens == 0:
		return fmt.Errorf("%w: it writes nothing", ErrTxn)
	}
	return nil
}

func clash(v, w *Write) bool {
	if v.Verb == VIf || w.Verb == VIf {
		return v.Verb == w.Verb && v.At.Key == w.At.Key // two compares of one key: one of them is a mistake
	}
	vEnd, wEnd := v.end(), w.end()
	return v.At.Key < wEnd && w.At.Key < vEnd
}

func (w *Write) end() string {
	if w.Verb == VDelRange {
		return w.Val
	}
	return w.At.Key + "\x00"
}
