package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/judge/tune"
	"whichfs/internal/plan/media"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/target/storage"
)

// ProbeOf finds the newest probe of storage as a user writes it, with its name.
// A partition that was not probed itself gets its disk's probe; a simulated
// card of another size gets its model's. It returns ErrNoProbe if there is
// none.
func ProbeOf(st *store.Store, text string) (string, probe.Report, error) {
	spec, err := media.Parse(text)
	if err != nil {
		return "", probe.Report{}, result.Refuse("", "%v", err)
	}
	none := &store.Error{Kind: store.ErrNoProbe, Failure: result.Refuse("whichfs probe "+text+" makes one", "no such probe of %s", text)}
	if spec.Kind == media.KindDevice {
		id, r, err := probeOfDevice(st, spec.Path)
		if errors.Is(err, store.ErrNoProbe) {
			err = none
		}
		return id, r, err
	}
	list, err := st.Probes()
	if err != nil {
		return "", probe.Report{}, err
	}
	same := func(exact bool) func(store.ProbeSummary) bool {
		return func(p store.ProbeSummary) bool {
			if exact {
				return p.Storage == text
			}
			s, err := media.Parse(p.Storage)
			return err == nil && spec.Kind == media.KindSim && s.Kind == spec.Kind && s.Path == spec.Path
		}
	}
	i := slices.IndexFunc(list, same(true)) // newest first
	if i < 0 {
		i = slices.IndexFunc(list, same(false))
	}
	if i < 0 {
		return "", probe.Report{}, none
	}
	return st.Probe(list[i].ID)
}

func probeOfDevice(st *store.Store, path string) (string, probe.Report, error) {
	d, _, err := storage.Layout(path, storage.System)
	if err != nil {
		return "", probe.Report{}, err
	}
	id, r, err := st.LatestProbe(d.IDs()[0], "")
	if !errors.Is(err, store.ErrNoProbe) || d.Partition == 0 {
		return id, r, err
	}
	disk, _, derr := storage.Layout(filepath.Join(filepath.Dir(d.Path), d.Disk), storage.System)
	if derr != nil {
		return "", probe.Report{}, err
	}
	return st.LatestProbe(disk.IDs()[0], "")
}

// readProbe reads a probe written with --json.
func readProbe(path string) (probe.Report, error) {
	var r probe.Report
	content, err := os.ReadFile(path)
	if err != nil {
		return r, result.Refuse("", "%v", err)
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, result.Refuse("whichfs probe STORAGE --json FILE writes one", "%s is not a probe: %v", path, err)
	}
	if r.Format != probe.Format || r.Size <= 0 {
		return r, result.Refuse("whichfs probe STORAGE --json FILE writes one", "%s is a probe in a format that this version does not support: %d", path, r.Format)
	}
	return r, nil
}

// addTuned adds the tuned variant after every candidate that can be tuned to the storage, and says
// which probe it is based on.
func addTuned(candidates []filesystem.Candidate, st *store.Store, storageText string, size int64) ([]filesystem.Candidate, result.Condition, error) {
	id, r, err := ProbeOf(st, storageText)
	if errors.Is(err, store.ErrNoProbe) {
		return nil, result.Condition{}, result.Refuse("whichfs probe "+storageText, "--tuned needs a probe of the storage: %v", err)
	}
	if err != nil {
		return nil, result.Condition{}, err
	}
	g := tune.Geometry(r)
	if size > 0 {
		g.Size = size
	}
	var out []filesystem.Candidate
	for _, c := range candidates {
		out = append(out, c)
		words := c.Filesystem().Tuned(g).Words
		if len(words) == 0 || slices.Contains(c.Make(), words[len(words)-1]) {
			continue
		}
		tuned, err := c.With(words, nil)
		if err != nil {
			return nil, result.Condition{}, err
		}
		out = append(out, tuned)
	}
	if len(out) == len(candidates) {
		return nil, result.Condition{}, result.Refuse("whichfs tune "+storageText+" shows the reason for each filesystem", "--tuned: no option follows from probe %s for any of these candidates", id)
	}
	return distinct(out), result.Condition{Group: "run", Name: "tuned to", Value: fmt.Sprintf("probe %s: %s", id, geometryText(g))}, nil
}

func geometryText(g filesystem.Geometry) string {
	part := func(name string, n int64) string {
		if n == 0 {
			return name + " unknown"
		}
		return name + " " + media.FormatSize(n)
	}
	return part("page", g.Page) + ", " + part("segment", g.Segment)
}

// FindProbe finds a probe by its name, by the probed storage, or in a .json file that a probe was
// written to; id is empty for a file.
func (a *App) FindProbe(subject string) (id string, r probe.Report, err error) {
	if isProbeFile(subject) {
		r, err := readProbe(subject)
		return "", r, err
	}
	path, err := a.StorePath()
	if err != nil {
		return "", probe.Report{}, err
	}
	st, err := store.OpenReadOnly(path)
	if errors.Is(err, store.ErrMissing) {
		return "", probe.Report{}, result.Refuse("whichfs probe STORAGE", "there are no probes yet")
	}
	if err != nil {
		return "", probe.Report{}, err
	}
	defer st.Close() //nolint:errcheck // read only
	if isStorage(subject) {
		return ProbeOf(st, subject)
	}
	return st.Probe(subject)
}

// Tune says which options follow from a probe.
func (a *App) Tune(subject string) (tune.Advice, error) {
	id, r, err := a.FindProbe(subject)
	if err != nil {
		return tune.Advice{}, err
	}
	advice := tune.Advise(r, places(r, subject))
	advice.Probe = id
	return advice, nil
}

// places are the current partitions, if the probed device is attached here.
func places(r probe.Report, subject string) []media.Place {
	path := r.Storage
	if strings.HasPrefix(subject, "/") {
		path = subject
	}
	if !strings.HasPrefix(path, "/") {
		return nil
	}
	d, places, err := storage.Layout(path, storage.System)
	if err != nil || r.Identity != "" && !d.Is(r.Identity) && d.Partition == 0 {
		return nil // detached, or another device has its name now
	}
	return places
}
