package study

import (
	"fmt"
	"strings"
)

const dbgGist = "kokizzu, GitHub Gist 1b6bd230a9e9677d5ee89cc80ce7557a"

// dbgRate is the unit of the published speeds.
const dbgRate = "MiB/s"

// dbgRow is a row of a published table of speeds: share of the filesystem in
// use before, seconds of writing, and MiB/s of writing, of reading through tar
// and of reading with cp. The rates relative to ext4 that some tables also have
// follow from these: each is divided by the mean of ext4.0 and ext4.1.
type dbgRow struct {
	label                            string
	full, seconds, write, tar, fetch float64
}

type dbgTable struct {
	storage, data string
	turn          string // of several tables of the same: "", "2"
	rows          []dbgRow
}

// dbgCandidate maps the label of a published row. The two rows of ext4 and xfs
// are repetitions in one filesystem, in the order of a shuffled list, which
// fills up between them: its share in use grows by one tree.
func dbgCandidate(label string) string {
	fs, rest, _ := strings.Cut(label, ".")
	switch {
	case fs != "btrfs":
		return fs
	case rest == "none":
		return dbgBtrfs
	}
	return dbgBtrfs + " -o compress=" + strings.ReplaceAll(rest, "-", ":")
}

// cells are a column of the table: repetitions count by their mean, as ext4's do
// where the source divides by them. Their shares in use before are different
// states, and have no mean.
func (t dbgTable) cells(shares bool, cell func(dbgRow) float64) []Published {
	var all []Published
	for i, r := range t.rows {
		c := Published{Candidate: dbgCandidate(r.label), Value: cell(r), Label: r.label}
		for j, other := range t.rows {
			switch {
			case i == j || dbgCandidate(other.label) != c.Candidate:
				continue
			case j < i: // its cell is there already
				c.Candidate = ""
			case shares:
				c.Text, c.Label = fmt.Sprintf("%.3g and %.3g", c.Value, cell(other)), r.label+" and "+other.label
			default:
				c.Value, c.Label = (c.Value+cell(other))/2, "mean of "+r.label+" and "+other.label
			}
		}
		if c.Candidate != "" {
			all = append(all, c)
		}
	}
	return all
}

