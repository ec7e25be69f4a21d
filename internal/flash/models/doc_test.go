package models

import (
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/testing/golden"
)

// The manual's table of keys must match the parser.
func TestManual(t *testing.T) {
	golden.Part(t, "../../../docs/models.md", "keys", manual())
}

// manual is the notation of each kind and the table of keys.
func manual() string {
	var b strings.Builder
	b.WriteString("\n| a value that is | is written as |\n| --- | --- |\n")
	for _, kind := range []string{Text, Size, Rate, Duration, Count, Number, Bool} {
		fmt.Fprintf(&b, "| %s | %s |\n", kind, notation[kind])
	}
	b.WriteString("\n| key | value | what it is |\n| --- | --- | --- |\n")
	for _, k := range Keys {
		value := k.Kind
		if k.Choices != nil {
			value = "`" + strings.Join(k.Choices, "`, `") + "`"
		}
		if unit := unitOf[k.Kind]; unit != "" {
			value += ", " + unit
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, value, k.Meaning)
	}
	b.WriteString("\n")
	return b.String()
}

// unitOf is the base unit of a kind of value.
var unitOf = map[string]string{Size: "bytes", Rate: "bytes per second", Duration: "seconds"}
