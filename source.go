package nova

import "embed"

// Source is the text of the machines as they were compiled: every file below
// core but the tests. From it a run knows the names of the places that emit its
// effects (package faults/boundaries), also where a build has changed a file by an
// overlay. The patterns leave out the names that end in "_test.go", and no other.
//
//go:embed core/*/*[^t].go core/*/*[^s]t.go core/*/*[^e]st.go core/*/*[^t]est.go
var Source embed.FS
