package dataset

// debianSet is a tree made of Debian packages.
type debianSet struct {
	name, about string
	// include are packages, or one of apt's patterns.
	include []string
	// only lists the directories to keep; nil: all.
	only []string
	// alone takes only the named packages, without their dependencies.
	alone bool
	// apart puts the contents of each package into a directory of its
	// name, for packages with files of the same name.
	apart bool
	// architecture is Debian's name for it; "" is armhf, as on boards.
	architecture string
	// unpack is the path of a compressed archive, PACKAGE.tar.xz, in a
	// package; the set contains only the contents of that archive, in
	// its place.
	unpack string
	// reference is the digest of the data set when this was written. The
	// suite no longer changes, so a different digest needs a note.
	reference string
}

// The release and the list of sources are fixed: without the security and
// updates suites, the contents are the same every day.
const (
	suite = "bookworm"
	// board is the default architecture.
	board = "armhf"
	// desk is the architecture on which software is built.
	desk = "amd64"
	// source identifies the packages, whichever mirror they come from.
	source = "deb http://deb.debian.org/debian bookworm main"
	// epoch becomes SOURCE_DATE_EPOCH, in seconds since 1970.
	epoch = "1700000000"
	// generation counts code changes that alter the data sets.
	generation = 1
)

// dropped lists what differs between hosts and between users: settings that
// mmdebstrap copies from its host, apt's and dpkg's records, device nodes that
// only root can make.
var dropped = []string{
	"dev", "etc/apt/apt.conf.d/99mmdebstrap", "etc/apt/sources.list", "etc/apt/sources.list.d",
	"etc/hostname", "etc/machine-id", "etc/resolv.conf", "tmp",
	"var/cache/apt", "var/lib/apt", "var/lib/dpkg", "var/log/apt", "var/log/dpkg.log",
}

