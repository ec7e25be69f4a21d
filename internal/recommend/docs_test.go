package recommend

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
)

var update = flag.Bool("update", false, "write the table of facts into the manual")

// The table of facts in the manual is what facts say.
func TestFactsInDocuments(t *testing.T) {
	const manual = "../../docs/recommend.md"
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	heads := "| | power-loss-safe | compression | encryption | checksums | metadata-checksums | no-journal | dates until |\n"
	before, rest, ok := strings.Cut(string(text), heads)
	if !ok {
		t.Fatalf("the manual has no table %q", heads)
	}
	table := heads + "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
	for _, name := range filesystem.Names() {
		table += factsRow(t, name)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + table + "\n" + after
	if *update {
		if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("the manual's table is not (go test ./internal/recommend -update writes it)\n%s", table)
	}
}

func factsRow(t *testing.T, name string) string {
	t.Helper()
	c, err := filesystem.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	row := "| " + name + " |"
	for _, need := range []string{"power-loss-safe", "compression", "encryption", "checksums", "metadata-checksums", "no-journal"} {
		f, ok := factByName(need)
		if !ok {
			t.Fatalf("no need %q", need)
		}
		p := f.of(c)
		switch {
		case p.Has:
			row += " yes |"
		case p.With != "":
			row += " possible |"
		default:
			row += " no |"
		}
	}
	return row + " " + strconv.FormatInt(c.Properties().Dates.Until, 10) + " |\n"
}
