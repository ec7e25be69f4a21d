package filesystem

import (
	"encoding/binary"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// Vfat is FAT with long names.
func Vfat() Filesystem {
	return Filesystem{
		Name: "vfat", Title: "VFAT", Module: "vfat",
		// Debian's kernel: FAT_DEFAULT_CODEPAGE=437, FAT_DEFAULT_IOCHARSET=ascii.
		Codecs: map[string][]string{
			"": {"nls_cp437", "nls_ascii"}, "utf8": {"nls_utf8"}, "iso8859-1": {"nls_iso8859_1"}, "850": {"nls_cp850"},
		},
		Lacks: func(Candidate) Lacks { return fatLacks(1<<32 - 1) },
		Needs: []Tool{
			{Program: "mkfs.vfat", Package: "dosfstools"},
			{Program: "fsck.vfat", Package: "dosfstools", Optional: true},
		},
		MinSize: vfatMinSize,
		MaxSize: vfatMaxSize,
		// -I allows a whole disk without a partition table.
		Make:       mkfs("mkfs.vfat", "-I"),
		Check:      func(device string) []string { return []string{"fsck.vfat", "-n", device} },
		ReadCheck:  readVfatCheck,
		Repair:     repairs([]string{"fsck.vfat", "-a", "-w"}),
		ReadRepair: readVfatRepair,
		Promises:   unjournaled("Microsoft, FAT32 File System Specification 1.03"),
		Tune:       noTuning("mkfs.vfat aligns its clusters to their own size and has no option for anything larger."),
		Verify:     verifyVfat,
		Properties: vfatProperties,
		Magics:     fatMagics,
		says:       fatSays,
		syntax:     vfatSyntax,
		Abilities: map[Ability]Means{
			Relabel: steps(func(o Object) [][]string { return [][]string{{"fatlabel", o.Device, o.Label}} }),
			NewUUID: steps(func(o Object) [][]string { return [][]string{{"fatlabel", "-i", o.Device, anyUUID[:8]}} }),
		},
		Facts: Facts{
			Year: 1995, Design: "plain", DatesUntil: "2107",
			MaxFile: "4 GiB - 1", MaxSize: "2 TiB",
			Source: "whichfs lab (Linux 6.1, dosfstools 4.2); year: Windows 95; sizes: Microsoft, FAT32 File System Specification 1.03",
		},
	}
}

// vfatSyntax is mkfs.fat(8), dosfstools 4.2.
var vfatSyntax = syntax{
	Short: "aAb:cCD:f:F:g:h:i:Il:m:M:n:r:R:s:S:v",
	Long:  map[string]bool{"codepage": true, "help": false, "invariant": false, "mbr": false, "offset": true, "variant": true},
}

// vfatMinSize: as tried in the laboratory; a FAT of 16 bits needs more than
// 4084 clusters.
func vfatMinSize(c Candidate) int64 {
	if v, _ := makeValue(c, vfatSyntax, "-F"); v == "16" {
		return 8208 * kib
	}
	return 52 * kib
}

// vfatMaxSize: sector numbers have 32 bits, and mkfs.vfat leaves the space beyond them unused. A
// FAT of 16 or 12 bits has fewer clusters than 2^16 and 2^12, each of at most 64 KiB as made by
// mkfs.vfat.
func vfatMaxSize(c Candidate) (most int64, with string) {
	switch v, _ := makeValue(c, vfatSyntax, "-F"); v {
	case "16":
		return 4*gib - mib, "-F 32"
	case "12":
		return 256*mib - mib, "-F 32"
	}
	if sector := makeSize(c, vfatSyntax, "-S"); sector > 0 {
		return sector << 32, ""
	}
	return 2 * tib, "-S 4096"
}

// readVfatCheck reads the exit status of fsck.fat(8): 1 errors, 2 usage. It also returns 1 if it
// cannot open the device.
func readVfatCheck(status int, output string) CheckResult {
	switch {
	case status == 0:
		return CheckResult{Clean: true}
	case status == 1 && !cannotOpen(output):
		return dirty(status, fatFindings(output))
	}
	return broken(status, output)
}

// readVfatRepair reads the output of fsck.fat(8), whose status 1 covers what it corrected, what it
// could not correct, and a device that it could not open: it counts files and clusters only at the
// end of its work.
func readVfatRepair(status int, output string) RepairResult {
	done := lineWith(output, " clusters") != ""
	switch {
	case status == 0:
		return nothingToMend()
	case status == 1 && done:
		return RepairResult{WasMended, dirty(status, fatFindings(output)).Reason}
	case status == 1 && !cannotOpen(output) && output != "":
		return RepairResult{NotMended, dirty(status, fatFindings(output)).Reason}
	}
	return mendBroken(status, output)
}

// fatFindings returns the first line of fsck.fat about the filesystem rather than about itself.
func fatFindings(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "fsck.fat ") || strings.HasPrefix(line, "Cannot initialize conversion") || strings.HasPrefix(line, "Using internal") {
			continue
		}
		return line
	}
	return ""
}

func verifyVfat(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, 0, 512, binary.LittleEndian, 510, "\x55\xaa")
	out := verifyMake(c, vfatSyntax, err, func(o makeOption) finding { return vfatOption(s, o) })
	return append(out, verifyMount(c, seen, fatMount)...)
}

// fatBits returns the width of the FAT's entries by the number of clusters, as the specification
// requires.
func fatBits(s super) int64 {
	sector, cluster := s.u16(11), s.u8(13)
	sectors, fat := s.u16(19), s.u16(22)
	if sectors == 0 {
		sectors = s.u32(32)
	}
	if fat == 0 {
		fat = s.u32(36)
	}
	if sector == 0 || cluster == 0 {
		return 0
	}
	root := (s.u16(17)*32 + sector - 1) / sector
	clusters := (sectors - s.u16(14) - s.u8(16)*fat - root) / cluster
	switch {
	case s.u16(22) == 0: // only FAT32 has no 16-bit size, however few clusters
		return 32
	case clusters < 4085:
		return 12
	}
	return 16
}

func vfatOption(s super, o makeOption) finding {
	bits := fatBits(s)
	label, serial := 43, 39
	if bits == 32 {
		label, serial = 71, 67
	}
	switch o.Flag {
	case "-F":
		return compareSize("FAT bits", o.Value, bits)
	case "-s":
		return compareSize("sectors in a cluster", o.Value, s.u8(13))
	case "-S":
		return compareSize("sector size", o.Value, s.u16(11))
	case "-f":
		return compareSize("copies of the FAT", o.Value, s.u8(16))
	case "-R":
		return compareSize("reserved sectors", o.Value, s.u16(14))
	case "-r":
		return compareSize("root directory entries", o.Value, s.u16(17))
	case "-n":
		return compare("label", strings.ToUpper(o.Value), s.text(label, 11))
	case "-i":
		if n, err := strconv.ParseUint(o.Value, 16, 32); err == nil {
			return compare("volume number", int64(n), s.u32(serial))
		}
	case "-I", "-v", "-c", "--invariant":
		return traceless()
	}
	return unseen()
}

func vfatProperties(Candidate) Properties {
	return fatProperties("Microsoft, FAT32 File System Specification 1.03")
}