var dbgTables = []dbgTable{
	{dbgUSB, dbgLarge, "", []dbgRow{
		{"btrfs.none", 0.000147705, 9.40651, 283.958, 365.276, 344.891},
		{"xfs.0", 0.112771, 9.38198, 284.701, 341.466, 363.048},
		{"ext4.0", 1.40477e-06, 9.2048, 290.181, 339.391, 360.402},
		{"xfs.1", 0.00823492, 9.1085, 293.249, 338.185, 363.603},
		{"ext4.1", 0.106864, 8.96366, 297.987, 338.369, 358.914},
		{"btrfs.zstd-1", 0.104891, 6.71203, 397.95, 253.149, 838.609},
		{"btrfs.lzo", 0.141149, 6.34291, 421.109, 267.076, 643.236},
		{"btrfs.zstd-3", 0.191489, 5.83131, 458.054, 250.175, 853.062},
	}},
	{dbgUSB, dbgSmall, "", []dbgRow{
		{"xfs.0", 0.0879229, 13.7472, 118.552, 47.178, 47.7707},
		{"xfs.1", 0.00823614, 13.5625, 120.166, 47.6865, 47.3504},
		{"ext4.0", 0.079824, 12.6361, 128.977, 49.383, 49.2813},
		{"ext4.1", 1.40477e-06, 12.5113, 130.263, 48.693, 48.3962},
		{"btrfs.lzo", 0.106342, 11.269, 144.622, 88.2133, 77.5018},
		{"btrfs.zstd-3", 0.143783, 10.3497, 157.469, 85.4793, 80.4497},
		{"btrfs.none", 0.0261482, 10.1429, 160.68, 64.454, 59.4803},
		{"btrfs.zstd-1", 0.000147705, 9.30068, 175.23, 92.5516, 79.568},
	}},
	{dbgUSB, dbgSmall, "2", []dbgRow{
		{"xfs.1", 0.00823492, 14.5515, 111.999, 48.1493, 49.1477},
		{"xfs.0", 0.0879229, 13.7274, 118.723, 46.7736, 48.3584},
		{"ext4.1", 0.079824, 12.9215, 126.128, 48.5128, 48.6915},
		{"ext4.0", 1.40477e-06, 12.5035, 130.344, 48.4862, 47.518},
		{"btrfs.zstd-1", 0.117458, 12.0904, 134.798, 92.4985, 79.8751},
		{"btrfs.zstd-3", 0.143814, 10.358, 157.342, 85.3323, 80.1055},
		{"btrfs.none", 0.000147705, 9.4264, 172.893, 65.216, 58.5836},
		{"btrfs.lzo", 0.0801518, 9.07413, 179.605, 86.4693, 76.8859},
	}},
	{dbgNVMe, dbgLarge, "", []dbgRow{
		{"btrfs.zstd-1", 0.401214, 3.14575, 849.1, 489.592, 1305.49},
		{"btrfs.lzo", 0.437475, 1.91317, 1396.14, 589.98, 1280.35},
		{"btrfs.none", 0.487829, 3.29185, 811.416, 1216.99, 1153.71},
		{"ext4.0", 0.40917, 4.48444, 595.628, 1093.44, 1213.11},
		{"ext4.1", 0.516032, 4.4532, 599.806, 1100.46, 1186.14},
		{"xfs.0", 0.0076032, 3.88385, 687.734, 1190.83, 1292.62},
		{"xfs.1", 0.0598712, 5.31797, 502.27, 1182.8, 1271.12},
	}},
	{dbgNVMe, dbgSmall, "", []dbgRow{
		{"btrfs.lzo", 0.401216, 8.13217, 200.408, 163.573, 124.486},
		{"btrfs.none", 0.437983, 7.60417, 214.324, 146.083, 120.017},
		{"btrfs.zstd-1", 0.518031, 13.0737, 124.659, 153.742, 121.545},
		{"ext4.0", 0.40917, 8.51435, 191.413, 96.7245, 107.22},
		{"ext4.1", 0.488992, 8.64948, 188.422, 96.3132, 107.352},
		{"xfs.0", 0.0076032, 8.57081, 190.152, 110.243, 102.137},
		{"xfs.1", 0.0474472, 8.57814, 189.989, 110.808, 100.598},
	}},
	{dbgHDD, dbgLarge, "", []dbgRow{
		{"ext4.1", 0.106865, 32.4621, 82.2824, 76.1464, 83.3907},
		{"xfs.1", 0.112776, 25.8475, 103.339, 98.3266, 99.6622},
		{"ext4.0", 0.213728, 29.8597, 89.4537, 72.7791, 79.1887},
		{"xfs.0", 0.217307, 25.2035, 105.98, 97.814, 99.3223},
		{"btrfs.lzo", 0.000147705, 15.1674, 176.105, 193.557, 195.507},
		{"btrfs.none", 0.0505009, 22.912, 116.579, 116.823, 118.195},
		{"btrfs.zstd-1", 0.155232, 11.5432, 231.397, 183.332, 251.207},
		{"btrfs.zstd-3", 0.191588, 11.2101, 238.273, 170.086, 297.061},
	}},
	{dbgHDD, dbgSmall, "", []dbgRow{
		{"xfs.0", 0.112778, 171.254, 9.51661, 8.53608, 7.72498},
		{"btrfs.zstd-1", 0.000147705, 13.399, 121.632, 34.2228, 30.4638},
		{"ext4.0", 0.106865, 36.2998, 44.8971, 7.45604, 11.5033},
		{"xfs.1", 0.192459, 189.117, 8.6177, 8.44728, 7.53305},
		{"btrfs.none", 0.0261714, 1394.19, 1.16896, 12.4196, 20.2212},
		{"ext4.1", 0.186687, 69.3157, 23.5121, 7.20049, 11.8862},
		{"btrfs.lzo", 0.10633, 26.8329, 60.7373, 19.6596, 23.9906},
		{"btrfs.zstd-3", 0.143793, 14.9673, 108.888, 32.3755, 22.2033},
	}},
}

// dbgMeasures are the columns of those tables.
var dbgMeasures = []struct {
	key, name, column, unit string
	cell                    func(dbgRow) float64
}{
	{"write-time", "time to write", "write", "s", func(r dbgRow) float64 { return r.seconds }},
	{"write", "writing", "write", dbgRate, func(r dbgRow) float64 { return r.write }},
	{"pipe", "reading as a stream (tar)", "pipe", dbgRate, func(r dbgRow) float64 { return r.tar }},
	{"fetch", "reading into memory (cp)", "fetch", dbgRate, func(r dbgRow) float64 { return r.fetch }},
	{"full", "share in use before", "full", "1", func(r dbgRow) float64 { return r.full }},
}

// dbgPlaces has the source's names of the storages.
var dbgPlaces = map[string]string{dbgUSB: "results on usb3 SATA SSD", dbgNVMe: "results on faster SSD", dbgHDD: "On mechanic HDD"}

// dbgLabels has the storages' names in titles.
var dbgLabels = map[string]string{dbgUSB: "SATA SSD on USB", dbgNVMe: "NVMe SSD", dbgHDD: "hard disk"}

