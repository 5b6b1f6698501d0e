// Package s3store is the object store of production: it maps the core's store
// operations onto S3, over aws-sdk-go-v2, for any server that speaks enough of
// it. What is enough, Probe finds out at the start of a process; what a server
// does differently is bridged here and nowhere else.
//
// # Outcomes
//
// outcome.go is the one table from errors to core.Outcome. Its rules: a code in
// the server's answer counts before the status; Absent needs the code that says
// so, since a proxy's 404 says nothing of an object; a mutation is Refused only
// by an answer about the request itself; everything else is Unknown (C5, C12,
// C13).
//
// # Requests that the store itself refuses when they are late
//
// A mutation's NotAfter is signed into its query (X-Amz-Date, X-Amz-Expires), so
// that a request which was held up on the way is refused by the server (gap 3).
// The resolution is one second: a request with less than a second left is not
// sent. Deletes and aborts name what never returns under its key, carry no bound
// and are signed in their headers.
//
// # Checksums
//
// Bodies go unsigned, and a Create announces the CRC-32C of its bytes, which the
// server checks. Parts announce none: a server that is given one at a part wants
// it at the complete as well, and refuses uploads that mix (facts of the field).
package s3store
