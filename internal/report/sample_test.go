package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// The sample is a made-up run with one of everything a report must handle:
// ties, absent figures, a single figure, an unsupported candidate, one that
// failed, options that did not take effect, a console. Its figures are
// realistic, and the small computations below only make them consistent.

type sampleRow struct {
	name     string
	readOnly bool
	// boot, mount, read, seqread, write, seqwrite, rewrite, delete, space
	figures [9]float64
}

var sampleRows = []sampleRow{
	{"ext4", false, [9]float64{0.0412, 0.0121, 1.91, 0.842, 2.31, 1.21, 4.4, 0.41, 96.1e6}},
	{"ext2", false, [9]float64{0.0380, 0.0088, 1.88, 0.851, 2.39, 1.22, 4.9, 0.62, 91.4e6}},
	{"xfs", false, [9]float64{0.1180, 0.0203, 2.32, 0.861, 2.42, 1.08, 5.6, 0.77, 109.2e6}},
	{"btrfs -m single", false, [9]float64{0.2110, 0.0161, 2.45, 0.902, 3.02, 1.33, 5.1, 1.42, 92.3e6}},
	{"btrfs -m single -o compress=lzo", false, [9]float64{0.2140, 0.0163, 2.31, 0.941, 3.55, 1.47, 5.4, 1.38, 61.7e6}},
	{"f2fs", false, [9]float64{0.0930, 0.0312, 1.99, 0.872, 2.71, 1.23, 3.9, 0.66, 141.8e6}},
	{"nilfs2", false, [9]float64{0.0990, 0.2210, 2.61, 1.640, 4.12, 2.61, 3.5, 0.19, 112.0e6}},
	{"vfat", false, [9]float64{0.0322, 0.0071, 2.72, 0.880, 5.91, 1.41, 9.8, 2.13, 99.8e6}},
	{"squashfs -comp lzo", true, [9]float64{0.0310, 0.0042, 1.52, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), 41.8e6}},
	{"squashfs -comp xz", true, [9]float64{0.0319, 0.0041, 4.88, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), 32.6e6}},
	{"erofs -zlz4hc,12", true, [9]float64{0.0302, 0.0043, 1.21, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), 47.2e6}},
}

var sampleColumns = []verdict.Column{
	{Key: "boot", Name: "Boot time", Unit: "s", About: "loading the kernel module with its dependencies, and mounting"},
	{Key: "mount", Name: "Mount time", Unit: "s"},
	{Key: "read", Name: "Read", Unit: "s", About: "every byte of every file of the tree, from cold caches"},
	{Key: "seqread", Name: "Seq. read", Unit: "s"},
	{Key: "write", Name: "Write", Unit: "s"},
	{Key: "seqwrite", Name: "Seq. write", Unit: "s"},
	{Key: "rewrite", Name: "Read-write-delete", Unit: "s"},
	{Key: "delete", Name: "Delete", Unit: "s"},
	{Key: "space", Name: "Space", Unit: "B"},
}

const sampleDigest = "sha256:5f2c1d7be09a44b1c3f86e0d92a7715c4ab8e6f3d0192b7c58e4fa6610d3b9e7"

func sampleInterval(value, spread float64) verdict.Interval {
	return verdict.Interval{Value: value, Low: value / (1 + spread), High: value * (1 + spread), N: 3}
}

