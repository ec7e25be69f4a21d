package lab

import (
	"fmt"
	"strings"

	"whichfs/internal/sys/command"
)

// Requirement is a program that the lab needs on this host.
type Requirement struct {
	Program string
	Package string // Debian's
	Without string // what is impossible without it
}

// Requirements lists the programs needed to build the image and to run guests
// of an architecture.
func Requirements(a Arch) []Requirement {
	return []Requirement{
		{a.QEMU, a.Package, "no guest can run"},
		{"mmdebstrap", "mmdebstrap", "no root image can be made"},
		{"mkfs.erofs", "erofs-utils", "no root image can be made"},
		{"depmod", "kmod", "guests find no kernel modules"},
		{"xz", "xz-utils", "guests have no kernel"},
	}
}

// Missing returns nil if all requirements are met, and otherwise an error that
// names what is missing and the command that installs it.
func Missing(a Arch) error {
	var programs, packages []string
	for _, r := range Requirements(a) {
		if _, err := command.Look(r.Program); err != nil {
			programs = append(programs, r.Program)
			packages = append(packages, r.Package)
		}
	}
	if len(programs) == 0 {
		return nil
	}
	guests := ""
	if a.Foreign() {
		guests = ", for guests of architecture " + a.Name + ","
	}
	return fmt.Errorf("the lab%s needs %s: sudo apt-get install %s", guests, strings.Join(programs, ", "), strings.Join(packages, " "))
}
