package finding

// Tally counts the outcomes of the states of one script. What was not judged
// counts in none of its numbers.
type Tally struct {
	Script string `json:"script"`
	// Of the log.
	Entries int `json:"entries"`
	Writes  int `json:"writes"`
	Flushes int `json:"flushes"`
	// Possible states as a logarithm to base 2: of all subsets at all points,
	// without torn ones.
	Possible float64 `json:"possible"`
	// All: every state without torn writes was judged; otherwise they were drawn.
	All      bool  `json:"all"`
	States   int64 `json:"states"`  // judged, all different
	Equal    int64 `json:"equal"`   // further ones with the same contents
	Checked  int64 `json:"checked"` // of States, by the filesystem's own tool
	Promises int64 `json:"promises"`
	Broken   int64 `json:"broken"`
	// Outcomes by key.
	Outcomes map[string]int64 `json:"outcomes"`
	Dirty    int64            `json:"dirty"` // of Checked: the tool complained
	// Seconds by stage: "make" (the state), "mount", "judge", "unmount", "check".
	Seconds map[string]float64 `json:"seconds"`
	// Stopped says why not all was judged that was asked for; empty: it was.
	Stopped string `json:"stopped,omitempty"`
}

// Add adds another part of the same script's exploration.
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
