// Package plan holds the pure decisions of the duties: which rows an output
// covers and where its bytes come from, how a body becomes parts, what a commit
// compares and writes, what a probe's tallies mean, and when a marker is ready.
// Nothing here reads, writes or waits.
package plan
