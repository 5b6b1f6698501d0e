// Package daemon hosts the core's root machines: the star and the auditor as
// processes of production, one-shot runs of the serving side's machines, a
// reader of streams, and the laws over a live bucket and metastore.
//
// The core names bytes and never holds them. What a star takes in is here:
// records are gathered into chunks (Batcher), the chunks are handed to the
// driver as blobs, and go when they are acknowledged. What a reader takes out is
// here as well: the core plans a read, the driver fetches and checks, and a
// Reader decodes.
//
// # A chunk's bytes
//
// The first byte is the version, 1, then comes the time of its oldest record in
// ms. Every record is two varints and its bytes: how many milliseconds its time is
// after the oldest, and how long it is. The footer says how many there are and what the bytes' checksum is.
package daemon
