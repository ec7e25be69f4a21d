package filesystem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"whichfs/internal/fault/picture"
	"whichfs/internal/result"
)

// Udf is the filesystem of DVDs and Blu-ray discs, which systems of every vendor also read and
// write on disks and cards.
func Udf() Filesystem {
	return Filesystem{
		Name: "udf", Title: "UDF", Module: "udf",
		Lacks:      udfLacks,
		Needs:      []Tool{{Program: "mkudffs", Package: "udftools"}},
		MinSize:    udfMinSize,
		MaxSize:    udfMaxSize,
		Make:       udfMake,
		NoCheck:    "udftools has no check program",
		NoRepair:   "udftools has no program that repairs it",
		Promises:   unjournaled(udfDocs),
		Tune:       noTuning("mkudffs aligns to the packets of optical discs, and its blocks are the device's sectors."),
		Verify:     verifyUdf,
		Properties: udfProperties,
		Magics: []picture.Magic{
			{At: 32*kib + 1, Bytes: "BEA01", Name: "udf recognition sequence"},
			{At: picture.Anywhere, Bytes: "\x02\x00\x02\x00", Name: "udf anchor"}, {At: picture.Anywhere, Bytes: "\x02\x00\x03\x00", Name: "udf anchor"},
			{At: picture.Anywhere, Bytes: "\x09\x00\x02\x00", Name: "udf integrity descriptor"}, {At: picture.Anywhere, Bytes: "\x09\x00\x03\x00", Name: "udf integrity descriptor"},
			{At: picture.Anywhere, Bytes: "\x05\x01\x02\x00", Name: "udf file entry"}, {At: picture.Anywhere, Bytes: "\x0a\x01\x03\x00", Name: "udf file entry"},
		},
		says: says{ // fs/udf; it does not report a missing unmount
			Tags:   []string{"udf-fs"},
			Errors: []string{"udf-fs: warning"},
			// Lines of each block size that it tries in turn, and of the right one.
			Idle: []string{"info mounting volume", "no vrs found", "no anchor found", "scanning with blocksize"},
		},
		syntax: udfSyntax,
		Abilities: map[Ability]Means{
			Relabel: steps(func(o Object) [][]string { return [][]string{{"udflabel", o.Device, o.Label}} }),
			NewUUID: onDevice("udflabel", "--uuid=random"),
		},
		Facts: Facts{
			Year: 1995, Design: "plain", DatesUntil: "65535",
			MaxFile: "16 TiB - 1 KiB", MaxSize: "2 TiB (16 TiB with blocks of 4 KiB)",
			Source: "whichfs lab (Linux 6.1, udftools 2.3); year: OSTA Universal Disk Format Specification 1.00; sizes: 32-bit block numbers of ECMA-167",
		},
	}
}

const udfDocs = "OSTA Universal Disk Format Specification 2.01, ECMA-167; Linux Documentation/filesystems/udf, mkudffs(8)"

// udfSyntax is mkudffs(8), udftools 2.3.
var udfSyntax = syntax{
	Short: "l:u:b:m:r:nh",
	Long: map[string]bool{
		"label": true, "uuid": true, "blocksize": true, "media-type": true, "udfrev": true, "no-write": false, "new-file": false,
		"lvid": true, "vid": true, "vsid": true, "fsid": true, "fullvsid": true, "owner": true, "organization": true, "contact": true,
		"uid": true, "gid": true, "mode": true, "read-only": false, "bootarea": true, "strategy": true, "spartable": false,
		"sparspace": true, "packetlen": true, "vat": false, "startblock": true, "minblocks": true, "closed": false, "space": true,
		"ad": true, "noefe": false, "locale": false, "u8": false, "u16": false, "utf8": false, "help": false,
	},
}

// udfMake: on a whole disk mkudffs would write a partition table for Windows, with one partition
// that begins with the disk, and have the kernel read it. With --bootarea=erase it makes only the
// filesystem, as on a partition. The option comes last, because mkudffs needs the encoding first and
// the media type before what depends on it.
func udfMake(c Candidate, device string) []string {
	argv := append([]string{"mkudffs"}, c.Make()...)
	if _, given := makeValue(c, udfSyntax, "--bootarea"); !given {
		argv = append(argv, "--bootarea=erase")
	}
	return append(argv, device)
}

