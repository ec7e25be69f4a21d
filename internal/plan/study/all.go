package study

import (
	"strings"

	"whichfs/internal/plan/scenario"
)

// All are the studies that whichfs can run, in the order of lists.
var All = []Study{
	Bootlin2023(),
	Bootlin2010(),
	DevbuildGist(),
	Pandora2012(),
	Elc2015(),
	Elc2015Reliability(),
	Elc2015Abilities(),
}

// ByName finds a study.
func ByName(name string) (Study, bool) {
	for _, s := range All {
		if s.Name == name {
			return s, true
		}
	}
	if name == FioName { // made from any job file
		return FromFio("", ""), true
	}
	return Study{}, false
}

// Names of all studies.
func Names() []string {
	names := make([]string, len(All))
	for i, s := range All {
		names[i] = s.Name
	}
	return names
}

// Column finds a column by its key.
func (s Study) Column(key string) (Column, bool) {
	for _, c := range s.Columns {
		if c.Key == key {
			return c, true
		}
	}
	return Column{}, false
}

// Storage finds the storage of the study that a spec represents at a scale, or
// that has this key.
func (s Study) Storage(scale, spec string) (Storage, bool) {
	for _, one := range s.Storages {
		if one.Key == spec || one.Specs[scale] == spec {
			return one, true
		}
	}
	return Storage{}, false
}

// In reports whether a series at a scale includes the storage.
func (s Storage) In(scale string) bool { return s.At == "" || scale == s.At || scale == "full" }

// Fit returns a scale, adapted to a storage.
func (s Study) Fit(scale string, on Storage) Scale {
	fitted := s.Scales[scale]
	fitted.On = on.Key
	if list := on.Candidates[scale]; len(list) > 0 {
		fitted.Candidates = list
	}
	if n := on.Rounds[scale]; n > 0 {
		fitted.Rounds = n
	}
	if n := on.Memory[scale]; n > 0 {
		fitted.Memory = n
	}
	if amount := on.Amount[scale]; amount != nil {
		fitted.Amount = amount
	}
	return fitted
}

// FitTo returns a scale, adapted to storage in the user's notation: like the
// study's own storage of that name or key, or else like its first one of the
// same kind, raw flash or block device.
func (s Study) FitTo(scale, storage string) Scale { return s.Fit(scale, s.Near(scale, storage)) }

// Near returns the study's own storage that FitTo takes; none if the study has
// none of that kind.
func (s Study) Near(scale, storage string) Storage {
	if on, ok := s.Storage(scale, storage); ok {
		return on
	}
	for _, on := range s.Storages {
		if RawFlash(on.Specs[scale]) == RawFlash(storage) {
			on.Amount = nil // exactly this storage
			return on
		}
	}
	return Storage{}
}

// RawFlash reports whether storage, in the user's notation, is a chip without a
// controller.
func RawFlash(storage string) bool {
	return strings.HasPrefix(storage, "nand:") || strings.HasPrefix(storage, "mtd:")
}

// Vary returns the factors of the study on storage, if any.
func (s Study) Vary(scale Scale, on Storage) []scenario.Factor {
	if s.Factors == nil {
		return nil
	}
	return s.Factors(scale, on)
}
