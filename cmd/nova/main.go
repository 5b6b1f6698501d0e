// Command nova is all of Nova in one binary: the daemons, a client, a demo that
// needs nothing installed, and the simulator.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns the process's exit code: 0 for
// success, 1 for a failure, 2 for a command line that is wrong.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var verdict exit
	if errors.As(err, &verdict) {
		return int(verdict)
	}
	fmt.Fprintln(errs, "nova:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintln(errs, "See: "+usage.command+" --help")
		return 2
	}
	return 1
}

// exit is an exit code whose reason was printed already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a command line that is wrong: flags, arguments, or dials that
// break a contract.
type usageError struct {
	command string
	err     error
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usage marks an error of a command's flags or arguments.
func usage(c *cobra.Command, err error) error { return usageError{c.CommandPath(), err} }

// args makes a check of positional arguments a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		if err := check(c, given); err != nil {
			return usage(c, err)
		}
		return nil
	}
}
