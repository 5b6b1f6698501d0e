// Package boundaries is the list of every place in the source that emits an
// effect: each is a crash point with a name. The list is read from the source
// itself, and not from what runs have reached: what no run reaches is missed then,
// and is not merely absent.
//
// A name is the function, the case of its switch, and the operation:
//
//	duty.ReapCheck.Step/reapDelete:delete
//
// so that it stays the same when lines move. What a process is for is told from the
// types that its root machine is made of: a crash point is a boundary of one kind of
// process (Points). list.txt holds the names for people,
// and a test compares it: a new effect needs a new line (go generate).
package boundaries

//go:generate go run ./gen
