package study

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The manual's tables of scales say what the studies do.
func TestManualHasTheScales(t *testing.T) {
	text, err := os.ReadFile("../../../docs/studies.md")
	if err != nil {
		t.Fatal(err)
	}
	says := func(format string, figures ...any) {
		t.Helper()
		if want := fmt.Sprintf(format, figures...); !strings.Contains(string(text), want) {
			t.Errorf("docs/studies.md does not say %q", want)
		}
	}
	mib := func(n int64) int64 { return n >> 20 }

	speed := Elc2015().Scales
	quick, claims := speed["quick"].e15(), speed["claims"].e15()
	says("| mount, empty | %.0f %% full | %.0f %% full |", 100*quick.full, 100*claims.full)
	says("quick runs stop at %.0f %%", 100*quick.full)
	if full := speed["full"].e15(); full.full != claims.full {
		t.Errorf("--full fills %v and --claims all %v", full.full, claims.full)
	}

	faults := Elc2015Reliability().Scales
	few, most := faults["quick"].Amount.(e15Damage), faults["full"].Amount.(e15Damage)
	says("| %d cuts each | %d, as published |", few.cuts, most.cuts)
	says("| %d resets each | %d |", few.resets, most.resets)
	says("| %d times each, as published; %d MiB, %d files | %d times, %d MiB, %d files, as published |",
		few.corruptions, mib(few.volume), few.files, most.corruptions, mib(most.volume), most.files)
	says("%d times each, those of zeros written first %d times | 24 cells, %d and %d times", few.cells, 2*few.cells, most.cells, 2*most.cells)
	says("8 bits flip at rest | %d times each | %d times |", few.rots, most.rots)
	says("| %d states | %d,000 |", few.states, most.states/1000)
	says("| %d states | 2,%d |", few.states/8, most.states/8-2000)

	says("512 MB | %d MiB with `--claims all`", mib(Bootlin2023().Scales["claims"].Memory))
	says("| `pandora-2012` | Pandora, 512 MB | %d MiB", mib(Pandora2012().Scales["full"].Memory))
	says("| `elc-2015` | BeagleBone Black, 512 MB | %d MiB |", mib(speed["full"].Memory))
	says("| `devbuild-gist` | a laptop, memory not published | %d GiB with `--full`", DevbuildGist().Scales["full"].Memory>>30)
	for _, on := range Bootlin2010().Storages {
		if on.Key == b10MMC {
			says("BeagleBoard, 256 MB | %d MiB with `--claims all`", mib(on.Memory["claims"]))
		}
	}
}
