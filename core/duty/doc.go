// Package duty holds the auditor: its eight duties, one file each, and the drain
// that dispatches them.
//
// Each duty is a machine for one marker. Its Step gets the marker as the drain
// found it (Due), and resolves it itself, by a compare on the revision that was
// read, in the transaction that makes true what the marker stood for: a marker
// that was armed again meanwhile stays. Done says that the drain may go on to the
// next; Again and Broken have the drain move the marker out of the way, and park
// it in the end. Whatever a duty has in flight when it ends has been answered.
//
// The settle rewrite is spread over several machines: Era (the lease, the run of
// markers, closing them), batch (one marker: judge, plan), member (one stream's
// window), warming, and losing (slots that are gone for good).
package duty