// udfBlock is the size of a block: by default the device's sector, which is 512 bytes nearly
// everywhere and never less.
func udfBlock(c Candidate) int64 {
	if n := makeSize(c, udfSyntax, "-b", "--blocksize"); n >= 512 {
		return n
	}
	return 512
}

// udfMinSize, as tried with mkudffs: in blocks, the anchors and descriptors, which are aligned to
// packets and doubled by a table of spare packets on rewritable discs. The driver mounts all of
// these.
func udfMinSize(c Candidate) int64 {
	block := udfBlock(c)
	media, _ := makeValue(c, udfSyntax, "-m", "--media-type")
	switch media {
	case "cdrw":
		return 1510 * block
	case "dvdrw":
		return 1398 * block
	case "bdr":
		return 320 * block
	}
	blocks := map[int64]int64{512: 93, 1024: 55, 2048: 36}
	if n := blocks[block]; n > 0 {
		return n * block
	}
	return 28 * block
}

// udfMaxSize: block numbers have 32 bits, and mkudffs silently leaves the space beyond them unused.
func udfMaxSize(c Candidate) (most int64, with string) {
	if block := udfBlock(c); block < 4096 {
		return block << 32, "-b 4096"
	}
	return udfBlock(c) << 32, ""
}

// udfLacks: a name is stored with 8 bits per character if all of them fit, else with 16, in 254
// bytes (ECMA-167 7.2.12), and only as Unicode.
func udfLacks(Candidate) Lacks {
	return Lacks{
		MaxFile: 16*tib - kib,
		Name: func(name string) bool {
			if !utf8.ValidString(name) {
				return false
			}
			width := 1
			for _, r := range name {
				if r > 0xff {
					width = 2
				}
			}
			return len(utf16.Encode([]rune(name)))*width <= 254 && len(name) <= 255
		},
	}
}

// udfMount: udf_show_options of fs/udf/super.c.
var udfMount = mountRules{
	Default: map[string][]string{"adinicb": {"noadinicb"}, "longad": {"shortad"}, "strict": {"nostrict"}, "utf8": {"iocharset="}},
	Same:    map[string]string{"utf8": "iocharset=utf8"},
	Shown: []string{
		"nostrict", "bs", "unhide", "undelete", "noadinicb", "shortad", "uid", "gid", "umask", "mode", "dmode", "session", "lastblock",
		"anchor", "iocharset",
	},
}

// udfVolume holds the descriptors of a volume (ECMA-167 part 3).
type udfVolume struct {
	block    int64  // size
	revision int64  // BCD: 0x201
	volume   string // identifier of the volume
	set      string // of the volume set, which begins with the UUID
	logical  string // of the logical volume
	maps     string // partition maps, as they are
}

// readUdf searches for the anchor where mkudffs writes it, at block 256 and, if a volume has no
// such block, at the last one; and for the descriptors where the anchor points.
func readUdf(seen Evidence) (udfVolume, error) {
	if _, err := readSuper(seen, 32*kib, 512, binary.LittleEndian, 1, "BEA01"); err != nil {
		return udfVolume{}, err
	}
	for v := (udfVolume{block: 512}); v.block <= 4096; v.block *= 2 {
		for _, anchor := range []int64{256, udfSectors(seen)*512/v.block - 1} {
			if anchor < 0 {
				continue
			}
			s, err := readSuper(seen, anchor*v.block, 512, binary.LittleEndian, 0, "\x02\x00")
			if err == nil && s.u32(12) == anchor { // the descriptor says where it is
				err = v.descriptors(seen, s.u32(20), s.u32(16)/v.block)
				return v, err
			}
		}
	}
	return udfVolume{}, errors.New("no anchor at block 256, nor at the last one")
}

// udfSectors is the size of the device in sectors of 512 bytes; 0: unknown.
func udfSectors(seen Evidence) int64 {
	if seen.File == nil {
		return 0
	}
	text, err := seen.File("/sys/class/block/" + seen.Device + "/size")
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n
}

