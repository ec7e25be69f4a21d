package study

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tables as in the source, compared with the transcription: in some a row
// begins with its place in the order of trials, and each speed is followed by
// its ratio to the mean of ext4's two rows.
var dbgSource = []string{
	`
0 btrfs.none 0.000147705 9.40651 283.958 0.965568 365.276 1.07789 344.891 0.958941
5 xfs.0 0.112771 9.38198 284.701 0.968093 341.466 1.00763 363.048 1.00942
2 ext4.0 1.40477e-06 9.2048 290.181 0.986728 339.391 1.00151 360.402 1.00207
3 xfs.1 0.00823492 9.1085 293.249 0.997159 338.185 0.997949 363.603 1.01097
6 ext4.1 0.106864 8.96366 297.987 1.01327 338.369 0.998491 358.914 0.997932
1 btrfs.zstd-1 0.104891 6.71203 397.95 1.35319 253.149 0.747018 838.609 2.33168
4 btrfs.lzo 0.141149 6.34291 421.109 1.43193 267.076 0.788114 643.236 1.78846
7 btrfs.zstd-3 0.191489 5.83131 458.054 1.55756 250.175 0.738242 853.062 2.37187`,
	`
4 xfs.0 0.0879229 13.7472 118.552 0.914611 47.178 0.962071 47.7707 0.978131
1 xfs.1 0.00823614 13.5625 120.166 0.927067 47.6865 0.97244 47.3504 0.969526
5 ext4.0 0.079824 12.6361 128.977 0.995037 49.383 1.00704 49.2813 1.00906
2 ext4.1 1.40477e-06 12.5113 130.263 1.00496 48.693 0.992965 48.3962 0.990938
6 btrfs.lzo 0.106342 11.269 144.622 1.11574 88.2133 1.79888 77.5018 1.58689
7 btrfs.zstd-3 0.143783 10.3497 157.469 1.21485 85.4793 1.74312 80.4497 1.64725
3 btrfs.none 0.0261482 10.1429 160.68 1.23962 64.454 1.31437 59.4803 1.21789
0 btrfs.zstd-1 0.000147705 9.30068 175.23 1.35187 92.5516 1.88734 79.568 1.6292`,
	`
1 xfs.1 0.00823492 14.5515 111.999 0.873386 48.1493 0.992781 49.1477 1.02168
5 xfs.0 0.0879229 13.7274 118.723 0.925814 46.7736 0.964414 48.3584 1.00527
2 ext4.1 0.079824 12.9215 126.128 0.98356 48.5128 1.00027 48.6915 1.0122
0 ext4.0 1.40477e-06 12.5035 130.344 1.01644 48.4862 0.999726 47.518 0.987803
6 btrfs.zstd-1 0.117458 12.0904 134.798 1.05117 92.4985 1.90721 79.8751 1.66044
7 btrfs.zstd-3 0.143814 10.358 157.342 1.22697 85.3323 1.75945 80.1055 1.66523
3 btrfs.none 0.000147705 9.4264 172.893 1.34824 65.216 1.34467 58.5836 1.21784
4 btrfs.lzo 0.0801518 9.07413 179.605 1.40058 86.4693 1.78289 76.8859 1.5983`,
	`
btrfs.zstd-1 0.401214 3.14575 849.1 489.592 1305.49
btrfs.lzo 0.437475 1.91317 1396.14 589.98 1280.35
btrfs.none 0.487829 3.29185 811.416 1216.99 1153.71
ext4.0 0.40917 4.48444 595.628 1093.44 1213.11
ext4.1 0.516032 4.4532 599.806 1100.46 1186.14
xfs.0 0.0076032 3.88385 687.734 1190.83 1292.62
xfs.1 0.0598712 5.31797 502.27 1182.8 1271.12`,
	`
btrfs.lzo 0.401216 8.13217 200.408 163.573 124.486
btrfs.none 0.437983 7.60417 214.324 146.083 120.017
btrfs.zstd-1 0.518031 13.0737 124.659 153.742 121.545
ext4.0 0.40917 8.51435 191.413 96.7245 107.22
ext4.1 0.488992 8.64948 188.422 96.3132 107.352
xfs.0 0.0076032 8.57081 190.152 110.243 102.137
xfs.1 0.0474472 8.57814 189.989 110.808 100.598`,
	`
ext4.1 0.106865 32.4621 82.2824 76.1464 83.3907
xfs.1 0.112776 25.8475 103.339 98.3266 99.6622
ext4.0 0.213728 29.8597 89.4537 72.7791 79.1887
xfs.0 0.217307 25.2035 105.98 97.814 99.3223
btrfs.lzo 0.000147705 15.1674 176.105 193.557 195.507
btrfs.none 0.0505009 22.912 116.579 116.823 118.195
btrfs.zstd-1 0.155232 11.5432 231.397 183.332 251.207
btrfs.zstd-3 0.191588 11.2101 238.273 170.086 297.061`,
	`
xfs.0 0.112778 171.254 9.51661 8.53608 7.72498
btrfs.zstd-1 0.000147705 13.399 121.632 34.2228 30.4638
ext4.0 0.106865 36.2998 44.8971 7.45604 11.5033
xfs.1 0.192459 189.117 8.6177 8.44728 7.53305
btrfs.none 0.0261714 1394.19 1.16896 12.4196 20.2212
ext4.1 0.186687 69.3157 23.5121 7.20049 11.8862
btrfs.lzo 0.10633 26.8329 60.7373 19.6596 23.9906
btrfs.zstd-3 0.143793 14.9673 108.888 32.3755 22.2033`,
}

