package study

import (
	"strconv"
	"strings"
)

const p12Source = "SD-card filesystem benchmarks (Bonnie++ on a 512 MB Pandora, 2012)"

// p12Test is one test of Bonnie++ on the page: a table per card, a row per
// mount option, a column per filesystem.
type p12Test struct {
	column, name, unit string
	// card: the figures depend on the card and not on the processor.
	card bool
	rows []string // card | mount options | figures in the order of p12Candidates
}

// p12Noise is the noise that the source states: differences under a tenth are
// to be ignored.
const p12Noise = 0.10

// p12Numbers are all published tables. Rates of bytes are in units of 1024
// (Bonnie++'s units; the page writes kB/s).
func p12Numbers() []Numbers {
	var all []Numbers
	for _, test := range p12Published {
		for _, on := range p12Storages() {
			table := Numbers{
				Key: on.Key + "/" + test.column, Name: test.name, Source: p12Source + ", “" + test.name + "”, table of the " + p12CardName(p12CardOf(on.Key)) + " card",
				Column: test.column, Unit: test.unit, Storage: on.Key, Card: test.card, Noise: p12Noise,
			}
			for _, row := range test.rows {
				cells := strings.Split(row, " | ")
				if cells[0] != p12CardOf(on.Key) {
					continue
				}
				for i, candidate := range p12Candidates() {
					table.Cells = append(table.Cells, p12Cell(candidate, cells[1], cells[2+i]))
				}
			}
			all = append(all, table)
		}
	}
	return all
}

// p12CardOf is the card that a storage of the study stands for.
func p12CardOf(key string) string {
	if key == p12Open3 {
		return p12Card3
	}
	return key
}

// p12Cell parses one cell. The reference of the study is relatime; a cell that
// is not a number stays as it is.
func p12Cell(candidate, options, text string) Published {
	cell := Published{Candidate: candidate, Variant: options}
	if options == "relatime" {
		cell.Variant = ""
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		cell.Text = text
		return cell
	}
	cell.Value = v
	return cell
}

func p12CardName(key string) string {
	for _, s := range p12Storages() {
		if s.Key == key {
			return s.Label
		}
	}
	return key
}

