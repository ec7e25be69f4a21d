package twin

import (
	"strings"
	"time"

	"whichfs/internal/flash/models"
	"whichfs/internal/probe"
	"whichfs/internal/sys/units"
)

// reason is why a finding has no value.
func reason(g probe.Finding) string {
	switch {
	case g.Undetermined != "":
		return g.Undetermined
	case g.Key == "":
		return "not measured"
	}
	return "it found " + Value(g)
}

// Value formats a finding for people.
func Value(g probe.Finding) string {
	switch {
	case !g.Known():
		return "undetermined"
	case g.Unit == "":
		return g.Text
	case g.Unit == "B" && g.Value == 0:
		return "none"
	}
	text := units.Value(g.Value, g.Unit)
	if per, ok := strings.CutPrefix(g.Unit, "1/"); ok {
		text = units.Value(g.Value, "1") + "/" + per
	}
	if g.Text != "" {
		text = g.Text + ", " + text
	}
	return text
}

func nameOfFinding(g probe.Finding) string {
	if g.Name != "" {
		return g.Name
	}
	return g.Key
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

// nameOf derives the name of a model from an identity.
func nameOf(identity, storage string) string {
	text := identity
	if text == "" {
		text = storage
	}
	var b strings.Builder
	b.WriteString("twin")
	gap := true
	for _, c := range strings.ToLower(text) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			if gap {
				b.WriteByte('-')
			}
			b.WriteRune(c)
			gap = false
		} else {
			gap = true
		}
		if b.Len() >= 48 {
			break
		}
	}
	return b.String()
}

// clean makes a text that a model file can hold: a report comes from a file or
// a device and may contain anything.
func clean(text string) string { return models.Clean(text) }
