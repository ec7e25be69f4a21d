package main

import (
	"io"
	"os"
	"path/filepath"

	"whichfs/internal/fio"
	"whichfs/internal/result"
	"whichfs/internal/study"
)

// longestJob is the size of a fio job file, in bytes, above which it is a
// mistake.
const longestJob = 1 << 20

// fioStudy makes a study of a fio job file, which is run as it is. One that
// would leave the storage under test is refused.
func fioStudy(path string) (study.Study, error) {
	f, err := os.Open(path)
	if err != nil {
		return study.Study{}, result.Refuse("", "fio job file: %v", err)
	}
	defer f.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(f, longestJob+1))
	if err != nil {
		return study.Study{}, result.Refuse("", "fio job file: %v", err)
	}
	if len(text) > longestJob {
		return study.Study{}, result.Refuse("", "%s is larger than %d KiB: is it a fio job file?", path, longestJob>>10)
	}
	if err := fio.Check(string(text)); err != nil {
		return study.Study{}, result.Refuse("", "%s: %v", path, err)
	}
	return study.FromFio(filepath.Base(path), string(text)), nil
}
