package experiment

import (
	"fmt"
	"slices"
	"strings"

	"whichfs/internal/result"
)

type key struct{ group, name string }

// Conflict refuses conditions that matter and are not those with which a run began; nil: there are none.
func Conflict(run, fresh []result.Condition) error {
	changed := conflict(run, fresh)
	if changed == "" {
		return nil
	}
	return result.Refuse("restore them and resume it, or begin a new run; figures under different conditions are not mixed",
		"this run began under other conditions: %s", changed)
}

// conflict names the first condition that matters and has changed since the
// run began; "" if none has.
func conflict(old, fresh []result.Condition) string {
	had := map[key]result.Condition{}
	for _, c := range old {
		had[key{c.Group, c.Name}] = c
	}
	for _, c := range fresh {
		if o, ok := had[key{c.Group, c.Name}]; ok && c.Matters && o.Value != c.Value {
			return fmt.Sprintf("%s %s was %q and is %q", c.Group, c.Name, o.Value, c.Value)
		}
	}
	return ""
}

// merge adds new conditions.
func merge(old, fresh []result.Condition) []result.Condition {
	had := map[key]bool{}
	for _, c := range old {
		had[key{c.Group, c.Name}] = true
	}
	for _, c := range fresh {
		if k := (key{c.Group, c.Name}); !had[k] {
			had[k] = true
			old = append(old, c)
		}
	}
	return old
}

// inGuest names those conditions of a level's guest that belong to it and not to the run's own:
// "memory [Linux 6.12]". They are those that the run has recorded under such names, or, if it has none
// yet, those in which the guest differs from the run's own.
func inGuest(level string, had, fresh []result.Condition) []result.Condition {
	values := map[key]string{}
	for _, c := range had {
		values[key{c.Group, c.Name}] = c.Value
	}
	recorded := slices.ContainsFunc(had, func(c result.Condition) bool { return strings.HasSuffix(c.Name, result.Named("", level)) })
	out := slices.Clone(fresh)
	for i, c := range out {
		own := result.Named(c.Name, level)
		_, there := values[key{c.Group, own}]
		if value, common := values[key{c.Group, c.Name}]; there || !recorded && (!common || value != c.Value) {
			out[i].Name = own
		}
	}
	return out
}

func newNotes(old, fresh []result.Note) []result.Note {
	had := map[result.Note]bool{}
	for _, n := range old {
		had[n] = true
	}
	var out []result.Note
	for _, n := range fresh {
		if !had[n] {
			had[n] = true
			out = append(out, n)
		}
	}
	return out
}

// mergeOptions keeps the latest statement on each option: the second mount, of the filled
// filesystem, knows more than the first.
func mergeOptions(old, fresh []result.Option) []result.Option {
next:
	for _, f := range fresh {
		for i := range old {
			if old[i].Text == f.Text {
				old[i] = f
				continue next
			}
		}
		old = append(old, f)
	}
	return old
}
