package finding

// Tally counts the outcomes of the states of one script. States that were not
// judged are not counted.
type Tally struct {
	Script string `json:"script"`
	// Of the log.
	Entries int `json:"entries"`
	Writes  int `json:"writes"`
	Flushes int `json:"flushes"`
	// Possible is the number of possible states as a logarithm to base 2: all
	// subsets at all points, without torn writes.
	Possible float64 `json:"possible"`
	// All: every state without torn writes was judged; otherwise states were drawn.
	All      bool  `json:"all"`
	States   int64 `json:"states"`  // judged, all distinct
	Equal    int64 `json:"equal"`   // further states with the same contents
	Checked  int64 `json:"checked"` // of States, by the filesystem's own tool
	Promises int64 `json:"promises"`
	Broken   int64 `json:"broken"`
	// Outcomes by key.
	Outcomes map[string]int64 `json:"outcomes"`
	Dirty    int64            `json:"dirty"` // of Checked: the tool found errors
	// Seconds by stage: "make" (the state), "mount", "judge", "unmount", "check".
	Seconds map[string]float64 `json:"seconds"`
	// Stopped says why fewer states were judged than requested; empty if all were.
	Stopped string `json:"stopped,omitempty"`
}

// Add adds another part of the exploration of the same script.
func (t *Tally) Add(o Tally) {
	t.States, t.Equal, t.Checked = t.States+o.States, t.Equal+o.Equal, t.Checked+o.Checked
	t.Promises, t.Broken, t.Dirty = t.Promises+o.Promises, t.Broken+o.Broken, t.Dirty+o.Dirty
	if t.Outcomes == nil {
		t.Outcomes = map[string]int64{}
	}
	for k, n := range o.Outcomes {
		t.Outcomes[k] += n
	}
	if t.Seconds == nil {
		t.Seconds = map[string]float64{}
	}
	for k, s := range o.Seconds {
		t.Seconds[k] += s
	}
}