func sampleColumn(i int) verdict.Column {
	c := sampleColumns[i]
	best := math.Inf(1)
	for _, r := range sampleRows {
		if !math.IsNaN(r.figures[i]) {
			best = min(best, r.figures[i])
		}
	}
	c.Cells = nil
	for j, r := range sampleRows {
		cell := verdict.Cell{Candidate: r.name}
		v := r.figures[i]
		if math.IsNaN(v) {
			cell.Absent = "a read-only filesystem is not written to"
			if c.Key == "seqread" {
				cell.Absent = "the image holds the tree only"
			}
			c.Cells = append(c.Cells, cell)
			continue
		}
		spread := 0.03 + 0.02*float64((i*7+j*3)%5)
		if c.Key == "space" {
			spread = 0
		}
		cell.Estimate = sampleInterval(v, spread)
		cell.Ratio = sampleInterval(v/best, spread)
		if v == best {
			cell.Ratio.Low, cell.Ratio.High = 1, 1
		}
		cell.Grade = sampleGrade(v / best)
		if c.Key == "boot" && v == best {
			cell.Grade = verdict.Excellent
		}
		c.Cells = append(c.Cells, cell)
	}
	// vfat has only one figure for mounting.
	for k := range c.Cells {
		if cell := &c.Cells[k]; c.Key == "mount" && cell.Candidate == "vfat" {
			v := cell.Estimate.Value
			cell.Estimate = verdict.Interval{Value: v, Low: v, High: v, N: 1, Single: true}
			cell.Ratio.Low, cell.Ratio.High, cell.Ratio.Single = cell.Ratio.Value, cell.Ratio.Value, true
		}
	}
	slices.SortStableFunc(c.Cells, func(a, b verdict.Cell) int {
		x, y := a.Estimate.Value, b.Estimate.Value
		if a.Absent != "" {
			x = math.Inf(1)
		}
		if b.Absent != "" {
			y = math.Inf(1)
		}
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	c.Cells = append(c.Cells, verdict.Cell{Candidate: "jfs", Absent: "no trial of it counts: fsck.jfs: exit status 4"})
	for k := range c.Cells {
		cell := &c.Cells[k]
		if cell.Absent != "" {
			continue
		}
		cell.RankLow, cell.RankHigh = k+1, k+1
		for m := range c.Cells {
			o := c.Cells[m]
			if o.Absent != "" || m == k {
				continue
			}
			if o.Estimate.High >= cell.Estimate.Low && o.Estimate.Low <= cell.Estimate.High {
				cell.RankLow, cell.RankHigh = min(cell.RankLow, m+1), max(cell.RankHigh, m+1)
				if q := o.Estimate.Value / cell.Estimate.Value; q > 0.975 && q < 1.025 {
					cell.TiedWith = append(cell.TiedWith, o.Candidate)
				}
			}
		}
	}
	return c
}

func sampleGrade(ratio float64) verdict.Grade {
	for i, limit := range []float64{1.0001, 1.1, 1.35, 1.8, 2.6, 4} {
		if ratio <= limit {
			return verdict.Best - verdict.Grade(i)
		}
	}
	return verdict.Worst
}

func sampleConditions() []result.Condition {
	return []result.Condition{
		{Group: "machine", Name: "kernel", Value: "6.1.0-56-amd64", Matters: true},
		{Group: "machine", Name: "architecture", Value: "x86_64", Matters: true},
		{Group: "machine", Name: "emulation", Value: "QEMU 7.2.22, TCG, 1 processor, 1 GiB", Matters: true},
		{Group: "machine", Name: "governor", Value: "not available in a guest"},
		{Group: "storage", Name: "identity", Value: "virtio-blk, serial whichfs-subject", Matters: true},
		{Group: "storage", Name: "size", Value: "1 GiB", Matters: true},
		{Group: "storage", Name: "limits", Value: "10 MiB/s and 200 requests/s writing, 20 MiB/s and 500 requests/s reading", Matters: true},
		{Group: "storage", Name: "scheduler", Value: "none"},
		{Group: "storage", Name: "discard", Value: "supported, 512 B granularity"},
		{Group: "tools", Name: "mkfs.ext4", Value: "1.47.0"},
		{Group: "tools", Name: "mkfs.btrfs", Value: "6.2"},
		{Group: "tools", Name: "mkfs.f2fs", Value: "1.15.0"},
		{Group: "tools", Name: "mksquashfs", Value: "4.5.1"},
		{Group: "data", Name: "tree", Value: "debian-armhf-part: 742 files, 31 MB, " + sampleDigest, Matters: true},
		{Group: "data", Name: "stream", Value: "24 MiB, incompressible, seed 7", Matters: true},
		{Group: "run", Name: "command", Value: "whichfs run bootlin-2023 --quick"},
	}
}

func sampleUses() []verdict.Use {
	place := func(name string, score, spread float64, low, high int, tied ...string) verdict.Place {
		return verdict.Place{Candidate: name, Score: sampleInterval(score, spread), RankLow: low, RankHigh: high, TiedWith: tied}
	}
	return []verdict.Use{
		{
			Name:    "read-write",
			Answer:  "Take ext4: nothing that can be written is shown to be better overall, and only ext2 may equal it.",
			Settled: false,
			Ranks: []verdict.Place{
				place("ext4", 1.31, 0.04, 1, 2, "ext2"),
				place("ext2", 1.37, 0.05, 1, 2, "ext4"),
				place("f2fs", 1.81, 0.04, 3, 4),
				place("xfs", 1.93, 0.05, 3, 5),
				place("btrfs -m single", 2.20, 0.06, 4, 6, "btrfs -m single -o compress=lzo"),
				place("btrfs -m single -o compress=lzo", 2.24, 0.05, 5, 6, "btrfs -m single"),
				place("vfat", 2.61, 0.09, 7, 8),
				place("nilfs2", 2.70, 0.08, 7, 8),
			},
			Reasons: []string{
				"It writes the tree fastest together with ext2 and xfs: 2.31 s (2.20–2.43 s).",
				"It is never worse than “fair” in any column, and the only one besides ext2 for which that holds.",
				"f2fs, the next one, takes 1.38 times as long over all columns (1.27–1.50).",
			},
			Unsettled: []string{
				"ext4 against ext2: their ranges overlap; about 9 more rounds would settle it.",
				"xfs against f2fs: about 6 more rounds would settle it.",
			},
			Rule: "Geometric mean of the ratios to the best over Boot time, Mount time, Read, Seq. read, Write, Seq. write, Read-write-delete, Delete and Space; every column counts alike.",
		},
		{
			Name:    "read-only",
			Answer:  "Take erofs -zlz4hc,12: it reads faster than every other candidate.",
			Settled: true,
			Ranks: []verdict.Place{
				place("erofs -zlz4hc,12", 1.11, 0.03, 1, 1),
				place("squashfs -comp lzo", 1.24, 0.04, 2, 2),
				place("squashfs -comp xz", 1.47, 0.04, 3, 3),
			},
			Reasons: []string{
				"It reads the tree in 1.21 s (1.15–1.27 s); squashfs -comp lzo takes 1.26 times as long.",
				"squashfs -comp xz needs 31 % less space and reads 4.0 times as long: take that one where only space matters.",
			},
			Rule: "Geometric mean of the ratios to the best over Boot time, Mount time, Read and Space; every column counts alike.",
		},
	}
}

func sampleClaims() []verdict.Claim {
	return []verdict.Claim{
		{ID: "write-best-ext4", Text: "ext4 writes a file tree fastest.", Where: "observations table, “Write”", Result: verdict.Undecided, Figures: "ext4 2.31 s (2.20–2.43 s), ext2 2.39 s (2.24–2.55 s), xfs 2.42 s (2.22–2.64 s): within the margin"},
		{ID: "erofs-reads-fastest", Text: "EROFS reads a file tree fastest of all.", Where: "slide “What to remember”", Result: verdict.Agrees, Figures: "erofs -zlz4hc,12 1.21 s (1.15–1.27 s), next squashfs -comp lzo 1.52 s (1.38–1.67 s)"},
		{ID: "squashfs-smallest", Text: "SquashFS needs the least space.", Where: "slide “What to remember”", Result: verdict.Agrees, Figures: "squashfs -comp xz 32.6 MB, squashfs -comp lzo 41.8 MB, next erofs -zlz4hc,12 47.2 MB"},
		{ID: "xfs-stream", Text: "XFS writes a stream fastest.", Where: "observations table, “Seq. write”", Result: verdict.Agrees, Figures: "xfs 1.08 s (1.04–1.12 s), next ext4 1.21 s (1.13–1.29 s)"},
		{ID: "nilfs2-deletes-fastest", Text: "NILFS2 deletes fastest.", Where: "observations table, “Delete”", Result: verdict.Agrees, Figures: "nilfs2 0.19 s (0.18–0.20 s), next ext4 0.41 s (0.38–0.44 s)"},
		{ID: "btrfs-deletes-slowest", Text: "Btrfs deletes slowest.", Where: "observations table, “Delete”", Result: verdict.Disagrees, Figures: "vfat 2.13 s (1.94–2.34 s), btrfs -m single 1.42 s (1.35–1.49 s)"},
		{ID: "order-read", Text: "The published order of “Read”.", Where: "observations table", Result: verdict.Agrees, Figures: "tau-b 0.71 over 7 rows", Tau: 0.71, HasTau: true},
		{ID: "raw-4k", Text: "Raw writes below 4 KiB are inefficient, and larger sequential blocks gain nothing.", Where: "slide “dd 64M writing time by block size”", Result: verdict.NotTested, Figures: "raw writes to the device are not part of this run"},
	}
}

func samplePublished() verdict.Published {
	p := verdict.Published{Name: "Our observations", Source: "Opdenacker, Finding the Best Block Filesystem, 2023, slide 69"}
	for _, c := range sampleColumns {
		p.Columns, p.Names = append(p.Columns, c.Key), append(p.Names, c.Name)
	}
	theirs := map[string][9]string{
		"ext4":     {"very good", "very good", "fair", "good", "best", "very good", "good", "good", "good"},
		"XFS":      {"bad", "average", "fair", "good", "very good", "best", "average", "fair", "fair"},
		"Btrfs":    {"worst", "good", "fair", "good", "good", "good", "fair", "worst", "good"},
		"F2FS":     {"fair", "average", "good", "good", "fair", "very good", "very good", "average", "worst"},
		"NILFS2":   {"bad", "worst", "fair", "worst", "worst", "worst", "best", "best", "fair"},
		"SquashFS": {"excellent", "best", "very good", "", "", "", "", "", "best"},
		"EROFS":    {"best", "best", "best", "", "", "", "", "", "very good"},
	}
	stands := [][2]string{{"ext4", "ext4"}, {"XFS", "xfs"}, {"Btrfs", "btrfs -m single"}, {"F2FS", "f2fs"}, {"NILFS2", "nilfs2"}, {"SquashFS", "squashfs -comp lzo"}, {"EROFS", "erofs -zlz4hc,12"}}
	for _, s := range stands {
		row := verdict.PublishedRow{Label: s[0], Candidate: s[1]}
		for i := range sampleColumns {
			row.Theirs = append(row.Theirs, theirs[s[0]][i])
			ours := ""
			for _, cell := range sampleColumn(i).Cells {
				if cell.Candidate == s[1] {
					ours = cell.Grade.String()
				}
			}
			row.Ours = append(row.Ours, ours)
		}
		p.Rows = append(p.Rows, row)
	}
	for i, v := range []float64{0.81, 0.74, 0.71, 0.55, 0.60, 0.67, 0.80, 0.40, -0.12} {
		p.Taus = append(p.Taus, verdict.Tau{Has: i != 3, Value: v, N: 7})
	}
	p.Taus[3].N = 3
	return p
}

func samplePhase(name string, i int, bytes bool, only func(sampleRow) bool) verdict.Phase {
	p := verdict.Phase{Name: name, Bytes: bytes}
	for j, r := range sampleRows {
		if !only(r) || math.IsNaN(r.figures[i]) {
			continue
		}
		wall := r.figures[i]
		f := map[string]verdict.Figure{
			result.Wall:          {Estimate: sampleInterval(wall, 0.05), Unit: "s"},
			result.CPUUser:       {Estimate: sampleInterval(wall*0.04, 0.1), Unit: "s"},
			result.CPUSystem:     {Estimate: sampleInterval(wall*0.31, 0.06), Unit: "s"},
			result.CPUKernel:     {Estimate: sampleInterval(wall*0.11, 0.2), Unit: "s"},
			result.CPUFilesystem: {Absent: "ext4 has no kernel threads of its own", Unit: "s"},
			result.DeviceRead:    {Estimate: verdict.Interval{Value: float64(4096 * (j + 3)), N: 3}, Unit: "B"},
			result.DeviceWritten: {Estimate: sampleInterval(31e6*(1+float64(j)/20), 0.01), Unit: "B"},
			result.DeviceReads:   {Estimate: verdict.Interval{Value: float64(j + 3), N: 3}, Unit: "1"},
			result.DeviceWrites:  {Estimate: verdict.Interval{Value: 512 + 77*float64(j), N: 3}, Unit: "1"},
			result.DeviceFlushes: {Estimate: verdict.Interval{Value: float64(j % 4), N: 3}, Unit: "1"},
			result.DeviceBusy:    {Estimate: sampleInterval(wall*0.8, 0.06), Unit: "s"},
			result.MemFreeBefore: {Estimate: verdict.Interval{Value: 812e6, N: 3}, Unit: "B"},
			result.MemFreeAfter:  {Estimate: verdict.Interval{Value: 741e6 - 3e6*float64(j), N: 3}, Unit: "B"},
		}
		if !strings.HasPrefix(r.name, "ext") {
			f[result.CPUFilesystem] = verdict.Figure{Estimate: sampleInterval(wall*0.07, 0.2), Unit: "s"}
		}
		p.Rows = append(p.Rows, verdict.PhaseCost{Candidate: r.name, Figures: f})
	}
	return p
}

var sampleConsole = []string{
	"[   14.201931] BTRFS info (device vdb): using crc32c (crc32c-generic) checksum algorithm",
	"[   14.262702] BTRFS info (device vdb): use lzo compression, level 0",
	"[   17.940011] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [kworker/u2:1:21]",
	"[   17.940340] Modules linked in: btrfs blake2b_generic xor zstd_compress raid6_pq libcrc32c overlay erofs virtio_blk",
	"[   17.941022] CPU: 0 PID: 21 Comm: kworker/u2:1 Not tainted 6.1.0-56-amd64 #1  Debian 6.1.170-1",
}

// sample returns the made-up run.
func sample() (verdict.Verdict, []result.Trial) {
	start := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	v := verdict.Verdict{
		Title:  "Finding the Best Block Filesystem",
		Source: "Michael Opdenacker, Bootlin, Embedded Open Source Summit 2023",
		Reach:  "These figures come from an emulated machine: order and ratio between filesystems can be trusted within their intervals, seconds cannot, and neither can the order between compression methods.",
		Run: result.Run{
			ID: "20260314-092653-bootlin-2023", Study: "bootlin-2023", Scale: "quick", Machine: "lab", Storage: "disk:1G",
			Seed: 4242, Rounds: 3, Margin: 0.10, Version: "0.1.0", Emulated: true, Started: start, Ended: start.Add(341 * time.Second),
			State: result.Finished, Active: 341, Conditions: sampleConditions(),
			Notes: []result.Note{{Level: result.Info, Text: "the tree leaves out 3 device nodes and 1 socket"}},
		},
		Uses:   sampleUses(),
		Claims: sampleClaims(),
		Tables: []verdict.Published{samplePublished()},
		Warnings: []string{
			"Three rounds cannot resolve differences below about 20 %: most neighbours in the tables are undecided.",
			"The fixed raw write before each trial drifted by 12 % during the run.",
		},
		Trials: verdict.Trials{
			Planned: 36, Done: 33, Subject: 3, Lab: 0, Retried: 1, Unsupported: 1, Overhead: 0.187, Active: 341,
			Failures: []verdict.Failure{
				{Candidate: "jfs", Round: 1, Attempt: 1, Outcome: result.SubjectFailed, Phase: "check", Reason: "fsck.jfs: exit status 4: errors left uncorrected", Hint: "whichfs lab shell shows the image that it left"},
				{Candidate: "btrfs -m single -o compress=lzo", Round: 2, Attempt: 1, Outcome: result.LabFailed, Phase: "write", Reason: "the guest answered nothing for 60 s", Hint: "a second try on a fresh guest succeeded", Console: slices.Clone(sampleConsole)},
			},
		},
	}
	for i := range sampleColumns {
		v.Columns = append(v.Columns, sampleColumn(i))
	}
	check := sampleColumn(2)
	check.Key, check.Name, check.About = "check", "Check", "a check without repair"
	module := sampleColumn(8)
	module.Key, module.Name, module.About = "module-size", "Module size", "module file and its dependencies, as stored"
	v.Extra = []verdict.Column{module, check}
	for _, r := range sampleRows {
		c := verdict.Candidate{Name: r.name, ReadOnly: r.readOnly, Done: 3, Outcome: result.Done, Checks: "clean in 3 of 3 trials"}
		switch {
		case r.name == "btrfs -m single -o compress=lzo":
			c.Options = []result.Option{
				{Text: "-m single", State: result.InForce, Evidence: "btrfs inspect-internal dump-super: metadata profile single"},
				{Text: "compress=lzo", State: result.InForce, Evidence: "/proc/mounts: compress=lzo"},
			}
		case r.name == "btrfs -m single":
			c.Options = []result.Option{{Text: "-m single", State: result.InForce, Evidence: "metadata profile single"}}
		case r.name == "erofs -zlz4hc,12":
			c.Options = []result.Option{{Text: "-zlz4hc,12", State: result.Unverified, Evidence: "the image says lz4; it does not record the level"}}
			c.Checks = "no check tool for images"
		case r.name == "squashfs -comp xz":
			c.Options = []result.Option{{Text: "-comp xz", State: result.Altered, Evidence: "superblock: compression xz, dictionary 100 %"}}
		case r.name == "vfat":
			c.LeftOut = []string{"212 symbolic links: vfat cannot hold them", "41 names: vfat does not allow a colon"}
			c.Checks = "fsck.vfat: clean in 2 of 3 trials, “dirty bit is set” in 1"
		case r.name == "nilfs2":
			c.Checks = "no check tool exists for nilfs2"
		}
		v.Candidates = append(v.Candidates, c)
		v.Run.Candidates = append(v.Run.Candidates, r.name)
	}
	v.Candidates = append(v.Candidates,
		verdict.Candidate{Name: "jfs", Outcome: result.SubjectFailed, Reason: "fsck.jfs: exit status 4: errors left uncorrected", Checks: "errors left uncorrected in 3 of 3 trials"},
		verdict.Candidate{Name: "reiserfs", Outcome: result.Unsupported, Reason: "this kernel has no module reiserfs", Hint: "install linux-image-amd64 6.1 (Debian 12), or leave it out with --candidates"})
	v.Run.Candidates = append(v.Run.Candidates, "jfs", "reiserfs")
	all := func(sampleRow) bool { return true }
	writable := func(r sampleRow) bool { return !r.readOnly }
	v.Phases = []verdict.Phase{
		samplePhase("mount", 1, false, all),
		samplePhase("write", 4, true, writable),
		samplePhase("read", 2, true, all),
		samplePhase("read-write", 6, true, writable),
		samplePhase("remove", 7, false, writable),
	}
	return v, sampleTrials(v)
}

func sampleTrials(v verdict.Verdict) []result.Trial {
	var trials []result.Trial
	at := v.Run.Started
	for round := 1; round <= 3; round++ {
		for place := range len(sampleRows) {
			r := sampleRows[(place*5+round*3)%len(sampleRows)]
			t := result.Trial{ID: int64(len(trials) + 1), Round: round, Place: place + 1, Candidate: r.name, Attempt: 1, Outcome: result.Done, Started: at, Overhead: 1.62}
			if r.name == "btrfs -m single -o compress=lzo" && round == 2 {
				failed := t
				failed.Outcome, failed.Phase, failed.Reason = result.LabFailed, "write", "the guest answered nothing for 60 s"
				failed.Console, failed.Ended = slices.Clone(sampleConsole), at.Add(60*time.Second)
				trials = append(trials, failed)
				at = failed.Ended
				t.ID, t.Attempt, t.Started = t.ID+1, 2, at
			}
			at = at.Add(8 * time.Second)
			t.Ended = at
			noise := 1 + 0.01*float64((round*7+place)%5-2)
			for _, p := range []struct {
				phase string
				col   int
			}{{"mount", 1}, {"write", 4}, {"read", 2}, {"remove", 7}} {
				w := r.figures[p.col]
				if math.IsNaN(w) {
					continue
				}
				t.Measurements = append(t.Measurements,
					result.Measurement{Phase: p.phase, Metric: result.Wall, Value: math.Round(w*noise*1e6) / 1e6, Unit: "s"},
					result.Measurement{Phase: p.phase, Metric: result.DeviceFlushes, Value: float64(place % 4), Unit: "1"})
				if strings.HasPrefix(r.name, "ext") {
					t.Measurements = append(t.Measurements, result.Measurement{Phase: p.phase, Metric: result.CPUFilesystem, Unit: "s", Absent: "ext4 has no kernel threads of its own"})
				}
				if p.phase == "write" || p.phase == "read" {
					t.Measurements = append(t.Measurements, result.Measurement{Phase: p.phase, Metric: result.DataBytes, Value: 31e6, Unit: "B"})
				}
			}
			trials = append(trials, t)
		}
		trials = append(trials, result.Trial{ID: int64(len(trials) + 1), Round: round, Place: 12, Candidate: "jfs", Attempt: 1, Outcome: result.SubjectFailed, Phase: "check",
			Reason: "fsck.jfs: exit status 4: errors left uncorrected", Started: at, Ended: at.Add(9 * time.Second), Overhead: 1.6})
		at = at.Add(9 * time.Second)
	}
	for i := range trials {
		trials[i].Notes = []result.Note{{Phase: "mount", Level: result.Info, Text: fmt.Sprintf("mounted with %s", strings.Fields(trials[i].Candidate)[0])}}
	}
	return trials
}
