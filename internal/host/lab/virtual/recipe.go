package virtual

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"whichfs/internal/host/lab"
	"whichfs/internal/result"
)

// Default is the series of Linux that the lab's other guests run, too.
const Default = "6.1"

// pinned fixes the version of a series' source package: the newest of Debian's
// suite itself, which changes no more. Updates of the suite are not used.
// Further series are those of the backports, whose mirrors keep the newest
// version only.
var pinned = map[string]string{Default: "6.1.176-1"}

// lastBackport is the newest series of lab.Backports; lab.NewerBackports have what is newer.
const lastBackport = "6.12"

// suiteOf is the suite of Debian that has a series' source.
func suiteOf(series string) string {
	switch {
	case pinned[series] != "":
		return lab.Suite
	case before(lastBackport, series):
		return lab.NewerBackports
	}
	return lab.Backports
}

// before reports whether a series is older than another.
func before(series, other string) bool { return lab.CompareVersions(series, other) < 0 }

//go:embed machine.config
var machine string

var config = machine + lab.KernelConfig

// changes are what series from one on have, and no longer have, of options and modules. Oldest first.
var changes = []struct {
	since string
	lines string // of the configuration
	gone  []gone
}{
	{since: "6.12", lines: `
# Tools write to the devices of mounted filesystems.
CONFIG_BLK_DEV_WRITE_MOUNTED=y
CONFIG_XFS_SUPPORT_ASCII_CI=y
CONFIG_SQUASHFS_COMPILE_DECOMP_MULTI_PERCPU=y
CONFIG_EROFS_FS_ZIP_LZMA=y
CONFIG_EROFS_FS_ZIP_DEFLATE=y
CONFIG_EROFS_FS_ZIP_ZSTD=y
`},
	{since: "7.3", lines: `
CONFIG_SYSCTL=y
# No more turns than other series give: it counts system calls and faults.
CONFIG_UML_MAX_USERSPACE_ITERATIONS=0
`, gone: []gone{
		{"reiserfs was removed in 6.13", []string{
			"CONFIG_REISERFS_FS", "CONFIG_REISERFS_FS_XATTR", "CONFIG_REISERFS_FS_POSIX_ACL", "CONFIG_REISERFS_FS_SECURITY",
		}},
		{"it is CONFIG_SYSCTL now", []string{"CONFIG_PROC_SYSCTL"}},
		{"every kernel of this series gives way, by CONFIG_PREEMPT_LAZY", []string{"CONFIG_PREEMPT_VOLUNTARY"}},
		{"filesystems call the kernel's library", []string{"crc32c_generic"}},
	}},
}

// gone are options, and modules of the boot archive, that a series no longer has.
type gone struct {
	why   string
	names []string
}

//go:embed patches
var patchFiles embed.FS

// patches are the names of what is changed in the source, in order. Every series has all of them: a
// kernel that lacks one is none of ours (without exitkill it would not even be safe), and a patch
// that does not fit ends the build. NAME-SERIES.patch is for that series and later ones, up to that
// of the next such file, and NAME.patch for those before the first, which lack only what would mend
// something new; the beginning of each says what it does and why, and is all of it where a series
// needs no change.
var patches = []string{"xstate", "random", "exitkill", "vectors", "fault-around", "wait", "clock-reads", "syscalls", "dirty-limit", "short-names", "hz", "unaligned", "registers", "strings", "spin", "yield", "host", "preempt", "zero-page", "nandsim", "gluebi", "seccomp"}

// countingPatches are those of kernels that count, besides.
var countingPatches = []string{"own-pages", "processor", "turns", "crc"}

// patch is one of them for a series.
type patch struct{ file, text string }

// changes reports whether a patch changes anything.
func (p patch) changes() bool { return strings.Contains(p.text, "\n@@ ") }

// patchFor returns a patch for a series; has is false before the first series that it is for.
func patchFor(name, series string) (p patch, has bool) {
	files, err := fs.Glob(patchFiles, "patches/"+name+"-[1-9]*.patch")
	if err != nil {
		panic(err) // the pattern is well formed
	}
	file, newest := name+".patch", ""
	for _, f := range files {
		since := strings.TrimSuffix(strings.TrimPrefix(path.Base(f), name+"-"), ".patch")
		if !before(series, since) && before(newest, since) {
			file, newest = path.Base(f), since
		}
	}
	text, err := patchFiles.ReadFile(path.Join("patches", file))
	if errors.Is(err, fs.ErrNotExist) && len(files) > 0 {
		return patch{}, false
	}
	if err != nil {
		panic(err) // a test reads them all
	}
	return patch{file, string(text)}, true
}

