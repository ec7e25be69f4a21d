package filesystem

import (
	"strings"

	"whichfs/internal/fault/picture"
)

// What vfat and exfat share.

// fatLacks is what they cannot hold, with the largest size of a file.
func fatLacks(maxFile int64) Lacks {
	return Lacks{Symlinks: true, Owners: true, Specials: true, Hardlinks: true, FoldsCase: true, Name: fatName, MaxFile: maxFile}
}

// fatName reports whether a file may have the name: no control characters, none of the nine that
// DOS and Windows reserve, and no dot or blank at the end, which the drivers drop silently, so that
// two names would become one.
func fatName(name string) bool {
	for _, r := range name {
		if r < 0x20 || strings.ContainsRune(`"*/:<>?\|`, r) {
			return false
		}
	}
	return name != "" && !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, " ")
}

// fatMount: fat_show_options of fs/fat/inode.c and exfat_show_options of
// fs/exfat/super.c.
var fatMount = mountRules{
	Umask: true,
	Default: map[string][]string{
		"nodiscard": {"discard"}, "utf8=0": {"utf8"}, "utf8=false": {"utf8"}, "utf8=no": {"utf8"},
		"shortname=mixed": {"shortname="}, "tz=local": {"tz="},
	},
	Same: map[string]string{"utf8=1": "utf8", "utf8=true": "utf8", "utf8=yes": "utf8"},
	Shown: []string{
		"uid", "gid", "fmask", "dmask", "allow_utime", "codepage", "iocharset", "shortname", "utf8", "uni_xlate", "nonumtail",
		"check", "quiet", "showexec", "sys_immutable", "flush", "tz", "errors", "nfs", "discard", "dos1xfloppy", "rodir",
		"time_offset", "sys_tz", "keep_last_dots", "usefree",
	},
}

// fatProperties of vfat and exfat, whose times count from 1980 with 7 bits for the year.
func fatProperties(source string) Properties {
	return Properties{
		PowerLoss:     lacks("overwrites its tables in place and keeps no journal", source),
		Compression:   lacks(noCompress, source),
		Encryption:    lacks(noFscrypt, source),
		Checksums:     lacks("keeps no checksums of data", source),
		MetaChecksums: lacks("keeps no checksums of its tables", source),
		Journal:       lacks(noJournal, source),
		Dates:         Dates{2107, "its times have 7 bits for the years since 1980", labSource},
	}
}

// fatSays: fs/fat/inode.c, fs/exfat/super.c.
var fatSays = says{
	Tags:   []string{"fat-fs"},
	Replay: []string{"was not properly unmounted"},
}

// fatMagics: the last bytes of the boot sector.
var fatMagics = []picture.Magic{{At: 510, Bytes: "\x55\xaa", Name: "boot sector"}}
