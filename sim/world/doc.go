// Package world models what the machines act upon: a metastore with etcd's
// semantics and object stores with those of S3. It holds no clock and makes no
// choice: the time is an argument, and where servers differ a Dialect says how
// this one behaves. The same calls in the same order give the same world.
//
// Bodies are symbolic: literal bytes (footers, fences) and ranges of blobs whose
// content is a function, so that an object of gigabytes costs what its footer
// does, and yet every byte has a value and every range a checksum.
//
// Apply lands one operation, at whatever time its caller chooses: a request may
// land long after it was sent, and its reply may never be delivered. Every
// effective write is recorded in Changes, for laws that follow incrementally.
package world
