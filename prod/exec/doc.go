// Package exec is the driver of production: it runs one of the core's machines
// over a real metastore and real object stores.
//
// One goroutine owns the machine and takes its turns one after another. Every
// effect of a turn runs beside the others and comes back as one event, whatever
// became of its request. The driver gathers (deletes into multi-deletes, point
// reads into one transaction), bounds (requests abreast, bytes and requests a
// second), retries what may safely be sent twice (reads, Delete, Abort), moves
// the chunk bytes that the core only names, and checks their checksums as they
// pass. What it never does is to decide: a mutation without an answer is
// Unknown, and the machine reads back.
//
// # Time
//
// A mutation of a store carries a NotAfter. The driver does not send it once the
// process's clock has reached that time (Refused), and the store signs it into
// the request, so that the store itself refuses what was held up on the way. A
// request that was sent is given up after Dials.Service.
//
// # Shutdown
//
// Cancelling the context drops the machine: that is a crash, and the design's
// only way to stop. Nothing is undone. Requests in flight are cancelled with the
// same context, so nothing is sent under a context that has ended; an upload
// that stays unfinished has its intent, and the orphan duty aborts it (C23).
package exec
