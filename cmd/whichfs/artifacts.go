package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// writeArtifacts writes the output of other programs during a run's trials, one file each, into a
// directory that it creates. It does not overwrite existing files.
func (a *shell) writeArtifacts(st *store.Store, trials []result.Trial, dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return result.Refuse("name another directory", "--artifacts: %v", err)
	}
	n := 0
	for _, t := range trials {
		all, err := st.Artifacts(t.ID)
		if err != nil {
			return err
		}
		for _, one := range all {
			path := filepath.Join(dir, artifactName(t, one))
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return result.Refuse("name an empty directory", "--artifacts: %v", err)
			}
			_, err = f.WriteString(one.Text)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return fmt.Errorf("--artifacts: %w", err)
			}
			n++
		}
	}
	if n == 0 {
		a.note("This run stored no output of other programs.")
		return nil
	}
	a.note(fmt.Sprintf("Wrote %d files into %s", n, dir))
	return nil
}

// artifactName is "03-ext4--o-noatime-randread-fio.json": round, candidate,
// phase and the artifact's own name, without characters that do not belong in
// file names.
func artifactName(t result.Trial, one result.Artifact) string {
	name := fmt.Sprintf("%02d-%s-%s-%s", t.Round, t.Named(), one.Phase, one.Name)
	if t.Attempt > 1 {
		name = fmt.Sprintf("%02d-%s-%s-attempt%d-%s", t.Round, t.Named(), one.Phase, t.Attempt, one.Name)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._-+=,:", r):
			return r
		}
		return '-'
	}, name)
}