func TestDevbuildGistTables(t *testing.T) {
	if len(dbgSource) != len(dbgTables) {
		t.Fatalf("%d tables, the source has %d", len(dbgTables), len(dbgSource))
	}
	for i, text := range dbgSource {
		table := dbgTables[i]
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if len(lines) != len(table.rows) {
			t.Errorf("table %d has %d rows, the source %d", i, len(table.rows), len(lines))
			continue
		}
		var ratios [][3]float64
		for j, line := range lines {
			r := table.rows[j]
			words := strings.Fields(line)
			if len(words) == 10 { // index, and ratios after the speeds
				words = words[1:]
				ratios = append(ratios, [3]float64{number(t, words[4]), number(t, words[6]), number(t, words[8])})
				words = []string{words[0], words[1], words[2], words[3], words[5], words[7]}
			}
			want := []float64{r.full, r.seconds, r.write, r.tar, r.fetch}
			got := make([]float64, len(words)-1)
			for k, w := range words[1:] {
				got[k] = number(t, w)
			}
			if words[0] != r.label || !slices.Equal(got, want) {
				t.Errorf("table %d: %q is transcribed as %+v", i, line, r)
			}
		}
		checkDevbuildTable(t, i, table, ratios)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkDevbuildTable checks a table's redundant figures against each other.
func checkDevbuildTable(t *testing.T, i int, table dbgTable, ratios [][3]float64) {
	t.Helper()
	var ext4 [3]float64
	for _, r := range table.rows {
		if strings.HasPrefix(r.label, "ext4") {
			for k, v := range []float64{r.write, r.tar, r.fetch} {
				ext4[k] += v / 2
			}
		}
	}
	first := table.rows[0].seconds * table.rows[0].write // MiB, the same tree in every row
	for j, r := range table.rows {
		// The trees' own counts differ a little between filesystems.
		if mib := r.seconds * r.write; math.Abs(mib/first-1) > 0.001 {
			t.Errorf("table %d: %s wrote %.1f MiB, the first row %.1f", i, r.label, mib, first)
		}
		if candidate := dbgCandidate(r.label); !slices.Contains(dbgTested, candidate) {
			t.Errorf("table %d: %s is %q", i, r.label, candidate)
		}
		if len(ratios) == 0 {
			continue
		}
		for k, v := range []float64{r.write, r.tar, r.fetch} {
			if math.Abs(v/ext4[k]-ratios[j][k]) > 2e-5 {
				t.Errorf("table %d: %s has %v and the ratio %v, ext4 %v", i, r.label, v, ratios[j][k], ext4[k])
			}
		}
	}
}

// Rows of one candidate are repetitions in a filesystem that fills up: there is
// one cell for them, with the mean of their figures and both of their shares in
// use before.
func TestDevbuildGistRepetitions(t *testing.T) {
	for _, n := range dbgNumbers() {
		seen := map[string]bool{}
		for _, c := range n.Cells {
			if seen[c.Candidate] || c.Variant != "" {
				t.Errorf("%s has %q more than once, or as a variant: %+v", n.Key, c.Candidate, c)
			}
			seen[c.Candidate] = true
			switch {
			case n.Key == dbgUSB+"/large-write" && c.Candidate == "ext4":
				if math.Abs(c.Value-294.084) > 1e-9 || c.Label != "mean of ext4.0 and ext4.1" {
					t.Errorf("%s: %+v", n.Key, c)
				}
			case n.Key == dbgUSB+"/large-full" && c.Candidate == "ext4":
				if c.Text != "1.4e-06 and 0.107" {
					t.Errorf("%s: %+v", n.Key, c)
				}
			}
		}
		if len(seen) < 4 {
			t.Errorf("%s has %d candidates", n.Key, len(seen))
		}
	}
	for name, scale := range DevbuildGist().Scales {
		for _, f := range dbgFactors(scale, Storage{}) {
			if name == "quick" || f.Name != "in use before" {
				t.Errorf("%s varies %q, and the source nothing but what is in use before", name, f.Name)
			}
		}
	}
}

// Percentages follow from the sizes next to them, to the printed precision.
func TestDevbuildGistCompression(t *testing.T) {
	cells := map[string][]Published{}
	for _, n := range dbgCompression() {
		cells[n.Key] = n.Cells
	}
	for _, d := range []string{dbgLarge, dbgSmall} {
		for i, c := range cells[d+"-ratio"] {
			disk, plain := cells[d+"-disk"][i], cells[d+"-plain"][i]
			if c.Candidate != disk.Candidate || c.Candidate != plain.Candidate {
				t.Fatalf("%s, %d: %s, %s, %s", d, i, c.Candidate, disk.Candidate, plain.Candidate)
			}
			if got := 100 * disk.Value / plain.Value; math.Abs(got-c.Value) > 2.5 { // 1.6G is 1.55 to 1.65
				t.Errorf("%s, %s: %.1f %% of the sizes, %v %% published", d, c.Candidate, got, c.Value)
			}
			files, inline, regular := cells[d+"-files"][i].Value, cells[d+"-inline"][i].Value, cells[d+"-regular"][i].Value
			if d == dbgSmall && inline >= files || inline+regular < files-100 {
				t.Errorf("%s, %s: %v files, %v inline, %v regular", d, c.Candidate, files, inline, regular)
			}
		}
	}
}

// Every place of the choices is a candidate, and each row has four.
func TestDevbuildGistChoices(t *testing.T) {
	for _, c := range dbgChoices() {
		if len(c.Rows) != 3 {
			t.Errorf("%s has %d rows", c.Name, len(c.Rows))
		}
		for _, r := range c.Rows {
			for i, place := range r.Places {
				if !slices.Contains(dbgTested, place) || slices.Contains(r.Places[:i], place) {
					t.Errorf("%s, %s: place %d is %q", c.Name, r.Storage, i+1, place)
				}
			}
		}
	}
}
