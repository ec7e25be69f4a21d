package main

import (
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/verdict"
)

// daily is the daily volume that years of life are counted at, in bytes.
func (o outputs) daily() (float64, error) {
	if o.Daily == "" {
		return verdict.DefaultDaily, nil
	}
	size, err := media.ParseSize(o.Daily)
	if err != nil {
		return 0, result.Refuse("for instance --daily 10G", "--daily: %v", err)
	}
	return float64(size), nil
}

// unconditioned notes which candidates do not begin on storage of a steady
// speed although that was asked for.
func unconditioned(candidates []string) []result.Note {
	var names []string
	for _, name := range candidates {
		if c, err := filesystem.Parse(name); err == nil && c.Imaged() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []result.Note{{Level: result.Warning,
		Text: "read-only filesystems are not written to, so the storage was not preconditioned for " + strings.Join(names, ", ")}}
}
