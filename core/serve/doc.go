// Package serve is the serving side: the star that appends and absorbs, the verbs
// of a stream's life (create, policy, trim, delete), and the reader's plan.
//
// A star is one root machine. Its host puts requests into the process's queue
// Queue and takes the answers from the same; chunk bytes stay with the host, which
// keeps a blob until the append that names it was answered.
package serve
