// Package client speaks the HTTP interface of a star: create, list, append,
// read, trim and delete streams. What goes over the wire is here as well, so
// that server and client share it.
//
//	GET    /v1/streams?bucket=B            every stream of the bucket, a JSON object a line
//	POST   /v1/streams                     a Stream: create it; 409 when the address is taken
//	DELETE /v1/streams?bucket=B&name=N     delete it
//	GET    /v1/records?bucket=B&name=N&from=S&limit=L   records, a JSON object a line
//	POST   /v1/records?bucket=B&name=N     append: a body of lines, each a record
//	POST   /v1/trim?bucket=B&name=N&before=S            records below S are gone
//
// An append whose Content-Type is application/x-ndjson has a JSON object a line,
// {"data": "…"} or {"base64": "…"}; any other body's lines are the records
// themselves. A read answers lines of bytes when the request accepts text/plain
// only. Every error is a JSON object (Problem).
package client