// dbgNumbers are all published tables, with a separate table for each column.
func dbgNumbers() []Numbers {
	all := dbgCompression()
	for _, t := range dbgTables {
		for _, m := range dbgMeasures {
			n := Numbers{
				Key:    strings.TrimSuffix(t.storage+"/"+t.data+"-"+m.key+"/"+t.turn, "/"),
				Name:   m.name + ", " + t.data + " files, " + dbgLabels[t.storage],
				Source: dbgGist + ", section “" + dbgPlaces[t.storage] + "”",
				Column: t.data + "-" + m.column, Unit: m.unit, Storage: t.storage,
				Card: t.storage == dbgHDD && m.column != "full",
			}
			if t.turn != "" {
				n.Name += ", repetition " + t.turn
			}
			n.Cells = t.cells(m.column == "full", m.cell)
			all = append(all, n)
		}
	}
	return all
}

// dbgSizes are compsize's figures of a tree: percentage, disk use and
// uncompressed length in MiB, and the counts; of the rows by type the share of
// none in that length, in percent (306M of 2.6G), and the percentage of the compressor.
type dbgSizes struct {
	candidate                                    string
	percent, disk, plain, files, regular, inline float64
	none, rest                                   float64
}

// dbgCompression are the compression tables: the rows and the first line of
// each. compsize prints binary units.
func dbgCompression() []Numbers {
	const gib = 1024.0
	trees := []struct {
		data string
		rows []dbgSizes
	}{
		{dbgLarge, []dbgSizes{
			{dbgLzo, 47, 1.2 * gib, 2.6 * gib, 1541, 20427, 542, 11.5, 41},
			{dbgZlib, 36, 964, 2.6 * gib, 1541, 20399, 632, 11.0, 28},
			{dbgZstd1, 34, 917, 2.6 * gib, 1541, 20399, 632, 11.0, 26},
			{dbgZstd3, 34, 917, 2.6 * gib, 1541, 20399, 632, 11.0, 26},
		}},
		{dbgSmall, []dbgSizes{
			{dbgLzo, 37, 647, 1.6 * gib, 148537, 60482, 92581, 0.26, 37},
			{dbgZlib, 24, 417, 1.6 * gib, 148537, 59862, 93201, 0.014, 24},
			{dbgZstd1, 22, 392, 1.6 * gib, 148537, 59862, 93201, 0.014, 22},
			{dbgZstd3, 22, 392, 1.6 * gib, 148537, 59862, 93201, 0.014, 22},
		}},
	}
	measures := []struct {
		key, name, unit string
		cell            func(dbgSizes) float64
	}{
		{"ratio", "compressed to", "%", func(s dbgSizes) float64 { return s.percent }},
		{"disk", "disk use", "MiB", func(s dbgSizes) float64 { return s.disk }},
		{"plain", "uncompressed", "MiB", func(s dbgSizes) float64 { return s.plain }},
		{"none", "stored plain", "%", func(s dbgSizes) float64 { return s.none }},
		{"rest", "compressed part to", "%", func(s dbgSizes) float64 { return s.rest }},
		{"files", "files", "1", func(s dbgSizes) float64 { return s.files }},
		{"regular", "regular extents", "1", func(s dbgSizes) float64 { return s.regular }},
		{"inline", "inline extents", "1", func(s dbgSizes) float64 { return s.inline }},
	}
	var all []Numbers
	for _, t := range trees {
		for _, m := range measures {
			n := Numbers{Key: t.data + "-" + m.key, Name: m.name + ", " + t.data + " files", Column: t.data + "-" + m.key, Unit: m.unit, Grows: m.unit != "%",
				Source: dbgGist + ", section “compression ratio” (compsize)"}
			for _, r := range t.rows {
				n.Cells = append(n.Cells, Published{Candidate: r.candidate, Value: m.cell(r)})
			}
			all = append(all, n)
		}
	}
	return all
}

// dbgChoices are the published choices. The source chose compression even where
// reading as a stream is slower with it, so that column is not counted.
func dbgChoices() []Choice {
	const source = dbgGist + ", section “choices”"
	return []Choice{
		{Name: "large files", Source: source, Among: dbgTested, Columns: []string{dbgLarge + "-write", dbgLarge + "-fetch"}, Rows: []ChoiceRow{
			{dbgUSB, [4]string{dbgZstd1, dbgZstd3, dbgLzo, dbgBtrfs}},
			{dbgNVMe, [4]string{dbgLzo, dbgZstd1, dbgBtrfs, "xfs"}},
			{dbgHDD, [4]string{dbgZstd3, dbgZstd1, dbgLzo, "ext4"}},
		}},
		{Name: "small files", Source: source, Among: dbgTested, Columns: []string{dbgSmall + "-write", dbgSmall + "-fetch"}, Rows: []ChoiceRow{
			{dbgUSB, [4]string{dbgZstd3, dbgLzo, dbgZstd1, "xfs"}},
			{dbgNVMe, [4]string{dbgLzo, dbgBtrfs, "ext4", dbgZstd1}},
			{dbgHDD, [4]string{dbgZstd1, dbgZstd3, dbgLzo, dbgBtrfs}},
		}},
	}
}