var p12Published = []p12Test{
	{"block-write", "Sequential output, block", "KiB/s", true, []string{
		"sdxc-64g | relatime | 2649.4 | 4679.0 | 14172.8 | 15109.8 | 10587.0",
		"sdxc-64g | noatime | 2639.6 | 4686.0 | 14194.0 | 15230.6 | 10385.6",
		"sdxc-64g | noatime,dirsync | 2629.6 | 4639.8 | 14744.2 | 15111.6 | 10684.2",
		"sdhc-16g | relatime | 5436.4 | 7153.4 | 13011.0 | 13330.8 | 9639.2",
		"microsdhc-16g | relatime | 4673.6 | 6295.8 | 11063.2 | 11037.8 | 10038.2",
	}},
	{"rewrite", "Sequential output, rewrite", "KiB/s", true, []string{
		"sdxc-64g | relatime | 5397.4 | 4521.2 | 5699.4 | 5788.4 | 5978.6",
		"sdxc-64g | noatime | 5491.8 | 4547.4 | 5712.6 | 5836.6 | 6016.4",
		"sdxc-64g | noatime,dirsync | 5365.2 | 4628.8 | 5821.2 | 5762.2 | 5933.4",
		"sdhc-16g | relatime | 5442.6 | 4905.8 | 5823.4 | 5817.0 | 5941.0",
		"microsdhc-16g | relatime | 5959.6 | 4953.6 | 6527.8 | 7062.2 | 6682.4",
	}},
	{"block-read", "Sequential input, block", "KiB/s", true, []string{
		"sdxc-64g | relatime | 17027.8 | 15897.0 | 16416.6 | 16154.0 | 16139.2",
		"sdxc-64g | noatime | 16581.8 | 16292.2 | 16538.8 | 16629.2 | 16605.6",
		"sdxc-64g | noatime,dirsync | 15593.6 | 16127.0 | 17005.8 | 16178.4 | 16315.4",
		"sdhc-16g | relatime | 16611.4 | 17197.6 | 17026.8 | 17078.0 | 17056.6",
		"microsdhc-16g | relatime | 22154.8 | 22066.8 | 22126.0 | 22202.6 | 21552.6",
	}},
	{"seeks", "Random seeks", "/s", true, []string{
		"sdxc-64g | relatime | 26.2 | 29.4 | 32.9 | 30.6 | 53.6",
		"sdxc-64g | noatime | 27.4 | 27.6 | 33.0 | 28.6 | 52.0",
		"sdxc-64g | noatime,dirsync | 31.4 | 28.4 | 34.1 | 30.2 | 52.7",
		"sdhc-16g | relatime | 81.6 | 59.6 | 77.3 | 78.8 | 75.2",
		"microsdhc-16g | relatime | 766.48 | 729.56 | 832.84 | 719.16 | 789.48",
	}},
	{"seq-create", "Sequential create, create", "/s", false, []string{
		"sdxc-64g | relatime | 2853.4 | 1614.6 | 4083.2 | 7894.0 | 198.0",
		"sdxc-64g | noatime | 2890.4 | 1701.0 | 4472.2 | 7663.4 | 197.8",
		"sdxc-64g | noatime,dirsync | 104.2 | 79.8 | 95.0 | 216.6 | 44.0",
		"sdhc-16g | relatime | 5055.4 | 3208.0 | 4473.8 | 6338.8 | 198.2",
		"microsdhc-16g | relatime | 1979.4 | 1556.4 | 6348.0 | 9279.4 | 225.6",
	}},
	{"seq-stat", "Sequential create, read", "/s", false, []string{
		"sdxc-64g | relatime | 71516.6 | 66576.8 | 65799.4 | 64006.0 | 8355.2",
		"sdxc-64g | noatime | 71251.4 | 68306.6 | 65347.2 | 67446.8 | 8441.6",
		"sdxc-64g | noatime,dirsync | about 20000 | about 20000 | about 20000 | about 20000 | about 20000",
		"sdhc-16g | relatime | 59406.0 | 51775.2 | 53742.8 | 52875.2 | 8337.8",
		"microsdhc-16g | relatime | 84802.4 | 73877.0 | 70762.6 | 71115.2 | 9245.8",
	}},
	{"seq-delete", "Sequential create, delete", "/s", false, []string{
		"sdxc-64g | relatime | 5985.0 | 2318.2 | 7511.4 | 14200.2 | 2592.2",
		"sdxc-64g | noatime | 5712.6 | 2044.4 | 7376.4 | 15018.4 | 2603.8",
		"sdxc-64g | noatime,dirsync | 114.0 | 79.2 | 90.4 | 235.2 | 100.4",
		"sdhc-16g | relatime | 8506.0 | 4692.8 | 6740.8 | 8827.6 | 2595.4",
		"microsdhc-16g | relatime | 1510.8 | 1271.8 | 7751.4 | 15395.2 | 3184.8",
	}},
	{"rnd-create", "Random create, create", "/s", false, []string{
		"sdxc-64g | relatime | 2962.0 | 1740.0 | 5194.2 | 9258.0 | 336.2",
		"sdxc-64g | noatime | 2975.0 | 1541.6 | 5687.8 | 9577.0 | 336.2",
		"sdxc-64g | noatime,dirsync | 111.6 | 91.0 | 97.6 | 213.0 | 44.6",
		"sdhc-16g | relatime | 5264.4 | 3585.4 | 4517.8 | 6498.0 | 336.2",
		"microsdhc-16g | relatime | 1400.0 | 1171.0 | 6277.8 | 10390.8 | 451.8",
	}},
	{"rnd-stat", "Random create, read", "/s", false, []string{
		"sdxc-64g | relatime | 82907.0 | 89072.0 | 86054.2 | 84023.2 | 58527.0",
		"sdxc-64g | noatime | 82347.0 | 88707.0 | 85664.6 | 83469.4 | 58006.8",
		"sdxc-64g | noatime,dirsync | about 20000 | > 20000 | about 20000 | about 20000 | > 20000",
		"sdhc-16g | relatime | 66684.6 | 63299.2 | 65267.8 | 65111.0 | 57568.0",
		"microsdhc-16g | relatime | 81752.4 | 83329.4 | 80380.0 | 79137.0 | 72241.2",
	}},
	{"rnd-delete", "Random create, delete", "/s", false, []string{
		"sdxc-64g | relatime | 3128.2 | 62.0 | 189.6 | 10965.8 | 609.8",
		"sdxc-64g | noatime | 3107.8 | 61.4 | 187.4 | 11877.4 | 612.4",
		"sdxc-64g | noatime,dirsync | 73.2 | 35.6 | 75.4 | 184.8 | 58.8",
		"sdhc-16g | relatime | 5005.0 | 120.0 | 134.0 | 6102.8 | 598.4",
		"microsdhc-16g | relatime | 763.4 | 1160.0 | 4689.0 | 12733.0 | 810.4",
	}},
}
