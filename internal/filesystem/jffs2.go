package filesystem

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"whichfs/internal/result"
)

// Jffs2 is the log-structured filesystem that works directly on raw flash: its log is the chip, and
// mounting reads it.
func Jffs2() Filesystem {
	return Filesystem{
		Name: "jffs2", Title: "JFFS2", Module: "jffs2",
		Ways: []Way{WayMTD, WayImage, WaySummary}, Raw: true,
		// In some kernels the compressors that its module depends on are separate modules, listed
		// in modules.dep: nothing is requested later.
		Needs: []Tool{
			{Program: "flash_erase", Package: "mtd-utils"},
			{Program: "mkfs.jffs2", Package: "mtd-utils"},
			{Program: "sumtool", Package: "mtd-utils"},
		},
		MinSize:    jffs2MinSize,
		MaxSize:    most(4 * gib),
		Lacks:      func(Candidate) Lacks { return Lacks{MaxFile: 1<<31 - 1} },
		Make:       jffs2Erase,
		FlashImage: jffs2Image,
		NoCheck:    "mtd-utils has no check program for it",
		NoRepair:   "mtd-utils has no program that repairs it",
		Tune:       noTuning("It takes the chip's erase blocks as they are."),
		Verify:     verifyJffs2,
		Threads:    []string{"jffs2_gcd_%d"},
		Properties: jffs2Properties,
		says: says{ // fs/jffs2; UBI and MTD log messages, too
			Tags:   []string{"jffs2", "ubi", "nand"},
			Replay: []string{"empty flash"},
			Errors: []string{"crc", "uncorrect", "jffs2: warning"},
			Idle:   []string{"corrupted pebs: 0", "bad pebs: 0", "xattr subsystem", "module verification"},
		},
		syntax: jffs2Syntax,
		Facts: Facts{
			Year: 2001, Design: "log-structured", Compression: "lzo, zlib, rtime", DatesUntil: "2106",
			MaxFile: "2 GiB", MaxSize: "4 GiB",
			Source: "whichfs lab (Linux 6.1, mtd-utils 2.1.5); year: D. Woodhouse, JFFS: The Journalling Flash File System, 2001; sizes (32-bit offsets): fs/jffs2 of Linux 6.1",
		},
	}
}

// jffs2Erase makes an empty filesystem: every block is erased and marked as completely erased. The
// driver would erase a block without the mark again, in the background after the first mount, which
// would affect the following measurements.
func jffs2Erase(_ Candidate, device string) []string {
	return []string{"flash_erase", "-q", "-j", device, "0", "0"}
}

// jffs2Syntax is mkfs.jffs2(1), mtd-utils 2.1.5.
var jffs2Syntax = syntax{
	Short: "D:d:r:s:o:qUPfh?vVe:lbp::nc:m:x:X:Lty:i:",
	Long: map[string]bool{
		"devtable": true, "root": true, "pagesize": true, "eraseblock": true, "output": true, "pad": false, "cleanmarker": true,
		"compression-mode": true, "disable-compressor": true, "enable-compressor": true, "compressor-priority": true,
		"list-compressors": false, "test-compression": false, "no-cleanmarkers": false, "little-endian": false, "big-endian": false,
		"faketime": false, "squash": false, "squash-uids": false, "squash-perms": false, "with-xattr": false,
		"with-selinux": false, "with-posix-acl": false, "help": false, "verbose": false, "version": false, "incremental": true,
	},
	Files: []string{"-d", "-r", "--root", "--output", "-D", "--devtable", "-i", "--incremental"},
}

// jffs2MinSize: the kernel needs five erase blocks ("Too few erase blocks (4)"), tried with blocks
// of 16 and of 128 KiB. It is a lower bound: the size of the blocks depends on the chip.
func jffs2MinSize(Candidate) int64 { return 5 * 16 * kib }

// jffs2Image: the nodes are those of a little-endian machine with memory pages of 4 KiB (the
// default), like all machines that whichfs runs on. A NAND chip has no cleanmarkers among its data.
func jffs2Image(c Candidate, eraseBlock int64, image, tree string) [][]string {
	block := strconv.FormatInt(eraseBlock, 10)
	made := image
	if c.Way == WaySummary {
		made = image + ".plain"
	}
	steps := [][]string{append(append([]string{"mkfs.jffs2", "-n", "-l", "-e", block}, c.Make()...), "-r", tree, "-o", made)}
	if c.Way == WaySummary {
		steps = append(steps, []string{"sumtool", "-n", "-l", "-e", block, "-i", made, "-o", image})
	}
	return steps
}

// jffs2Mount: jffs2_show_options of fs/jffs2/super.c.
var jffs2Mount = mountRules{Shown: []string{"compr", "rp_size"}}

func verifyJffs2(c Candidate, seen Evidence) []result.Option {
	var out []result.Option
	if c.Way == WaySummary {
		f := jffs2Summary(seen)
		out = append(out, result.Option{Text: "@" + string(c.Way), State: f.State, Evidence: f.Evidence})
	}
	var n jffs2Nodes
	var err error
	if c.Way.Image() && len(c.Make()) > 0 {
		n, err = readJffs2(seen)
	}
	switch {
	case c.Way.Image():
		out = append(out, verifyMake(c, jffs2Syntax, err, func(o makeOption) finding { return jffs2Option(n, o) })...)
	default:
		for _, o := range jffs2Syntax.read(c.Make()) {
			out = append(out, result.Option{Text: o.Text, State: result.Ignored,
				Evidence: "it is an option of mkfs.jffs2, which makes images (jffs2@image has one); on the chip itself flash_erase makes the filesystem"})
		}
	}
	return append(out, verifyMount(c, seen, jffs2Mount)...)
}

