package core

// Ms is a time or a duration in milliseconds. Times count from the Unix epoch on
// the clock of the process that took them.
type Ms int64

// Mark is a metastore key at the modification revision at which it was seen.
// Rev 0 means that the key was absent. Every revision that a machine holds is a
// Mark, so that an explorer can find and canonicalise them.
type Mark struct {
	Key string
	Rev int64
}

// Row is a metastore key with its value, as a read returned it.
type Row struct {
	Mark
	Val string
}

// Store names one store bucket (an S3 bucket behind one endpoint). Which stores
// serve a storage class is for the process's one class→store authority to say.
type Store string

// Class is a storage class of the specification.
type Class uint8

const (
	Standard Class = iota
	Express

	Classes = 2
)

func (c Class) String() string {
	switch c {
	case Standard:
		return "standard"
	case Express:
		return "express"
	}
	return "class?"
}

// Obj is the address of one object.
type Obj struct {
	Store Store
	Key   string
}

// Stores is the class→store authority: the stores that serve each class. The
// first of a class is the home of its settled objects; a chain takes its bucket
// set from them, in order, and records it in its constants.
type Stores struct{ Of [Classes][]Store }

// Home is where an object of class c that is no slot lives.
func (s *Stores) Home(c Class) Store { return s.Of[c][0] }
