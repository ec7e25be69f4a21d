package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"whichfs/internal/command"
)

// Requirement is a program that the lab needs on this host.
type Requirement struct {
	Program string
	Package string // Debian's
	Without string // what is not possible without it
}

// Requirements lists the programs that building the image and running guests
// take.
func Requirements() []Requirement {
	return []Requirement{
		{"qemu-system-x86_64", "qemu-system-x86", "no guest can run"},
		{"mmdebstrap", "mmdebstrap", "no root image can be made"},
		{"mkfs.erofs", "erofs-utils", "no root image can be made"},
		{"depmod", "kmod", "guests find no kernel modules"},
		{"xz", "xz-utils", "guests have no kernel"},
	}
}

// Missing returns nil if all requirements are met, and otherwise an error that
// names what is missing and the command that installs it.
func Missing() error {
	var programs, packages []string
	for _, r := range Requirements() {
		if _, err := command.Look(r.Program); err != nil {
			programs = append(programs, r.Program)
			packages = append(packages, r.Package)
		}
	}
	if len(programs) == 0 {
		return nil
	}
	return fmt.Errorf("the lab needs %s: sudo apt-get install %s", strings.Join(programs, ", "), strings.Join(packages, " "))
}

// AgentPath finds the agent for machines of an architecture (GOARCH):
// $WHICHFS_AGENT, or whichfs-agent-linux-ARCH or whichfs-agent beside the
// running program. The plain name is taken for this host's own architecture.
func AgentPath(arch string) (string, error) {
	if path := os.Getenv("WHICHFS_AGENT"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("agent named by WHICHFS_AGENT: %w", err)
		}
		return path, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("look for the agent beside the program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	names := []string{"whichfs-agent-linux-" + arch}
	if arch == runtime.GOARCH {
		names = append(names, "whichfs-agent")
	}
	for _, name := range names {
		path := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s beside %s: make builds it; WHICHFS_AGENT can name another place", strings.Join(names, " or "), self)
}
