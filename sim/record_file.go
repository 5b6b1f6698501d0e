package sim

import (
	"fmt"
	"os"
	"path/filepath"
)

// Ending of a record's file.
const RecordExt = ".record"

// Name is the name of the record's file: what was broken, and by which seed.
func (r *Record) Name() string {
	if r.Breach == nil {
		return fmt.Sprintf("seed-%d%s", r.Seed, RecordExt)
	}
	return fmt.Sprintf("law-%d-seed-%d%s", r.Breach.Law, r.Seed, RecordExt)
}

// Write writes the record into a folder, which it makes, and returns the path.
func (r *Record) Write(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("make the folder of records: %w", err)
	}
	path = filepath.Join(dir, r.Name())
	if err := os.WriteFile(path, r.Encode(), 0o666); err != nil {
		return "", fmt.Errorf("write a record: %w", err)
	}
	return path, nil
}

// ReadRecord reads a record's file.
func ReadRecord(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	r, err := DecodeRecord(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