var debianSets = []debianSet{
	{
		name:    "debian-armhf-part",
		about:   "a part of a Debian 12 armhf root filesystem: 685 files, 8.9 MB; fetches 26 MB once",
		include: []string{"base-files", "bash", "coreutils", "debconf", "grep", "passwd", "sed", "tzdata", "util-linux"},
		only: []string{
			"bin", "etc", "lib", "var",
			"usr/share/base-files", "usr/share/bash-completion", "usr/share/debconf", "usr/share/perl5",
			"usr/share/man/man5", "usr/share/man/man8",
			"usr/share/zoneinfo/America", "usr/share/zoneinfo/Europe",
		},
		reference: "044f9431188d61d5c64a8a444f176d35b6e5e0dd55882f1e7a10aa25b9a25c98",
	},
	{
		name:      "debian-armhf",
		about:     "a Debian 12 armhf root filesystem, priorities required, important and standard: 14,551 files, 308 MB; fetches 99 MB once",
		include:   []string{standard},
		reference: "fb899af743c11467c69d22532ddf0b1df8188105a3a040a1053fc60e616ea229",
	},
	{
		name:  "debian-armhf-medium",
		about: "a Debian 12 armhf root filesystem with a kernel, a compiler and services: 26,557 files, 808 MB; fetches 221 MB once",
		include: []string{
			standard, "linux-image-armmp", "build-essential", "gdb", "python3-dev", "git", "network-manager", "avahi-daemon", "bluez",
			"openssh-server", "rsync", "strace", "v4l-utils", "vim", "htop",
		},
		reference: "78d128b699e461428c202df2438d8d66f81166f4e3ad2b11757759e8de13e3db",
	},
	{
		name:  "debian-armhf-large",
		about: "a Debian 12 armhf root filesystem with two kernels, a compiler, services and players: 30,695 files, 1.26 GB; fetches 356 MB once",
		include: []string{
			standard, "linux-image-armmp", "linux-image-armmp-lpae", "build-essential", "gdb", "python3-dev", "git", "network-manager",
			"avahi-daemon", "bluez", "openssh-server", "rsync", "strace", "v4l-utils", "htop", "ffmpeg",
		},
		reference: "5b46789da2e58a50f8b747050e982c290bc3cd25c0424fadac58fb6e88bf2032",
	},
	{
		name:    "kernel-source-part",
		about:   "a part of a Linux 6.1 source tree, many small files: 1,946 files, 24.1 MB; fetches 150 MB once",
		include: []string{"linux-source-6.1"}, alone: true, unpack: kernelArchive,
		only: below(kernelTree, "Documentation/admin-guide", "arch/riscv", "arch/sparc",
			"drivers/gpu/drm/amd/include/asic_reg/gca", "drivers/gpu/drm/amd/include/asic_reg/gmc", "include/net", "net/netfilter"),
		reference: "82fd652736823ec4b4f2057fa7d90420cfbc36f34a401387efe2ccfab601effb",
	},
	{
		name:    "kernel-source",
		about:   "a Linux 6.1 source tree: 78,613 files, 1.3 GB; fetches 150 MB once",
		include: []string{"linux-source-6.1"}, alone: true, unpack: kernelArchive,
		only:      []string{kernelTree},
		reference: "2d386c23dddadc438974b7330677aed899f81afee8663c0e9e0366f1bd130709",
	},
	{
		name:         "build-large-part",
		about:        "a small tree like a build directory of few large files, static libraries and an archive: 35 files, 49.6 MB; fetches 24 MB once",
		include:      []string{"libavformat-dev", "libavutil-dev", "libpython3.11-dev", "libswscale-dev", "libx265-dev", "newlib-source"},
		alone:        true,
		architecture: desk,
		only: []string{
			"usr/include/x86_64-linux-gnu/libavformat", "usr/include/x86_64-linux-gnu/libswscale",
			"usr/include/x265.h", "usr/include/x86_64-linux-gnu/x265_config.h",
			"usr/lib/python3.11/config-3.11-x86_64-linux-gnu/libpython3.11.a", "usr/lib/x86_64-linux-gnu", "usr/src",
			"usr/share/doc/libavformat-dev", "usr/share/doc/libswscale-dev", "usr/share/doc/libx265-dev", "usr/share/doc/newlib-source",
		},
		reference: "cbf62ca9342440adfe4f8b7be031879f35bb0e85ff89ca80f64294fac986738c",
	},
	{
		name:  "build-large",
		about: "a tree like a build directory of few large files, static libraries and archives: 1,666 files, 2.6 GB; fetches 570 MB once",
		include: []string{
			"llvm-13-dev", "llvm-14-dev", "llvm-15-dev", "llvm-16-dev",
			"libclang-13-dev", "libclang-14-dev", "libclang-15-dev", "libclang-16-dev",
			"libclang-cpp14", "libstd-rust-dev", "valgrind", "linux-source-6.1", "gcc-12-source", "binutils-source", "gdb-source",
		},
		alone:        true,
		architecture: desk,
		only: []string{
			"usr/lib/llvm-13/lib", "usr/lib/llvm-14/lib", "usr/lib/llvm-15/lib", "usr/lib/llvm-16/lib",
			"usr/lib/rustlib", "usr/lib/x86_64-linux-gnu", "usr/bin", "usr/include/valgrind", "usr/lib/valgrind", "usr/libexec/valgrind",
			"usr/share/doc", kernelArchive, "usr/src/gcc-12/gcc-12.2.0-dfsg.tar.xz", "usr/src/binutils/binutils-2.40.tar.xz",
			"usr/src/gdb.tar.xz",
		},
		reference: "615de8c2e1cbcca60b222d5e365c0094124c4dfdd2fbe4cd4ec4bd306246d498",
	},
	{
		name:         "build-small-part",
		about:        "a small tree like a build directory of very many small files, headers of Boost: 1,102 files, 10.7 MB; fetches 20 MB once",
		include:      []string{"libboost1.74-dev"},
		alone:        true,
		architecture: desk,
		only:         below("usr/include/boost", "beast", "fusion/container/deque", "fusion/container/vector", "fusion/tuple", "hana", "log"),
		reference:    "a235af2b59cc08eb6c233dbadab54bc79fdce7238932a2a5ce89ece9b911095a",
	},
	{
		name:  "build-small",
		about: "a tree like a build directory of very many small files, headers and sources: 136,766 files, 1.7 GB; fetches 230 MB once",
		include: []string{
			"libboost1.74-dev", "libboost1.81-dev", "golang-github-aws-aws-sdk-go-v2-dev", "golang-github-azure-azure-sdk-for-go-dev",
			"linux-headers-6.1.0-47-common", "linux-headers-6.1.0-47-common-rt",
			"linux-headers-6.1.0-50-common", "linux-headers-6.1.0-50-common-rt", "linux-source-6.1",
		},
		alone:        true,
		architecture: desk,
		apart:        true,
		unpack:       kernelArchive,
		only: append(below("linux-source-6.1/"+kernelTree, "Documentation", "LICENSES", "arch", "block", "certs", "crypto",
			"drivers/gpu/drm/amd", "fs", "include", "init", "io_uring", "ipc", "kernel", "lib", "mm", "net", "rust", "samples",
			"scripts", "security", "sound", "tools", "usr", "virt"),
			"libboost1.74-dev/usr/include", "libboost1.81-dev/usr/include", "golang-github-aws-aws-sdk-go-v2-dev/usr/share/gocode",
			azureTree+"/profiles", azureTree+"/services/network", azureTree+"/services/preview",
			"linux-headers-6.1.0-47-common/usr/src", "linux-headers-6.1.0-47-common-rt/usr/src",
			"linux-headers-6.1.0-50-common/usr/src", "linux-headers-6.1.0-50-common-rt/usr/src"),
		reference: "3da780a4176fda26d84f7752507ba344b37a8fcc3dbb32c60977e174c94beab3",
	},
}

// standard is what every installation has.
const standard = "?or(?essential,?priority(required),?priority(important),?priority(standard))"

// The paths of the archive in linux-source-6.1 and of the tree in that archive, and of the tree in
// another package.
const (
	kernelArchive = "usr/src/linux-source-6.1.tar.xz"
	kernelTree    = "usr/src/linux-source-6.1"
	azureTree     = "golang-github-azure-azure-sdk-for-go-dev/usr/share/gocode/src/github.com/Azure/azure-sdk-for-go"
)

// below returns the paths of names below a directory.
func below(dir string, names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = dir + "/" + n
	}
	return out
}
