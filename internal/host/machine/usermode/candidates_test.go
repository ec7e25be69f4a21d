package usermode

import (
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/testing/parsed"
)

// fastDisk keeps tests short, and supports discards.
const fastDisk = "sim:nvme,1G"

// issued are candidates that must work whether or not a study has them, in addition to each
// filesystem with its tools' defaults.
var issued = []string{
	"ext4 -J device=memory", "ext3 -J device=memory", "ext4 -O ^has_journal", "btrfs -m single", "btrfs -m dup",
	"btrfs -m single -o compress=none", "btrfs -m single -o compress=lzo",
	"btrfs -m single -o compress=zlib", "btrfs -m single -o compress=zstd",
	"btrfs -m single -o ssd", "btrfs -m single -o nossd", "btrfs -m single -o ssd_spread",
	"f2fs -o lazytime", "f2fs -o atgc,gc_merge",
	"f2fs -O compression,extra_attr -o compress_algorithm=lzo,compress_extension=*",
	"f2fs -O compression,extra_attr -o compress_algorithm=lz4,compress_extension=*",
	"f2fs -O compression,extra_attr -o compress_algorithm=zstd,compress_extension=*",
	"f2fs -O compression,extra_attr -o compress_algorithm=lzo-rle,compress_extension=*",
	"squashfs -comp gzip", "squashfs -comp lzo", "squashfs -comp xz", "squashfs -comp lz4", "squashfs -comp zstd",
	"erofs -zlz4", "erofs -zlz4hc", "erofs -zlz4hc,12", "erofs -zlz4hc,12 -C65536",
}

// missing is what the lab lacks for candidates with these options.
var missing = map[string]string{
	"cleanerd=on": "this kernel has no POSIX message queues", // QEMU's has, see its TestDaemon
	"threads=":    "this kernel's driver does not take -o threads=",
	"-zlzma":      "mkfs.erofs was built without lzma",
	"-zdeflate":   "mkfs.erofs was built without deflate",
	"-zzstd":      "mkfs.erofs was built without zstd",
}

// moduleCounts are filesystems that need libcrc32c and the checksum that it requests, which the guest's own root has
// loaded: both count for each of them.
var moduleCounts = map[string]float64{"erofs": 4, "xfs": 3, "btrfs": 13}

// One guest runs a trial of every candidate of every study with little data: a filesystem's defaults, an
// image and zstd in the widest of their scenarios, and other options in what they may prevent.
func TestEveryCandidate(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: fastDisk, Data: machinetest.TinyData(t)})
	candidates := slices.Clone(issued)
	for _, x := range triedWith(t, "holds") {
		if reason, _ := x.c.Misfit(1 << 30); reason == "" {
			candidates = append(candidates, x.Line)
		}
	}
	for _, st := range study.All {
		for _, name := range []string{"full", "quick"} {
			for _, line := range st.Scales[name].Candidates {
				c, err := filesystem.Parse(line)
				if err != nil {
					t.Fatal(err)
				}
				// Those for raw flash are tried on a chip (TestEveryRawCandidate).
				if elsewhere, _ := c.Misplaced(false); elsewhere == "" && !slices.Contains(candidates, line) {
					candidates = append(candidates, line)
				}
			}
		}
	}
	support, err := s.Support(t.Context(), parsed.Candidates(candidates...))
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	wide := study.Bootlin2023()
	narrow := slices.Concat(scenario.Scenario{{Work: "discard"}, {Work: "module-load", Phase: "module-load"}}, short)
	for i, candidate := range candidates {
		t.Run(strings.ReplaceAll(candidate, " ", "_"), func(t *testing.T) {
			c, err := filesystem.Parse(candidate)
			if err != nil {
				t.Fatal(err)
			}
			said := support.Candidates[i]
			for word, why := range missing {
				if strings.Contains(candidate, word) {
					if said.Outcome != result.Unsupported || !strings.Contains(said.Reason, why) {
						t.Errorf("%+v", said)
					}
					return
				}
			}
			if said.Reason != "" {
				t.Errorf("not supported: %s: %s", said.Outcome, said.Reason)
			}
			steps := narrow
			if c.Filesystem().ReadOnly || candidate == c.FS || strings.Contains(candidate, "zstd") {
				steps = wide.Scenario(c.Filesystem().ReadOnly, wide.Scales["quick"])
			}
			got := machinetest.CarryOut(t, s, candidate, steps)
			machinetest.CheckTrial(t, c, got)
			if n := got.Figures["module-load"][result.ModuleCount].Value; moduleCounts[candidate] > 0 && n != moduleCounts[candidate] {
				t.Errorf("%v modules", n)
			}
		})
	}
}
