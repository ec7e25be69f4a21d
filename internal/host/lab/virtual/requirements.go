package virtual

import "whichfs/internal/host/lab"

// Requirements lists what building the kernel needs on this host.
func Requirements() []lab.Requirement {
	const without = "no kernel of the virtual lab can be compiled"
	return []lab.Requirement{
		{Program: "gcc", Package: "gcc", Without: without},
		{Program: "/usr/include/stdio.h", Package: "libc6-dev", Without: without},
		{Program: "make", Package: "make", Without: without},
		{Program: "flex", Package: "flex", Without: without},
		{Program: "bison", Package: "bison", Without: without},
		{Program: "bc", Package: "bc", Without: without},
		{Program: "patch", Package: "patch", Without: without},
		{Program: "apt-get", Package: "apt", Without: "the kernel's source cannot be fetched"},
		{Program: "dpkg-deb", Package: "dpkg", Without: "the kernel's source cannot be unpacked"},
		{Program: "xz", Package: "xz-utils", Without: "the kernel's source cannot be unpacked"},
		{Program: "depmod", Package: "kmod", Without: "guests find no kernel modules"},
		{Program: "mkfs.erofs", Package: "erofs-utils", Without: "no image of kernel modules can be made"},
	}
}

// Missing returns nil if all requirements are met, and otherwise an error that
// names what is missing and the command that installs it.
func Missing() error { return lab.Unmet("the virtual lab", Requirements()) }
