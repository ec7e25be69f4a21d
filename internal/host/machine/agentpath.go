package machine

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"whichfs/internal/result"
	"whichfs/internal/sys/build"
)

// AgentVariable names the environment variable that overrides the path of the agent.
const AgentVariable = "WHICHFS_AGENT"

// Architectures are those of boards, as GOARCH has them; armv5 is arm without what ARMv7 has, and without floating
// point.
var Architectures = []string{"amd64", "arm64", "arm", "armv5", "riscv64", "mips", "mipsle", "ppc64", "ppc64le"}

var agentMachines = map[string]struct {
	machine elf.Machine
	order   elf.Data
}{
	"amd64": {elf.EM_X86_64, elf.ELFDATA2LSB}, "arm64": {elf.EM_AARCH64, elf.ELFDATA2LSB}, "arm": {elf.EM_ARM, elf.ELFDATA2LSB}, "armv5": {elf.EM_ARM, elf.ELFDATA2LSB},
	"riscv64": {elf.EM_RISCV, elf.ELFDATA2LSB}, "386": {elf.EM_386, elf.ELFDATA2LSB}, "mips": {elf.EM_MIPS, elf.ELFDATA2MSB}, "mipsle": {elf.EM_MIPS, elf.ELFDATA2LSB},
	"ppc64": {elf.EM_PPC64, elf.ELFDATA2MSB}, "ppc64le": {elf.EM_PPC64, elf.ELFDATA2LSB},
}

// AgentPath finds the agent's binary for an architecture (a GOARCH): the given one, else what
// $WHICHFS_AGENT names, else whichfs-agent-linux-ARCH or, for this machine's
// own architecture, whichfs-agent, beside this program or where packages install it. An agent of
// another version is refused: what it measures is not what this program means. Errors are
// *result.Failure.
func AgentPath(given, arch string) (string, error) {
	if given != "" {
		return given, nil
	}
	if path := os.Getenv(AgentVariable); path != "" {
		if err := checkAgent(path, arch, build.Version()); err != nil {
			return "", &result.Failure{Outcome: result.Refused, Reason: "the agent that $" + AgentVariable + " names cannot be used", Err: err,
				Hint: "unset " + AgentVariable + " to use the one beside whichfs"}
		}
		return path, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", &result.Failure{Outcome: result.LabFailed, Reason: "cannot find the directory of this program", Err: err}
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	beside := filepath.Dir(self)
	return agentIn([]string{beside, filepath.Join(filepath.Dir(beside), "lib", "whichfs")}, arch, build.Version())
}

// agentIn finds the agent for an architecture in the first directory that has one of the version.
func agentIn(dirs []string, arch, version string) (string, error) {
	names := []string{"whichfs-agent-linux-" + arch}
	if arch == runtime.GOARCH {
		names = append([]string{"whichfs-agent"}, names...)
	}
	var why error
	for _, dir := range dirs {
		for _, name := range names {
			path := filepath.Join(dir, name)
			err := checkAgent(path, arch, version)
			if err == nil {
				return path, nil
			}
			if !errors.Is(err, os.ErrNotExist) {
				why = errors.Join(why, err)
			}
		}
	}
	target := "agents"
	if arch == runtime.GOARCH {
		target = "build"
	}
	return "", &result.Failure{Outcome: result.Refused, Err: why,
		Reason: fmt.Sprintf("no agent for %s: no %s in %s", arch, strings.Join(names, " or "), strings.Join(dirs, " or ")),
		Hint:   "build it with make " + target + ", install the package whichfs again, or name it in $" + AgentVariable}
}

// checkAgent checks that a file is a program for the architecture, and of a version: a guest with a
// wrong one would merely stay silent.
func checkAgent(path, arch, version string) error {
	want, ok := agentMachines[arch]
	if !ok {
		return fmt.Errorf("no agent is built for architecture %s", arch)
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is not a program: %w", path, err)
	}
	defer f.Close() //nolint:errcheck // read only
	if f.Machine != want.machine || f.Data != want.order {
		return fmt.Errorf("%s is built for another architecture (%v), %s is needed", path, f.Machine, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs shared libraries, which guests and boards do not have: build it with make build, or with CGO_ENABLED=0", path)
		}
	}
	v, err := build.AgentVersion(path)
	if err != nil {
		return err
	}
	if !build.Same(v, version) {
		return fmt.Errorf("%s has version %s, and this is whichfs %s", path, v, version)
	}
	return nil
}
