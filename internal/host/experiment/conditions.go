package experiment

import (
	"fmt"

	"whichfs/internal/result"
)

type key struct{ group, name string }

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
