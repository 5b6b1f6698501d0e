// Package nova is the root of the module. It holds no code, only the text of the
// machines (source.go) and the tests of what is true of the tree as a whole: who
// imports whom (imports_test.go), and that CHECKLIST.md names nothing that does
// not exist (checklist_test.go).
//
// Begin with ARCHITECTURE.md; the contracts of the engine are in nova/core.
package nova
