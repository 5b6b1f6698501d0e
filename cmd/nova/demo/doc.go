// Package demo is `nova demo`: the whole life of streams in one process, over an
// embedded etcd and an embedded S3. Every input file becomes a stream and its
// lines the records; two stars take them in, two auditors settle and reclaim;
// every record is read back and compared, before and after; and the laws are
// checked at the end.
//
// It can be killed at any instant and started again on the same directory: how
// many records of a file are in is the stream's own end, so that none is
// appended twice and none is left out.
package demo
