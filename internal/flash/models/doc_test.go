package models

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of keys in docs/models.md anew")

const (
	page      = "../../../docs/models.md"
	tableFrom = "<!-- keys: written by go test ./internal/flash/models -update -->\n"
	tableTo   = "<!-- end of keys -->"
)

// The manual's table of keys is that of the parser.
func TestManual(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), tableFrom)
	_, after, closed := strings.Cut(rest, tableTo)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table of keys", page)
	}
	want := before + tableFrom + manual() + tableTo + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(content) {
		t.Errorf("the table of keys in %s is not that of the parser; go test ./internal/flash/models -update writes it", page)
	}
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
