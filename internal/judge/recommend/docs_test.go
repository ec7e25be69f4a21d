package recommend

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/testing/golden"
)

// The table in the manual agrees with the facts.
func TestFactsInDocuments(t *testing.T) {
	table := "| | power-loss-safe | compression | encryption | checksums | metadata-checksums | no-journal | dates until |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n"
	for _, name := range filesystem.Names() {
		table += factsRow(t, name)
	}
	golden.Part(t, "../../../docs/recommend.md", "facts", table)
}

// Likewise the table of abilities.
func TestAbilitiesInDocuments(t *testing.T) {
	heads, rows := filesystem.AbilityTable()
	table := "| " + strings.Join(heads, " | ") + " |\n" + strings.Repeat("| --- ", len(heads)) + "|\n"
	for _, row := range rows {
		for i := range row {
			row[i] = cmp.Or(row[i], "–")
		}
		table += "| " + strings.Join(row, " | ") + " |\n"
	}
	golden.Part(t, "../../../docs/recommend.md", "abilities", table)
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
