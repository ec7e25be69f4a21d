package study

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// The tables as on the page, in its order: a card, then its rows.
const p12Page = `
SDXC 64GB
relatime | 2649.4 kB/s | 4679.0 kB/s | 14172.8 kB/s | 15109.8 kB/s | 10587.0 kB/s
noatime | 2639.6 kB/s | 4686.0 kB/s | 14194.0 kB/s | 15230.6 kB/s | 10385.6 kB/s
noatime,dirsync | 2629.6 kB/s | 4639.8 kB/s | 14744.2 kB/s | 15111.6 kB/s | 10684.2 kB/s
SDHC 16GB
relatime | 5436.4 kB/s | 7153.4 kB/s | 13011.0 kB/s | 13330.8 kB/s | 9639.2 kB/s
microSDHC 16GB
relatime | 4673.6 kB/s | 6295.8 kB/s | 11063.2 kB/s | 11037.8 kB/s | 10038.2 kB/s
SDXC 64GB
relatime | 5397.4 kB/s | 4521.2 kB/s | 5699.4 kB/s | 5788.4 kB/s | 5978.6 kB/s
noatime | 5491.8 kB/s | 4547.4 kB/s | 5712.6 kB/s | 5836.6 kB/s | 6016.4 kB/s
noatime,dirsync | 5365.2 kB/s | 4628.8 kB/s | 5821.2 kB/s | 5762.2 kB/s | 5933.4 kB/s
SDHC 16GB
relatime | 5442.6 kB/s | 4905.8 kB/s | 5823.4 kB/s | 5817.0 kB/s | 5941.0 kB/s
microSDHC 16GB
relatime | 5959.6 kB/s | 4953.6 kB/s | 6527.8 kB/s | 7062.2 kB/s | 6682.4 kB/s
SDXC 64GB
relatime | 17027.8 kB/s | 15897.0 kB/s | 16416.6 kB/s | 16154.0 kB/s | 16139.2 kB/s
noatime | 16581.8 kB/s | 16292.2 kB/s | 16538.8 kB/s | 16629.2 kB/s | 16605.6 kB/s
noatime,dirsync | 15593.6 kB/s | 16127.0 kB/s | 17005.8 kB/s | 16178.4 kB/s | 16315.4 kB/s
SDHC 16GB
relatime | 16611.4 kB/s | 17197.6 kB/s | 17026.8 kB/s | 17078.0 kB/s | 17056.6 kB/s
microSDHC 16GB
relatime | 22154.8 kB/s | 22066.8 kB/s | 22126.0 kB/s | 22202.6 kB/s | 21552.6 kB/s
SDXC 64GB
relatime | 26.2 /s | 29.4 /s | 32.9 /s | 30.6 /s | 53.6 /s
noatime | 27.4 /s | 27.6 /s | 33.0 /s | 28.6 /s | 52.0 /s
noatime,dirsync | 31.4 /s | 28.4 /s | 34.1 /s | 30.2 /s | 52.7 /s
SDHC 16GB
relatime | 81.6 /s | 59.6 /s | 77.3 /s | 78.8 /s | 75.2 /s
microSDHC 16GB
relatime | 766.48 /s | 729.56 /s | 832.84 /s | 719.16 /s | 789.48 /s
SDXC 64GB
relatime | 2853.4 /s | 1614.6 /s | 4083.2 /s | 7894.0 /s | 198.0 /s
noatime | 2890.4 /s | 1701.0 /s | 4472.2 /s | 7663.4 /s | 197.8 /s
noatime,dirsync | 104.2 /s | 79.8 /s | 95.0 /s | 216.6 /s | 44.0 /s
SDHC 16GB
relatime | 5055.4 /s | 3208.0 /s | 4473.8 /s | 6338.8 /s | 198.2 /s
microSDHC 16GB
relatime | 1979.4 /s | 1556.4 /s | 6348.0 /s | 9279.4 /s | 225.6 /s
SDXC 64GB
relatime | 71516.6 /s | 66576.8 /s | 65799.4 /s | 64006.0 /s | 8355.2 /s
noatime | 71251.4 /s | 68306.6 /s | 65347.2 /s | 67446.8 /s | 8441.6 /s
noatime,dirsync | about 20000 /s | about 20000 /s | about 20000 /s | about 20000 /s | about 20000 /s
SDHC 16GB
relatime | 59406.0 /s | 51775.2 /s | 53742.8 /s | 52875.2 /s | 8337.8 /s
microSDHC 16GB
relatime | 84802.4 /s | 73877.0 /s | 70762.6 /s | 71115.2 /s | 9245.8 /s
SDXC 64GB
relatime | 5985.0 /s | 2318.2 /s | 7511.4 /s | 14200.2 /s | 2592.2 /s
noatime | 5712.6 /s | 2044.4 /s | 7376.4 /s | 15018.4 /s | 2603.8 /s
noatime,dirsync | 114.0 /s | 79.2 /s | 90.4 /s | 235.2 /s | 100.4 /s
SDHC 16GB
relatime | 8506.0 /s | 4692.8 /s | 6740.8 /s | 8827.6 /s | 2595.4 /s
microSDHC 16GB
relatime | 1510.8 /s | 1271.8 /s | 7751.4 /s | 15395.2 /s | 3184.8 /s
SDXC 64GB
relatime | 2962.0 /s | 1740.0 /s | 5194.2 /s | 9258.0 /s | 336.2 /s
noatime | 2975.0 /s | 1541.6 /s | 5687.8 /s | 9577.0 /s | 336.2 /s
noatime,dirsync | 111.6 /s | 91.0 /s | 97.6 /s | 213.0 /s | 44.6 /s
SDHC 16GB
relatime | 5264.4 /s | 3585.4 /s | 4517.8 /s | 6498.0 /s | 336.2 /s
microSDHC 16GB
relatime | 1400.0 /s | 1171.0 /s | 6277.8 /s | 10390.8 /s | 451.8 /s
SDXC 64GB
relatime | 82907.0 /s | 89072.0 /s | 86054.2 /s | 84023.2 /s | 58527.0 /s
noatime | 82347.0 /s | 88707.0 /s | 85664.6 /s | 83469.4 /s | 58006.8 /s
noatime,dirsync | about 20000 /s | > 20000 /s | about 20000 /s | about 20000 /s | > 20000 /s
SDHC 16GB
relatime | 66684.6 /s | 63299.2 /s | 65267.8 /s | 65111.0 /s | 57568.0 /s
microSDHC 16GB
relatime | 81752.4 /s | 83329.4 /s | 80380.0 /s | 79137.0 /s | 72241.2 /s
SDXC 64GB
relatime | 3128.2 /s | 62.0 /s | 189.6 /s | 10965.8 /s | 609.8 /s
noatime | 3107.8 /s | 61.4 /s | 187.4 /s | 11877.4 /s | 612.4 /s
noatime,dirsync | 73.2 /s | 35.6 /s | 75.4 /s | 184.8 /s | 58.8 /s
SDHC 16GB
relatime | 5005.0 /s | 120.0 /s | 134.0 /s | 6102.8 /s | 598.4 /s
microSDHC 16GB
relatime | 763.4 /s | 1160.0 /s | 4689.0 /s | 12733.0 /s | 810.4 /s
`

