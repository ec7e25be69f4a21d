package app

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/module"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// ModuleFiles are the absolute paths of a plan's kernel modules, and refuses what is none.
func ModuleFiles(p plan.Plan) ([]string, error) {
	var out []string
	for _, word := range p.Modules {
		path, err := filepath.Abs(word)
		if plan.IsModuleName(word) {
			path, err = built(p, word)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	_, err := machine.CheckModules(out, "")
	return out, err
}

// programFiles are a plan's programs with absolute paths, and refuses what is none.
func programFiles(p plan.Plan) ([]string, error) {
	var out []string
	for _, word := range p.Programs {
		name, path := plan.SplitProgram(word)
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		out = append(out, name+"="+path)
	}
	arch, err := ArchNamed(p.Arch)
	if err != nil {
		return nil, err
	}
	goarch := arch.GOARCH
	if plan.OnBoard(p.Machine) {
		goarch = "" // the board says it
	}
	return out, machine.CheckPrograms(out, goarch)
}

// built is the file of a module that the lab has built, for the kernel of a plan's machine.
func built(p plan.Plan, name string) (string, error) {
	const byPath = "give the path of a .ko file that is built for it"
	var kernel module.Kernel
	arch, err := ArchNamed(p.Arch)
	switch {
	case err != nil:
		return "", err
	case plan.OnBoard(p.Machine):
		return "", result.Refuse(byPath, "module %s: the lab builds modules for its own kernels and this host's, not for those of boards", name)
	case p.Machine == "local":
		var uname unix.Utsname
		if err := unix.Uname(&uname); err != nil {
			return "", err
		}
		kernel.Release = unix.ByteSliceToString(uname.Release[:])
	case p.Virtual():
		k, err := virtual.Locate(virtual.Choice{Series: p.Kernel, Counting: p.Processor != nil})
		if err != nil {
			return "", err
		}
		kernel = module.VirtualOf(k)
	case arch.Foreign():
		return "", result.Refuse(byPath, "module %s: the lab builds modules for this host's architecture, not %s", name, arch.Name)
	case p.Machine == "lab":
		image, err := lab.Locate(arch)
		if err != nil && !errors.Is(err, lab.ErrNotBuilt) { // then the agent compares the kernels
			return "", err
		}
		kernel = module.KernelOf(image)
	}
	m, err := module.Find(name, kernel)
	if err != nil {
		return "", err
	}
	return m.File(), nil
}