// tried lists the series that the patches were made for, oldest first.
func tried() []string {
	list := []string{Default}
	for _, c := range changes {
		list = append(list, c.since)
	}
	return list
}

// recipe determines a kernel, except for the compiler and, where it is not
// pinned, the version of the source: the manifest records them.
type recipe struct {
	// Generation counts changes of the building code that alter the kernel.
	Generation int
	Counting   int `json:",omitempty"` // likewise, of what counts its instructions; 0: nothing
	Series     string
	Suite      string
	Package    string // of the source
	Version    string // "": the newest
	Config     string
	Patches    []string // their texts, in order
	Boot       []string // modules that the boot archive needs
	Drop, Keep []string // see dropped

	patches []patch
	gone    []gone
}

var plainSeries = regexp.MustCompile(`^[1-9][0-9]?\.[0-9]{1,3}$`)

// Check refuses what cannot be a series of Linux; whether Debian has its source is not known before
// the kernel is built.
func Check(which Choice) error {
	if series := cmp.Or(which.Series, Default); !plainSeries.MatchString(series) {
		return result.Refuse("for instance "+Default, "%q is no series of Linux kernels", series)
	}
	return nil
}

// recipeFor is the current recipe of a kernel.
func recipeFor(which Choice) (recipe, error) {
	if err := Check(which); err != nil {
		return recipe{}, err
	}
	series := cmp.Or(which.Series, Default)
	r := recipe{
		Generation: 1,
		Series:     series,
		Suite:      suiteOf(series),
		Package:    "linux-source-" + series,
		Version:    pinned[series],
		Config:     config,
		// As in the lab's images; only the way to the devices differs.
		Boot: []string{"crc32c_generic", "virtio_uml", "virtio_blk", "virtio_console", "erofs", "overlay"},
		Drop: []string{
			"Documentation", "arch/*", "samples", "sound", "tools/perf", "tools/testing", "drivers/clk", "drivers/gpu",
			"drivers/iio", "drivers/infiniband", "drivers/media", "drivers/net", "drivers/pinctrl", "drivers/scsi",
			"drivers/staging", "drivers/usb", "drivers/video",
		},
		Keep: []string{"arch/um", "arch/x86"},
	}
	for _, c := range changes {
		if before(series, c.since) {
			break
		}
		r.Config += c.lines
		r.gone = append(r.gone, c.gone...)
	}
	r.Config = without(r.Config, r.gone)
	r.Boot = slices.DeleteFunc(r.Boot, func(module string) bool { return isGone(r.gone, module) })
	names := patches
	if which.Counting {
		r.Counting = countingGeneration
		names = slices.Concat(names, countingPatches)
	}
	for _, name := range names {
		if p, has := patchFor(name, series); has {
			r.patches = append(r.patches, p)
			r.Patches = append(r.Patches, p.text)
		}
	}
	return r, nil
}

// without removes the lines of options that are gone from a configuration.
func without(config string, all []gone) string {
	if len(all) == 0 {
		return config
	}
	var left strings.Builder
	for line := range strings.Lines(config) {
		name, _, _ := strings.Cut(line, "=")
		if !isGone(all, name) {
			left.WriteString(line)
		}
	}
	return left.String()
}

func isGone(all []gone, name string) bool {
	return slices.ContainsFunc(all, func(g gone) bool { return slices.Contains(g.names, name) })
}

// digest names the kernel in the cache.
func (r recipe) digest() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a struct of strings always marshals
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// command is what a user types to build the kernel.
func (r recipe) command() string {
	line := "whichfs lab build --virtual"
	if r.Series != Default {
		line += " --kernel " + r.Series
	}
	if r.Counting > 0 {
		line += " --counting"
	}
	return line
}

// dropped reports whether a file of the source is not unpacked: three quarters
// of it are for other processors and devices, and most of the unpacking is
// writing. The files that describe the configuration and the build refer to
// each other everywhere, so all of them are kept.
func (r recipe) dropped(name string) bool {
	for _, needed := range []string{"Kconfig", "Makefile", "Kbuild"} {
		if strings.HasPrefix(path.Base(name), needed) {
			return false
		}
	}
	return lab.AnyMatch(r.Drop, name) && !lab.AnyMatch(r.Keep, name)
}
