package agent

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/target/storage"
	"whichfs/internal/target/toolbox"
)

// givePrograms unpacks the programs that the user gave, each in a directory of its own, so that each
// keeps its own libraries, and puts them before the machine's.
func (a *Agent) givePrograms(ctx context.Context, archives []string) error {
	var path []string
	for i, from := range archives {
		if serial, ok := strings.CutPrefix(from, media.KindSerial+":"); ok {
			var err error
			if from, err = storage.BySerial(ctx, serial); err != nil {
				return err
			}
		}
		dir := filepath.Join(a.work, "programs-"+strconv.Itoa(i))
		if err := a.giveProgram(from, dir); err != nil {
			return err
		}
		path = append(path, filepath.Join(dir, toolbox.Bin))
	}
	if len(path) == 0 {
		return nil
	}
	a.path = os.Getenv("PATH")
	return os.Setenv("PATH", strings.Join(append(path, a.path), string(filepath.ListSeparator)))
}

// giveProgram unpacks an archive, and keeps what describes its programs: figures with others measure
// something else.
func (a *Agent) giveProgram(from, dir string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	programs, err := toolbox.Unpack(f, dir)
	if err != nil {
		return err
	}
	for _, p := range programs {
		content, err := os.ReadFile(filepath.Join(dir, p.File))
		if err != nil {
			return err
		}
		a.programs = append(a.programs, result.Condition{Group: "tools", Name: "program " + p.Name, Value: p.Describe(content), Matters: true})
	}
	return nil
}

// returnPrograms has the machine's programs back in their place.
func (a *Agent) returnPrograms() {
	if a.programs != nil {
		_ = os.Setenv("PATH", a.path) // it was valid before
	}
	a.programs, a.path = nil, ""
}
