package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/sys/command"
)

// Requirement is a program or a file that the lab needs on this host.
type Requirement struct {
	Program string // or the absolute path of a file
	Package string // Debian's
	Without string // what is impossible without it
}

// Path is where it is.
func (r Requirement) Path() (string, error) {
	if filepath.IsAbs(r.Program) {
		_, err := os.Stat(r.Program)
		return r.Program, err
	}
	return command.Look(r.Program)
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
	who := "the lab"
	if a.Foreign() {
		who += ", for guests of architecture " + a.Name + ","
	}
	return Unmet(who, Requirements(a))
}

// Unmet is Missing for any requirements.
func Unmet(who string, all []Requirement) error {
	var programs, packages []string
	for _, r := range all {
		if _, err := r.Path(); err != nil {
			programs = append(programs, r.Program)
			if !slices.Contains(packages, r.Package) {
				packages = append(packages, r.Package)
			}
		}
	}
	if len(programs) == 0 {
		return nil
	}
	return fmt.Errorf("%s needs %s: sudo apt-get install %s", who, strings.Join(programs, ", "), strings.Join(packages, " "))
}
