package app

import (
	"errors"
	"strings"

	"whichfs/internal/judge/contrast"
	"whichfs/internal/judge/verdict"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// Compare compares two runs of the store.
func (a *App) Compare(before, after string) (contrast.Contrast, error) {
	list, err := a.CompareRuns([]string{before, after})
	if err != nil {
		return contrast.Contrast{}, err
	}
	return list[0], nil
}

// CompareRuns compares the first of two or more runs of the store with each of the others.
func (a *App) CompareRuns(names []string) (list []contrast.Contrast, err error) {
	st, err := a.ReadStore()
	if err != nil {
		return nil, err
	}
	defer st.Close() //nolint:errcheck // read only
	var first verdict.Judged
	for i, name := range names {
		run, err := st.Run(name)
		if err != nil {
			return nil, err
		}
		one, err := a.judge(st, run)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = one
			continue
		}
		c, err := contrast.Compare(first, one)
		if err != nil {
			return nil, err
		}
		if c.Prediction != nil && len(names) > 2 {
			return nil, result.Refuse("compare two at a time", "of runs %s and %s, one predicts what the other measured", names[0], name)
		}
		list = append(list, c)
	}
	return list, nil
}

// CompareCards compares two or more probes: of the store, of files, or published ones.
func (a *App) CompareCards(names []string) (contrast.Cards, error) {
	var list []contrast.Card
	for _, name := range names {
		one, err := a.findCard(name)
		if err != nil {
			return contrast.Cards{}, err
		}
		list = append(list, one)
	}
	return contrast.CompareCards(list)
}

func (a *App) findCard(name string) (contrast.Card, error) {
	if r, s, ok := study.CardByName(name); ok {
		return contrast.Card{Source: s.Source, Probe: r}, nil
	}
	if published(name) {
		return contrast.Card{}, result.Refuse("", "no study describes a card %s; there are %s", name, strings.Join(study.CardNames(), ", "))
	}
	id, r, err := a.FindProbe(name)
	return contrast.Card{ID: id, Probe: r}, err
}

// published reports whether a name has the form of a published card's: STUDY/KEY.
func published(name string) bool {
	of, _, ok := strings.Cut(name, "/")
	_, known := study.ByName(of)
	return ok && known
}

// AreCards reports whether names are those of probes, and not of runs. A name that fits both, like
// last, is what the others are; names that all fit both are runs.
func (a *App) AreCards(names []string) (bool, error) {
	var runs, probes []string
	var st *store.Store
	defer func() {
		if st != nil {
			_ = st.Close() // read only
		}
	}()
	for _, name := range names {
		if published(name) || isProbeFile(name) || isStorage(name) {
			probes = append(probes, name)
			continue
		}
		if st == nil {
			var err error
			if st, err = a.ReadStore(); err != nil {
				return false, err
			}
		}
		_, noRun := st.Run(name)
		_, _, noProbe := st.Probe(name)
		switch {
		case noRun == nil && errors.Is(noProbe, store.ErrNoProbe):
			runs = append(runs, name)
		case noProbe == nil && errors.Is(noRun, store.ErrNoRun):
			probes = append(probes, name)
		}
	}
	switch {
	case len(runs) > 0 && len(probes) > 0:
		return false, result.Refuse("compare runs with runs, and probes with probes; whichfs runs and whichfs probes list them", "%s is a run, and %s is a probe", runs[0], probes[0])
	case len(probes) == 0 && len(names) > 2:
		return false, result.Refuse("name two runs, or any number of probes", "runs are compared two at a time")
	}
	return len(probes) > 0, nil
}

// isProbeFile reports whether a name is that of a file that a probe was written to.
func isProbeFile(name string) bool { return strings.HasSuffix(name, ".json") }

// isStorage reports whether a name is that of storage, whose newest probe is meant.
func isStorage(name string) bool { return strings.HasPrefix(name, "/") || strings.Contains(name, ":") }
