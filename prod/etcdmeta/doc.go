// Package etcdmeta is the metastore of production: it maps the core's metastore
// operations onto etcd, over clientv3, or inside the process over the embedded
// server's own client.
//
// Everything lives under one prefix, which the core never sees. A transaction is
// compares of modification revisions and writes; it never has an else-branch,
// since etcd out of space refuses a transaction that holds a put even in the
// branch that is not taken. Point reads are gathered by the driver and go as one
// transaction of gets, so that all of them show one revision.
//
// The process's session is one lease, granted when it is first needed, so that a
// process can start and free space while etcd refuses leases for want of it
// (C36). A lease that is lost takes its keys with it; the machines find out by
// their compares (C37), and the session takes a new lease.
package etcdmeta
