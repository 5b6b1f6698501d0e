// Package incident steps machines of production through a journal of what they were
// told (prod/journal, in the form of core/transcript): it boots the same root
// machines, feeds them the recorded turns, and compares what they ask for with what
// was recorded. A machine is a function of its turns, so a difference is one of the
// code, or of the recording. And from any turn on, it lets the simulator go on: with
// the machines as they stood and the world as far as the recording tells of it,
// under faults of one's choice.
package incident
