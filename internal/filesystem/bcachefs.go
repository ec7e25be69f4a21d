package filesystem

import (
	"encoding/binary"
	"slices"
	"strings"

	"whichfs/internal/fault/picture"
	"whichfs/internal/result"
)

// Bcachefs is Kent Overstreet's copy-on-write filesystem, which was in Linux for a while.
func Bcachefs() Filesystem {
	return Filesystem{
		Name: "bcachefs", Title: "Bcachefs", Module: "bcachefs", Reflink: true,
		NotMainline: "it was in Linux from 6.7 to 6.17; --kernel 6.12 has it",
		Needs: []Tool{
			{Program: "mkfs.bcachefs", Package: "bcachefs-tools", From: bcachefsTools},
			{Program: "fsck.bcachefs", Package: "bcachefs-tools", From: bcachefsTools, Optional: true},
		},
		MinSize:    least(4 * kib), // mkfs.bcachefs itself reports what it lacks
		MaxSize:    unbounded,
		Lacks:      holdsAll,
		Make:       mkfs("mkfs.bcachefs", "-q", "-f"),
		Check:      func(device string) []string { return []string{"fsck.bcachefs", "-n", device} },
		ReadCheck:  readBcachefsCheck,
		Repair:     func(device string) [][]string { return [][]string{{"fsck.bcachefs", "-y", device}} },
		ReadRepair: readBcachefsRepair,
		Promises:   logged(bcachefsDocs),
		Tune:       noTuning("bcachefs format asks the device for its block size."),
		Verify:     verifyBcachefs,
		Properties: bcachefsProperties,
		OneUUID:    true,
		Own:        []string{"lost+found"},
		Magics:     []picture.Magic{{At: bcachefsSuper + 24, Bytes: bcachefsMagic, Name: "bcachefs superblock"}},
		Threads:    []string{"bch-*/%d"},
		says:       says{Tags: []string{"bcachefs ("}},
		syntax:     bcachefsSyntax,
		Facts: Facts{
			Year: 2015, Design: "copy-on-write", Compression: "lz4, gzip, zstd", Encryption: true, DatesUntil: "2262",
			MaxFile: "8 EiB", MaxSize: "8 EiB",
			Source: "Linux 6.12 fs/bcachefs, bcachefs(8); tried with Linux 6.12 and bcachefs-tools 1.3.4",
		},
	}
}

const (
	bcachefsDocs  = "Linux 6.12 Documentation/filesystems/bcachefs, fs/bcachefs, bcachefs(8)"
	bcachefsTools = "evilpiepirate.org/git/bcachefs-tools.git, or another distribution's package"
	// The first superblock, and the bytes that the magic numbers of all its versions begin with.
	bcachefsSuper = 4096
	bcachefsMagic = "\xc6\x85\x73\xf6"
)

// bcachefsMarks are of lines that say what is wrong. Status 8 is that of a filesystem that cannot be
// started, and of a superblock that is none; 1 also that of a device that cannot be opened.
var bcachefsMarks = []string{"error validating", "Not a bcachefs superblock", ", not fixing", ", fixing", "error "}

// readBcachefsCheck: fsck.bcachefs names each of its passes.
func readBcachefsCheck(status int, output string) CheckResult {
	switch {
	case status == 0 && strings.Contains(output, "check_") && !strings.Contains(output, ", not fixing"):
		return CheckResult{Clean: true}
	case status < 0 || status > 8 || cannotOpen(output) || lineWith(output, bcachefsMarks...) == "":
		return broken(status, output)
	}
	return dirty(status, output, bcachefsMarks...)
}

func readBcachefsRepair(status int, output string) RepairResult {
	switch {
	case status == 0 && strings.Contains(output, "check_"):
		return nothingToMend()
	case status < 0 || status > 8 || cannotOpen(output) || lineWith(output, bcachefsMarks...) == "":
		return mendBroken(status, output)
	case status == 1:
		return mended(status, output, bcachefsMarks...)
	}
	return notMended(status, output, bcachefsMarks...)
}