// The study has every published figure under its test, card, mount options and
// filesystem, and no others.
func TestPandora2012Tables(t *testing.T) {
	tests := []string{"block-write", "rewrite", "block-read", "seeks", "seq-create", "seq-stat", "seq-delete", "rnd-create", "rnd-stat", "rnd-delete"}
	cards := map[string]string{"SDXC 64GB": p12Card1, "SDHC 16GB": p12Card2, "microSDHC 16GB": p12Card3}
	type place struct{ table, variant, candidate string }
	page := map[place]string{}
	table, card := -1, ""
	for line := range strings.SplitSeq(strings.TrimSpace(p12Page), "\n") {
		if key, ok := cards[line]; ok {
			if card = key; card == p12Card1 {
				table++
			}
			continue
		}
		cells := strings.Split(line, " | ")
		for i, candidate := range p12Candidates() {
			variant := map[string]string{"noatime": p12Noatime, "noatime,dirsync": p12Dirsync}[cells[0]]
			page[place{card + "/" + tests[table], variant, candidate}] = cells[1+i]
		}
	}
	if len(page) != 250 || table != len(tests)-1 {
		t.Fatalf("the page has %d cells in %d tests", len(page), table+1)
	}
	for _, n := range Pandora2012().Numbers {
		if n.Storage == p12Open3 { // of card 3, again
			continue
		}
		unit := "/s"
		if n.Unit == "KiB/s" {
			unit = "kB/s"
		}
		for _, c := range n.Cells {
			at := place{n.Key, c.Variant, c.Candidate}
			text := c.Text
			if text == "" {
				text = strconv.FormatFloat(c.Value, 'f', -1, 64)
			}
			want := strings.TrimSuffix(strings.TrimSuffix(page[at], " "+unit), ".0")
			if text != want || !strings.HasSuffix(page[at], " "+unit) {
				t.Errorf("%v is %q, the page has %q", at, text, page[at])
			}
			delete(page, at)
		}
	}
	for at, text := range page {
		t.Errorf("%v, %q, is missing", at, text)
	}
}

// Stride and stripe are one erase block of the card in blocks of 4 KiB, or
// smaller pieces with widths that mke2fs takes, and options are varied on card 1
// alone.
func TestPandora2012Factors(t *testing.T) {
	s := Pandora2012()
	for name, scale := range s.Scales {
		for _, on := range append(s.Storages, Storage{}) {
			var levels []string
			for _, f := range s.Factors(scale, on) {
				for _, l := range f.Levels {
					levels = append(levels, l.Name)
					if l.Name == p12Stride && l.Make[1] != map[bool]string{true: "stride=2048,stripe-width=2048", false: "stride=1024,stripe-width=1024"}[on.Key == p12Card1] {
						t.Errorf("%s on %q: %v", name, on.Key, l.Make)
					}
					var stride, width int
					if f.Name != "stride" {
						continue
					}
					if _, err := fmt.Sscanf(l.Make[1], "stride=%d,stripe-width=%d", &stride, &width); err != nil || stride < 1 || width%stride != 0 {
						t.Errorf("%s on %q: %v", name, on.Key, l.Make)
					}
				}
			}
			want := "noatime noatime,dirsync stride shifted"
			if name != "quick" {
				want = "noatime noatime,dirsync noatime, fewer files stride " + strings.Join(p12Pairs(), " ") + " shifted aged strictatime"
			}
			if on.Key != p12Card1 && on.Key != "" {
				want = p12Shifted
				if name != "quick" {
					want += " aged"
				}
			}
			if got := strings.Join(levels, " "); got != want {
				t.Errorf("%s on %q varies %s", name, on.Key, got)
			}
		}
	}
}
