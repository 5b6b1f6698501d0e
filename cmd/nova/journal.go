package main

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/pflag"

	"nova/cmd/nova/demo"
	"nova/prod/journal"
)

// journalFlags say whether a process records its machines, and where.
type journalFlags struct {
	dir    string
	maxMiB int64
}

func (j *journalFlags) register(f *pflag.FlagSet) {
	f.StringVar(&j.dir, "journal", "", "directory where this process's machines are recorded, for nova sim replay (none: they are not); one for each process")
	f.Int64Var(&j.maxMiB, "journal-max-mib", 256, "size of the journal at most, in MiB: then its oldest part goes")
}

// check refuses a size that no journal can have.
func (j *journalFlags) check() error {
	if j.maxMiB < 1 || j.maxMiB > 1<<20 {
		return fmt.Errorf("--journal-max-mib is %d: give a size of 1 MiB or more", j.maxMiB)
	}
	return nil
}

// open opens the journal, or none.
func (j *journalFlags) open(log *slog.Logger) (*journal.Journal, error) {
	if j.dir == "" {
		return nil, nil
	}
	return journal.Open(journal.Config{Dir: j.dir, Cap: j.maxMiB << 20, Log: log})
}

// journalData opens the journal of a cluster that lives in a data directory.
func journalData(dir string, log *slog.Logger) (*journal.Journal, error) {
	return journal.Open(journal.Config{Dir: filepath.Join(dir, demo.JournalDir), Cap: demo.JournalCap, Log: log})
}
