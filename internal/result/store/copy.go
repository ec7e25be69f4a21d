package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"whichfs/internal/result"
)

// Whole is a run with everything that belongs to it.
type Whole struct {
	Run     result.Run
	Plan    string // Run leaves it out of JSON
	Planned int
	Support []result.Support
	Trials  []result.Trial
	Remarks []Remark
}

// Whole reads a run. id is exact.
func (s *Store) Whole(id string) (w Whole, err error) {
	if w.Run, err = s.Run(id); err != nil {
		return w, err
	}
	w.Plan = string(w.Run.Plan)
	if w.Support, err = s.Support(id); err != nil {
		return w, err
	}
	if w.Trials, err = s.Trials(id); err != nil {
		return w, err
	}
	if w.Remarks, err = s.Remarks(id); err != nil {
		return w, err
	}
	for i, t := range w.Trials {
		if w.Trials[i].Artifacts, err = s.Artifacts(t.ID); err != nil {
			return w, err
		}
	}
	err = s.read("reading run "+id, func(c *conn) error {
		return c.queryRow("SELECT planned FROM run WHERE id = ?", id).Scan(&w.Planned)
	})
	return w, err
}

// digest is that of all content, in an order that all stores have.
func (w Whole) digest() (string, error) {
	w.Trials = slices.Clone(w.Trials)
	for i := range w.Trials {
		t := &w.Trials[i]
		t.ID = 0
		t.Measurements = slices.SortedFunc(slices.Values(t.Measurements), func(a, b result.Measurement) int {
			return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Metric, b.Metric))
		})
	}
	return digestOf(w)
}

func digestOf(v any) (string, error) {
	text, err := json.Marshal(v)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// Copied is what became of a run or a probe.
type Copied struct {
	ID     string
	Digest string // of a run's figures
	Was    bool   // there already
	Err    error
}

// Copy copies the runs and the probes of a store, oldest first, that another
// store lacks, reads each again from there and compares it by its digest. What
// is there already must be the same; a run that is being carried out is left
// out. each gets what became of them.
func Copy(from, to *Store, each func(Copied)) error {
	runs, err := from.Runs()
	if err != nil {
		return err
	}
	probes, err := from.Probes()
	if err != nil {
		return err
	}
	slices.Reverse(runs)
	for _, r := range runs {
		each(copyRun(from, to, r.Run.ID))
	}
	slices.Reverse(probes)
	for _, p := range probes {
		each(copyProbe(from, to, p.ID))
	}
	return nil
}

func copyRun(from, to *Store, id string) (c Copied) {
	c.ID = id
	if from.Held(id) {
		c.Err = result.Refuse("copy again when it has ended", "run %s is being carried out", id)
		return c
	}
	w, err := from.Whole(id)
	if err != nil {
		c.Err = err
		return c
	}
	c.Digest = result.Digest(w.Trials)
	want, err := w.digest()
	if err != nil {
		c.Err = err
		return c
	}
	there, err := to.Whole(id)
	switch {
	case err == nil:
		c.Was = true
	case errors.Is(err, ErrNoRun):
		if c.Err = to.importWhole(w); c.Err != nil {
			return c
		}
		if there, c.Err = to.Whole(id); c.Err != nil {
			return c
		}
	default:
		c.Err = err
		return c
	}
	c.Err = same("run", "whichfs runs --delete "+id, id, want, there.digest, to, c.Was)
	return c
}

func copyProbe(from, to *Store, id string) (c Copied) {
	c.ID = id
	_, r, err := from.Probe(id)
	if err != nil {
		c.Err = err
		return c
	}
	want, err := digestOf(r)
	if err != nil {
		c.Err = err
		return c
	}
	exact, there, err := to.Probe(id)
	if err == nil && exact == id {
		c.Was = true
	} else if err == nil || errors.Is(err, ErrNoProbe) {
		if c.Err = to.SaveProbe(id, r); c.Err != nil {
			return c
		}
		_, there, err = to.Probe(id)
	}
	if err != nil {
		c.Err = err
		return c
	}
	c.Err = same("probe", "whichfs probes --delete "+id, id, want, func() (string, error) { return digestOf(there) }, to, c.Was)
	return c
}

// same refuses content with another digest.
func same(what, remove, id, want string, digest func() (string, error), to *Store, was bool) error {
	got, err := digest()
	switch {
	case err != nil || got == want:
		return err
	case was:
		return result.Refuse(remove+" --store "+to.path+" removes the other one", "%s %s is in %s with other content", what, id, to.path)
	}
	return result.Fail(result.LabFailed, "", "%s %s was read from %s with other content than was written", what, id, to.path)
}

// importWhole stores a run with its trials in one transaction. Those without an outcome are stored as
// started.
func (s *Store) importWhole(w Whole) error {
	return s.write("importing run "+w.Run.ID, func(t *tx) error {
		number, err := t.createRun(w.Run, w.Planned)
		if err != nil {
			return err
		}
		if err := t.support(number, w.Support); err != nil {
			return err
		}
		for _, one := range w.Remarks {
			if err := t.remark(number, one); err != nil {
				return err
			}
		}
		for _, trial := range w.Trials {
			if trial.Outcome == "" {
				_, err = t.insertTrial(number, trial)
			} else {
				err = t.addTrial(number, trial)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Import stores a whole run with its trials in one transaction. The trials'
// numbers are ignored; those without an outcome are stored as started.
func (s *Store) Import(r result.Run, planned int, trials []result.Trial) error {
	return s.importWhole(Whole{Run: r, Planned: planned, Trials: trials})
}
