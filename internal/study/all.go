package study

// All are the studies that whichfs can run, in the order lists show them.
var All = []Study{
	Bootlin2023(),
}

// ByName finds a study.
func ByName(name string) (Study, bool) {
	for _, s := range All {
		if s.Name == name {
			return s, true
		}
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
