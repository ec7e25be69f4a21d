package models

import (
	"sort"
	"strings"

	"whichfs/internal/flash"
)

// Write formats the model as a model file, which Parse reads back exactly.
// Parts that the device lacks are omitted.
func Write(m flash.Model) string {
	var b strings.Builder
	table := ""
	for _, k := range Keys {
		value := k.literal(m)
		if value == "" {
			continue
		}
		in, name, ok := strings.Cut(k.Name, ".")
		if !ok {
			in, name = "", k.Name
		}
		if in != table {
			// The first table ends the top-level keys.
			if table == "" {
				writeFit(&b, m)
			}
			b.WriteString("\n[" + in + "]\n")
			table = in
		}
		b.WriteString(name + " = " + value + "\n")
	}
	if table == "" {
		writeFit(&b, m)
	}
	writeSources(&b, m)
	return b.String()
}

func writeFit(b *strings.Builder, m flash.Model) {
	if m.Fit != "" {
		b.WriteString(fitKey + " = " + quote(m.Fit) + "\n")
	}
}

func writeSources(b *strings.Builder, m flash.Model) {
	if len(m.Sources) == 0 {
		return
	}
	b.WriteString("\n[" + sourcesTable + "]\n")
	var rest []string
	for name := range m.Sources {
		if _, known := keyNamed(name); !known {
			rest = append(rest, name)
		}
	}
	sort.Strings(rest)
	names := make([]string, 0, len(m.Sources))
	for _, k := range Keys {
		if _, there := m.Sources[k.Name]; there {
			names = append(names, k.Name)
		}
	}
	for _, name := range append(names, rest...) {
		b.WriteString(quote(name) + " = " + quote(m.Sources[name]) + "\n")
	}
}
