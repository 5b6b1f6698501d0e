// Gen writes list.txt, the names of the source's boundaries. It runs in the folder
// of package boundaries (go generate ./faults/boundaries).
package main

import (
	"fmt"
	"os"

	"nova/faults"
	"nova/faults/boundaries"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "boundaries:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := faults.Root(".")
	if err != nil {
		return err
	}
	list, err := boundaries.Read(os.DirFS(root))
	if err != nil {
		return err
	}
	return os.WriteFile("list.txt", []byte(boundaries.Text(list)), 0o666)
}