// descriptors reads a number of blocks of descriptors.
func (v *udfVolume) descriptors(seen Evidence, from, blocks int64) error {
	for n := range min(blocks, 64) {
		if err := v.descriptor(seen, (from+n)*v.block); err != nil {
			return err
		}
	}
	if v.revision == 0 {
		return errors.New("no logical volume descriptor")
	}
	return nil
}

// descriptor reads one, if it is of a kind that is needed.
func (v *udfVolume) descriptor(seen Evidence, at int64) error {
	s, err := readSuper(seen, at, 512, binary.LittleEndian, 0, "")
	if err != nil {
		return err
	}
	switch s.u16(0) {
	case 1: // primary volume
		v.volume, v.set = dstring(s.bytes(24, 32)), dstring(s.bytes(72, 128))
	case 6: // logical volume
		v.logical, v.revision, v.maps = dstring(s.bytes(84, 128)), s.u16(240), string(s.bytes(440, 72))
	}
	return nil
}

// dstring reads a string of OSTA Compressed Unicode in a field whose last byte is its length: the
// first byte is the number of bits per character.
func dstring(field []byte) string {
	n := int(field[len(field)-1])
	if n < 1 || n >= len(field) {
		return ""
	}
	var text []rune
	switch body := field[1:n]; field[0] {
	case 8:
		for _, b := range body {
			text = append(text, rune(b))
		}
	case 16:
		var units []uint16
		for ; len(body) > 1; body = body[2:] {
			units = append(units, binary.BigEndian.Uint16(body))
		}
		text = utf16.Decode(units)
	}
	return string(text)
}

func verifyUdf(c Candidate, seen Evidence) []result.Option {
	v, err := readUdf(seen)
	out := verifyMake(c, udfSyntax, err, func(o makeOption) finding { return udfOption(v, o) })
	return append(out, verifyMount(c, seen, udfMount)...)
}

func udfOption(v udfVolume, o makeOption) finding {
	switch o.Flag {
	case "-b", "--blocksize":
		return compareSize("block size", o.Value, v.block)
	case "-r", "--udfrev":
		return compare("revision", udfRevision(o.Value), fmt.Sprintf("%x.%02x", v.revision>>8, v.revision&0xff))
	case "-l", "--label", "--lvid":
		return compare("identifier of the logical volume", o.Value, v.logical)
	case "--vid":
		return compare("identifier of the volume", o.Value, v.volume)
	case "--fullvsid":
		return compare("identifier of the volume set", o.Value, v.set)
	case "-u", "--uuid":
		return compare("UUID", o.Value, v.set[:min(16, len(v.set))])
	case "--vsid":
		return compare("identifier of the volume set", o.Value, v.set[min(16, len(v.set)):])
	case "--spartable":
		return onOff("sparable partition", true, strings.Contains(v.maps, "*UDF Sparable Partition"))
	case "--vat":
		return onOff("virtual partition", true, strings.Contains(v.maps, "*UDF Virtual Partition"))
	case "-m", "--media-type", "--bootarea", "--locale", "--u8", "--u16", "--utf8":
		return traceless()
	}
	return unseen()
}

// udfRevision writes a revision as in the specification: mkudffs accepts 0x0201 and 2.01.
func udfRevision(text string) string {
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil {
			return fmt.Sprintf("%x.%02x", n>>8, n&0xff)
		}
	}
	return text
}

func udfProperties(Candidate) Properties {
	return Properties{
		PowerLoss:     lacks("overwrites its descriptors and tables in place and keeps no journal", udfDocs),
		Compression:   lacks(noCompress, udfDocs),
		Encryption:    lacks(noFscrypt, udfDocs),
		Checksums:     lacks("keeps no checksums of data", udfDocs),
		MetaChecksums: lacks("keeps checksums of its descriptors, but not of its space bitmaps", udfDocs),
		Journal:       lacks(noJournal, udfDocs),
		Dates:         Dates{65535, "its times have 16 bits for the year, of which ECMA-167 allows years up to 9999", labSource},
	}
}
