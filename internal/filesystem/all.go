package filesystem

import (
	"slices"

	"whichfs/internal/fault/picture"
)

// All are the filesystems that whichfs knows, in the order of listings: first those that can be
// written, with those only for raw flash at the end, then the read-only ones.
var All = []Filesystem{
	Ext2(),
	Ext3(),
	Ext4(),
	Xfs(),
	Btrfs(),
	Bcachefs(),
	F2fs(),
	Nilfs2(),
	Jfs(),
	Reiserfs(),
	Minix(),
	Udf(),
	Vfat(),
	Exfat(),
	Jffs2(),
	Ubifs(),
	Yaffs2(),
	Logfs(),
	Squashfs(),
	Erofs(),
	Cramfs(),
}

// ByName finds a filesystem by its name.
func ByName(name string) (Filesystem, bool) {
	for _, fs := range All {
		if fs.Name == name {
			return fs, true
		}
	}
	return Filesystem{}, false
}

// Rare reports whether Debian's kernels lack its driver, whatever their series.
func (fs Filesystem) Rare() bool { return fs.NotMainline != "" || fs.NotDebian != "" }

// Names returns the names of all filesystems, in the order of All.
func Names() []string {
	names := make([]string, len(All))
	for i, fs := range All {
		names[i] = fs.Name
	}
	return names
}

// Packages are Debian's packages with the tools of all filesystems, sorted.
func Packages() []string {
	var packages []string
	for _, fs := range All {
		for _, t := range fs.Needs {
			if t.From == "" {
				packages = append(packages, t.Package)
			}
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// Magics are the byte sequences by which the blocks of these filesystems are recognised.
func Magics(of ...Filesystem) []picture.Magic {
	var magics []picture.Magic
	for _, fs := range of {
		magics = append(magics, fs.Magics...)
	}
	return magics
}
