// Package keys makes and parses every metastore key and every object key.
//
// Keys are order-preserving: numbers are fixed-width, names are escaped into
// components of at most 255 bytes that hold neither '/' nor '~' nor '@', and no
// key is a directory of another. Every key that is made can be parsed back, and
// a parser refuses (ErrKey) what no maker makes. The prefix under which a cluster
// lives in its metastore is the driver's affair.
package keys
