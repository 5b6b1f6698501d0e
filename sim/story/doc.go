// Package story tells what happened to one object: of all the events of a run those
// that matter to a breach, in a few lines that a person can read.
package story
