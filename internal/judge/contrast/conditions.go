package contrast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// fit refuses runs that did different work or have different kinds of figures,
// and names the differences. A prediction and its measurement are of different
// kinds by design; what else differs is named with the answer.
func fit(a, b verdict.Judged, prediction bool) error {
	x, y := a.Verdict.Run, b.Verdict.Run
	var names []string
	add := func(name, p, q string) {
		if p != q {
			names = append(names, fmt.Sprintf("%s (%s, %s)", name, p, q))
		}
	}
	add("study", x.Study, y.Study)
	add("scale", x.Scale, y.Scale)
	if !prediction {
		add("clock", x.ClockName(), y.ClockName())
		add("emulation", yes(x.Emulated), yes(y.Emulated))
	}
	if x.Study == y.Study && x.Scale == y.Scale && a.Scenarios != "" && b.Scenarios != "" && a.Scenarios != b.Scenarios {
		names = append(names, "the steps of the scenario")
	}
	for _, c := range x.Conditions {
		if o, there := find(y.Conditions, c); c.Group == "data" && there && !prediction {
			add("data set "+c.Name, c.Value, o.Value)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return result.Refuse("compare runs of one study, at one scale, with the same data and the same kind of clock",
		"runs %s and %s did not measure the same thing and cannot be compared: %s", x.ID, y.ID, strings.Join(names, "; "))
}

func find(list []result.Condition, like result.Condition) (result.Condition, bool) {
	i := slices.IndexFunc(list, func(c result.Condition) bool { return c.Group == like.Group && c.Name == like.Name })
	if i < 0 {
		return result.Condition{}, false
	}
	return list[i], true
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// differences lists what differs: the run's own fields first, then its
// conditions in their order. Of a prediction, they are those that matter and
// that it does not bridge.
func differences(a, b result.Run, prediction bool) []Difference {
	var out []Difference
	add := func(about, name, x, y string, matters bool) {
		if d := (Difference{About: about, Name: name, A: x, B: y, Matters: matters}); x != y && !(prediction && (!matters || foreseen(d))) {
			out = append(out, d)
		}
	}
	add("storage", "storage", a.Storage, b.Storage, true)
	add("machine", "kind of machine", a.Machine, b.Machine, true)
	add("whichfs", "version", a.Version, b.Version, true)
	for _, c := range a.Conditions {
		if told(c, prediction) {
			continue
		}
		o, there := find(b.Conditions, c)
		if !there && c.Group == "tools" {
			continue // of a candidate that the other run lacks
		}
		add(subject(c), c.Name, c.Value, o.Value, c.Matters || o.Matters)
	}
	for _, c := range b.Conditions {
		if _, there := find(a.Conditions, c); !there && !told(c, prediction) && c.Group != "tools" {
			add(subject(c), c.Name, "", c.Value, c.Matters)
		}
	}
	return out
}

// told are conditions that repeat what is already compared. What a guest was
// given is not compared with a prediction's measurement; what its kernel sees is.
func told(c result.Condition, prediction bool) bool {
	return !prediction && c.Group == "data" || prediction && c.Name == "guest memory" || c.Group == "storage" && c.Name == "storage" || c.Name == "clock" || c.Name == "emulated"
}

// subject names what a condition belongs to.
func subject(c result.Condition) string {
	switch {
	case c.Group == "machine" && strings.HasPrefix(c.Name, "kernel"):
		return "kernel"
	case c.Group == "machine" && c.Name == "charged processor":
		return "processor"
	case c.Group == "machine" && (c.Name == "memory" || c.Name == "guest memory"):
		return "memory"
	case c.Group == "machine" && c.Name == "processors":
		return "processors"
	case c.Group == "machine" && c.Name == "lab image":
		return labImage
	}
	return c.Group
}

// labImage contains a kernel and tools: where one of them differs, so does the
// image.
const labImage = "lab image"

// about names the things that differ and matter, each once.
func about(list []Difference) []string {
	out := []string{}
	for _, d := range list {
		if d.Matters && !slices.Contains(out, d.About) {
			out = append(out, d.About)
		}
	}
	if slices.Contains(out, "kernel") || slices.Contains(out, "tools") {
		out = slices.DeleteFunc(out, func(s string) bool { return s == labImage })
	}
	return out
}

// Differs are the conditions that matter and differ from run a to run b, each in a few words:
// "kernel 6.1 → 6.12".
func Differs(a, b result.Run) []string {
	var out []string
	list := differences(a, b, false)
	named := about(list)
	for _, d := range list {
		if d.Matters && slices.Contains(named, d.About) {
			name := d.Name
			if !strings.HasPrefix(name, d.About) {
				name = d.About + ": " + name
			}
			out = append(out, fmt.Sprintf("%s %s → %s", name, cmp.Or(d.A, "none"), cmp.Or(d.B, "none")))
		}
	}
	return out
}
