// Package journal writes down, while production runs, what its machines are told
// and what they ask for: a directory of segments journal-<seq>.nvj in the form of
// package transcript, which "nova sim replay" steps the same machines through again.
//
// It is a flight recorder: it never blocks a machine and never fails it. Turns go
// into a buffer in memory, and one goroutine writes it out; where the buffer is
// full or the disk does not take it, turns are left out, counted, and noted in the
// journal as a gap. The oldest segment goes when the journal would outgrow its cap;
// so each segment holds the state of every machine that has a turn in it.
//
// What a power cut may cost is the last second; a killed process, what it had not
// yet handed to the kernel, which is at most a few hundredths of a second. A
// machine that panics is written to the disk before its process ends.
package journal