// Constants of a node (Linux include/uapi/linux/jffs2.h).
const (
	jffs2Magic     = 0x1985
	jffs2Inode     = 0xe002
	jffs2SumMarker = 0x02851885
	// jffs2Window is how much of the image is examined: its first erase block, or the start of it.
	jffs2Window = 128 << 10
)

// jffs2Summary reads the end of the first erase block, which holds the place of the summary and a
// magic number.
func jffs2Summary(seen Evidence) finding {
	if seen.File == nil || seen.Read == nil {
		return found(result.Unverified, "the chip cannot be read here")
	}
	text, err := seen.File("/sys/class/mtd/" + seen.Device + "/erasesize")
	if err != nil {
		return found(result.Unverified, "the size of erase blocks is unknown: %v", err)
	}
	block, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || block < 8 {
		return found(result.Unverified, "the size of erase blocks is %q", text)
	}
	b, err := seen.Read(block-8, 8)
	if err != nil || len(b) < 8 {
		return found(result.Unverified, "cannot read the end of the first erase block: %v", err)
	}
	switch binary.LittleEndian.Uint32(b[4:]) {
	case jffs2SumMarker:
		return found(result.InForce, "the first erase block ends with a summary, from byte %d on", binary.LittleEndian.Uint32(b))
	case 0xffffffff:
		return found(result.Ignored, "the first erase block is not full, and sumtool makes no summary of the last one")
	default:
		return found(result.Ignored, "the first erase block does not end with a summary")
	}
}

// jffs2Nodes counts the nodes with data by their compression.
type jffs2Nodes map[string]int

var jffs2Compressors = map[byte]string{0: "none", 1: "zero", 2: "rtime", 6: "zlib", 7: "lzo"}

// readJffs2 walks through the nodes at the start of the chip.
func readJffs2(seen Evidence) (jffs2Nodes, error) {
	s, err := readSuper(seen, 0, jffs2Window, binary.LittleEndian, 0, "\x85\x19")
	if err != nil {
		return nil, err
	}
	n := jffs2Nodes{}
	for at := 0; at+68 <= len(s.b) && s.u16(at) == jffs2Magic; {
		length := int(s.u32(at + 4))
		if length < 12 {
			return nil, fmt.Errorf("a node at byte %d is %d bytes long", at, length)
		}
		if s.u16(at+2) == jffs2Inode && s.u32(at+52) > 0 {
			name, known := jffs2Compressors[s.b[at+56]]
			if !known {
				name = fmt.Sprintf("compressor %d", s.b[at+56])
			}
			n[name]++
		}
		at += (length + 3) &^ 3
	}
	return n, nil
}

func (n jffs2Nodes) total() (all int) {
	for _, count := range n {
		all += count
	}
	return all
}

func jffs2Option(n jffs2Nodes, o makeOption) finding {
	all := n.total()
	plain := n["none"] + n["zero"]
	switch o.Flag {
	case "-m", "--compression-mode", "-x", "--disable-compressor", "-X", "--enable-compressor":
		if all == 0 {
			return found(result.Unverified, "the first erase block holds no data")
		}
	}
	switch o.Flag {
	case "-m", "--compression-mode":
		if o.Value != "none" {
			return found(result.Unverified, "it determines which compressor is tried first; the image does not show it")
		}
		if plain == all {
			return found(result.InForce, "none of the %d nodes with data in the first erase block is compressed", all)
		}
		return found(result.Ignored, "%d of the %d nodes with data in the first erase block are compressed", all-plain, all)
	case "-x", "--disable-compressor":
		if n[o.Value] > 0 {
			return found(result.Ignored, "%d of the %d nodes with data in the first erase block are %s", n[o.Value], all, o.Value)
		}
		return found(result.InForce, "none of the %d nodes with data in the first erase block is %s", all, o.Value)
	case "-X", "--enable-compressor":
		if n[o.Value] > 0 {
			return found(result.InForce, "%d of the %d nodes with data in the first erase block are %s", n[o.Value], all, o.Value)
		}
		if plain == all {
			return found(result.Unverified, "none of the %d nodes with data in the first erase block is compressed", all)
		}
		return found(result.Ignored, "none of the %d nodes with data in the first erase block is %s", all, o.Value)
	case "-y", "--compressor-priority", "-t", "--test-compression", "-v", "--verbose", "-f", "--faketime":
		return traceless()
	}
	return unseen()
}

// jffs2Properties: dates were tried; the kernel clamps later ones.
func jffs2Properties(c Candidate) Properties {
	const docs = "D. Woodhouse, JFFS: The Journalling Flash File System, 2001; fs/jffs2 of Linux 6.1"
	p := Properties{
		PowerLoss:     has("writes nodes to new places and ignores those with a wrong checksum", docs),
		Compression:   has("compresses with lzo, zlib or rtime, whichever the kernel has first", docs),
		Encryption:    lacks(noFscrypt, "Linux Documentation/filesystems/fscrypt"),
		Checksums:     has("verifies a checksum of each node with its data", docs),
		MetaChecksums: has("verifies a checksum of each node", docs),
		Journal:       lacks("is a log, without a separate journal", docs),
		Dates:         Dates{2106, "its times are 32-bit unsigned seconds", labSource},
	}
	for _, o := range c.Mount() {
		if method, ok := strings.CutPrefix(o, "compr="); ok && method != "none" {
			p.Compression = has("compresses with "+method, docs)
		} else if ok {
			p.Compression = lacksUnless("-o compr=zlib", "is mounted with compression disabled", docs)
		}
	}
	if value, ok := makeValue(c, jffs2Syntax, "-m", "--compression-mode"); ok && value == "none" && c.Way.Image() {
		p.Compression = lacksUnless("-m priority", "is made without compression", docs)
	}
	return p
}
