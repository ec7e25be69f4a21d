package filesystem

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// Exfat is FAT's successor on large cards.
func Exfat() Filesystem {
	return Filesystem{
		Name: "exfat", Title: "exFAT", Module: "exfat",
		Codecs: map[string][]string{"ascii": {"nls_ascii"}, "iso8859-1": {"nls_iso8859_1"}, "cp437": {"nls_cp437"}},
		Lacks:  func(Candidate) Lacks { return fatLacks(0) },
		Needs: []Tool{
			{Program: "mkfs.exfat", Package: "exfatprogs"},
			{Program: "fsck.exfat", Package: "exfatprogs", Optional: true},
		},
		MinSize: exfatMinSize,
		MaxSize: most(128 << 10 * tib),
		// exfatprogs 1.2 has neither a quiet nor a force option.
		Make:       mkfs("mkfs.exfat"),
		Check:      func(device string) []string { return []string{"fsck.exfat", "-n", device} },
		ReadCheck:  readExfatCheck,
		Repair:     repairs([]string{"fsck.exfat", "-y"}),
		ReadRepair: readExfatRepair,
		Promises:   unjournaled("Microsoft, exFAT file system specification"),
		Tune:       tuneExfat,
		Verify:     verifyExfat,
		Properties: exfatProperties,
		Magics:     fatMagics,
		says:       fatSays,
		syntax:     exfatSyntax,
		Abilities: map[Ability]Means{
			Relabel: steps(func(o Object) [][]string { return [][]string{{"exfatlabel", o.Device, o.Label}} }),
			NewUUID: steps(func(o Object) [][]string { return [][]string{{"exfatlabel", "-i", o.Device, "0x" + anyUUID[:8]}} }),
		},
		Facts: Facts{
			Year: 2006, Design: "plain", DatesUntil: "2107",
			MaxFile: "128 PiB", MaxSize: "128 PiB",
			Source: "whichfs lab (Linux 6.1, exfatprogs 1.2); year: Windows CE 6.0; sizes: Microsoft, exFAT file system specification",
		},
	}
}

// exfatMinSize: the FAT begins on one boundary and the clusters on the next, and five clusters hold
// the filesystem's own files with one left free; as tried in the laboratory for two boundaries.
func exfatMinSize(c Candidate) int64 {
	boundary := mib
	if n := makeSize(c, exfatSyntax, "-b", "--boundary-align"); n > 0 {
		boundary = min(n, mib)
	}
	return 2*boundary + 20*kib
}

// readExfatCheck reads the exit status of fsck.exfat(8): 1 corrected, 4 errors
// left, 8 operational error, 16 usage.
func readExfatCheck(status int, output string) CheckResult {
	switch {
	case status == 0 && !strings.Contains(output, "corrupted"):
		return CheckResult{Clean: true}
	case status >= 0 && status < 8, strings.Contains(output, "does not describe a valid exfat"):
		return dirty(status, output, "ERROR:", "corrupted", "does not describe")
	}
	return broken(status, output)
}

// readExfatRepair reads the exit status of fsck.exfat(8): 1 corrected, 4 errors
// left, 8 operational error, 16 usage.
func readExfatRepair(status int, output string) RepairResult {
	switch {
	case status == 0 && strings.Contains(output, "clean"):
		return nothingToMend()
	case status == 0 || status == 1:
		return mended(status, output, "ERROR:", "orrupted", "Fix", "clean")
	case status == 4 || strings.Contains(output, "does not describe a valid exfat"):
		return notMended(status, output, "ERROR:", "does not describe", "orrupted")
	}
	return mendBroken(status, output)
}

// exfatSyntax is mkfs.exfat(8), exfatprogs 1.2.
var exfatSyntax = syntax{
	Short: "n:L:U:s:c:b:fVqvh",
	Long: map[string]bool{
		"volume-label": true, "volume-guid": true, "cluster-size": true, "boundary-align": true, "full-format": false,
		"pack-bitmap": false, "sector-size": true, "quiet": false, "verbose": false, "version": false, "help": false,
	},
}

func verifyExfat(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 0, 512, binary.LittleEndian, 3, "EXFAT   ")
	out := verifyMake(c, exfatSyntax, err, func(o makeOption) finding {
		sector := int64(1) << min(s.u8(108), 16)
		switch o.Flag {
		case "-c", "--cluster-size":
			return compareSize("cluster size", o.Value, sector<<min(s.u8(109), 25))
		case "-s", "--sector-size":
			return compareSize("sector size", o.Value, sector)
		case "-b", "--boundary-align":
			// Both the FAT and the clusters begin on the boundary.
			if n, ok := size(o.Value); ok && n > 0 {
				return onOff("clusters begin on the boundary", true, s.u32(88)*sector%n == 0)
			}
		case "-q", "-v", "-f", "--full-format", "--quiet", "--verbose":
			return traceless()
		}
		return unseen()
	})
	return append(out, verifyMount(c, seen, fatMount)...)
}

func exfatProperties(Candidate) Properties {
	return fatProperties("Microsoft, exFAT file system specification")
}

// exfatDefault is mkfs.exfat's own boundary.
const exfatDefault = mib

func tuneExfat(g Geometry) Tuning {
	switch {
	case g.Segment == 0:
		return Tuning{Reason: noSegment}
	case g.Segment&(g.Segment-1) != 0:
		return Tuning{Reason: fmt.Sprintf("Its boundary must be a power of two, and the storage's segment of %s is not.", amount(g.Segment))}
	case g.Segment <= exfatDefault:
		return Tuning{Reason: "FAT and clusters begin on multiples of 1 MiB by default, which fits."}
	}
	words := []string{"-b", strconv.FormatInt(g.Segment, 10)}
	return Tuning{Words: words, Reason: fmt.Sprintf("FAT and clusters then begin on segments of %s.", amount(g.Segment))}
}