// bcachefsSyntax is bcachefs(8), format, of November 2023.
var bcachefsSyntax = syntax{
	Short: "L:U:l:fqv",
	Long: map[string]bool{
		"block_size": true, "btree_node_size": true, "errors": true, "data_replicas": true, "metadata_replicas": true,
		"data_replicas_required": true, "metadata_replicas_required": true, "encoded_extent_max": true, "metadata_checksum": true,
		"data_checksum": true, "compression": true, "background_compression": true, "str_hash": true, "metadata_target": true,
		"foreground_target": true, "background_target": true, "promote_target": true, "erasure_code": false, "inodes_32bit": false,
		"shared_inode_numbers": false, "inodes_use_key_cache": false, "gc_reserve_percent": true, "gc_reserve_bytes": true,
		"root_reserve_percent": true, "wide_macs": false, "acl": false, "usrquota": false, "grpquota": false, "prjquota": false,
		"journal_transaction_names": false, "nocow": false, "replicas": true, "encrypted": false, "no_passphrase": false,
		"fs_label": true, "uuid": true, "superblock_size": true, "discard": false, "fs_size": true, "bucket": true,
		"durability": true, "label": true, "force": false, "quiet": false, "verbose": false,
	},
}

// verifyBcachefs: struct bch_sb of fs/bcachefs/bcachefs_format.h; every other option of format is one of the
// mounted filesystem, too, and the driver shows those that are not its defaults.
func verifyBcachefs(c Candidate, seen Evidence) []result.Option {
	s, err := readSuper(seen, bcachefsSuper, 256, binary.LittleEndian, 24, bcachefsMagic)
	out := verifyMake(c, bcachefsSyntax, err, func(o makeOption) finding {
		switch o.Flag {
		case "-L", "--fs_label":
			return compare("label", o.Value, s.text(72, 32))
		case "-U", "--uuid":
			return compare("UUID", strings.ToLower(o.Value), s.uuid(56))
		case "--block_size":
			return compareSize("block size", o.Value, s.u16(120)*512)
		case "-f", "-q", "-v", "--force", "--quiet", "--verbose":
			return traceless()
		}
		word := strings.TrimPrefix(o.Flag, "--")
		if o.Value != "" {
			word += "=" + o.Value
		}
		if slices.Contains(seen.Mount, word) {
			return found(result.InForce, "the kernel shows %s", word)
		}
		return unseen()
	})
	return append(out, verifyMount(c, seen, mountRules{})...)
}

func bcachefsProperties(c Candidate) Properties {
	p := Properties{
		PowerLoss:     has("writes to new places and keeps a journal of the changes of its trees", bcachefsDocs),
		Compression:   lacksUnless("--compression=lz4", "is made without compression", bcachefsDocs),
		Encryption:    lacksUnless("--encrypted", "is made without encryption", bcachefsDocs),
		Checksums:     has("verifies the checksum of all data on reads", bcachefsDocs),
		MetaChecksums: has("verifies the checksum of all metadata on reads", bcachefsDocs),
		Journal:       has("keeps a journal of the changes of its trees", bcachefsDocs),
		Dates:         Dates{2262, "its times are 64-bit nanoseconds", bcachefsDocs},
	}
	for _, o := range bcachefsSyntax.read(c.Make()) {
		switch {
		case o.Flag == "--compression" && o.Value != "none":
			p.Compression = has("compresses with "+o.Value, bcachefsDocs)
		case o.Flag == "--encrypted":
			p.Encryption = has("encrypts everything but its superblock", bcachefsDocs)
		case o.Flag == "--nocow", o.Flag == "--data_checksum" && o.Value == "none":
			p.Checksums = lacks("is made without checksums of data", bcachefsDocs)
		case o.Flag == "--metadata_checksum" && o.Value == "none":
			p.MetaChecksums = lacks("is made without checksums of metadata", bcachefsDocs)
		}
	}
	return p
}
