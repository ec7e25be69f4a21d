package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"whichfs/internal/app"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/kernelsource"
	"whichfs/internal/host/lab/module"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/qemu"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

type labCmd struct {
	Build  labBuildCmd  `cmd:"" help:"Build kernel and root image; needs no root. Does nothing if they exist."`
	Module labModuleCmd `cmd:"" help:"Build a kernel module from its source for a kernel of the lab; --module takes its name from then on."`
	Shell  labShellCmd  `cmd:"" help:"Open a shell in a guest with storage attached; the guest ends with the shell."`
	List   labListCmd   `cmd:"" help:"List the root images, the kernels built from source, those of the virtual lab, and the modules."`
	Export labExportCmd `cmd:"" help:"Pack all of the lab into one file, for machines that cannot build it."`
	Import labImportCmd `cmd:"" help:"Make the lab from a file that lab export has written, on any distribution and without a network."`
	Clean  labCleanCmd  `cmd:"" help:"Remove kernels, root images and modules."`
}

type labBuildCmd struct {
	Arch         string   `complete:"arch" help:"Architecture of the guests: armhf, arm64 or amd64 (default: this host's)." placeholder:"NAME"`
	Force        bool     `help:"Rebuild even if the image exists; with --virtual or --kernel-source, the kernel."`
	Kernels      []string `sep:"," help:"Also prepare these kernels for booting from filesystems, given by version prefix: 6.1,6.12." placeholder:"LIST"`
	Virtual      bool     `help:"Also build the kernel of the virtual lab: Linux as a program of this host, compiled from Debian's source."`
	Counting     bool     `help:"With --virtual: build the kernel that counts what its processor does, for runs with --cpu."`
	Kernel       string   `help:"Series of the virtual lab's kernel: 6.1, or one of Debian's backports (default: 6.1)." placeholder:"SERIES"`
	KernelSource string   `help:"Also build a kernel from the source in this directory, which is only read; --kernel takes its release from then on." placeholder:"DIR"`
	KernelConfig string   `help:"With --kernel-source: a file of options that differ from the lab's, as lines of a kernel's .config." placeholder:"FILE"`
}

func (c *labBuildCmd) Run(a *shell) error {
	arch, err := app.ArchNamed(c.Arch)
	if err != nil {
		return err
	}
	switch {
	case c.Counting && !c.Virtual:
		return result.Refuse("add --virtual", "--counting is a kernel of the virtual lab")
	case c.Kernel != "" && !c.Virtual:
		return result.Refuse("add --virtual; --kernels prepares kernels for booting from filesystems", "--kernel is the kernel of the virtual lab")
	case c.KernelConfig != "" && c.KernelSource == "":
		return result.Refuse("add --kernel-source DIR", "--kernel-config is of a kernel that is built from source")
	case c.KernelSource != "" && c.Virtual:
		return result.Refuse("leave out --virtual", "--kernel-source builds kernels for guests by wall clock: that of the virtual lab needs patches, each for a series")
	case c.KernelSource != "" && arch.Foreign():
		return result.Refuse("leave out --arch", "--kernel-source builds kernels of this host's architecture, not %s", arch.Name)
	case c.KernelSource != "":
		if err := kernelsource.Check(c.KernelSource, c.KernelConfig); err != nil { // before the image is fetched
			return err
		}
	case c.Virtual && arch.Foreign():
		return result.Refuse("leave out --arch", "the virtual lab has this host's architecture, not %s", arch.Name)
	case c.Virtual:
		_, err := virtual.Locate(c.choice())
		if c.Force || errors.Is(err, virtual.ErrNotBuilt) {
			err = virtual.Missing() // before the image is fetched
		}
		if err != nil {
			return err
		}
	}
	if err := c.image(a, arch, c.Force && !c.Virtual && c.KernelSource == ""); err != nil {
		return err
	}
	if c.KernelSource != "" {
		if err := c.fromSource(a); err != nil {
			return err
		}
	}
	if c.Virtual {
		if err := c.virtual(a); err != nil {
			return err
		}
	}
	for _, asked := range c.Kernels {
		k, err := lab.FetchKernel(a.ctx, arch, asked, a.note)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.stdout, "Kernel %s is ready: %s\n", asked, k.Release); err != nil {
			return err
		}
	}
	return nil
}

// image builds the image, or reports that it exists.
func (c *labBuildCmd) image(a *shell, arch lab.Arch, force bool) error {
	build := lab.Rebuild
	if !force {
		build = lab.Build // another process may be building it
		if image, err := lab.Locate(arch); err == nil {
			_, err := fmt.Fprintln(a.stdout, "The lab is already built:", image.Dir)
			return err
		}
	}
	image, err := build(a.ctx, arch, a.note)
	if err != nil {
		return err
	}
	m := image.Manifest
	_, err = fmt.Fprintf(a.stdout, "Built the lab in %.0f s: %s (%s, kernel %s)\n", m.Seconds, image.Dir, image.Arch().Name, m.Kernel)
	return err
}

func (c *labBuildCmd) choice() virtual.Choice {
	return virtual.Choice{Series: c.Kernel, Counting: c.Counting}
}

// virtual builds the kernel of the virtual lab, or reports that it exists.
func (c *labBuildCmd) virtual(a *shell) error {
	build := virtual.Rebuild
	if !c.Force {
		build = virtual.Build
		if k, err := virtual.Locate(c.choice()); err == nil {
			_, err := fmt.Fprintln(a.stdout, "The virtual lab's kernel is already built:", k.Dir)
			return err
		}
	}
	k, err := build(a.ctx, c.choice(), a.note)
	if err != nil {
		return err
	}
	a.note("checking that its clock is ours, and that a known run repeats its figures")
	if err := usermode.New(usermode.Options{Progress: a.note}).SelfTest(a.ctx, c.choice()); err != nil {
		return err
	}
	m := k.Manifest
	_, err = fmt.Fprintf(a.stdout, "Built the virtual lab's kernel in %.0f s: %s (%s, from %s %s)\n", m.Seconds, k.Dir, m.Name(), m.Package, m.Version)
	return err
}

// fromSource builds a kernel from a user's source, or reports that it exists.
func (c *labBuildCmd) fromSource(a *shell) error {
	k, built, err := kernelsource.Build(a.ctx, c.KernelSource, c.KernelConfig, c.Force, a.note)
	if err != nil {
		return err
	}
	if !built {
		_, err := fmt.Fprintf(a.stdout, "Kernel %s is already built from this source: %s\n", k.Release, k.Root)
		return err
	}
	a.note("checking that a guest starts with it")
	s, err := qemu.New(qemu.Options{Progress: a.note}).Start(a.ctx, machine.Spec{Storage: "disk:16M", Kernel: k.Release})
	if err != nil {
		return result.Also(err, "the kernel is kept: "+k.Root)
	}
	if err := s.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Built kernel %s in %.0f s (%.0f s of processor time): %s; --kernel %s gives it to guests\n",
		k.Release, k.Made.Seconds, k.Made.Processor, k.Root, k.Release)
	return err
}

type labModuleCmd struct {
	Name   string `arg:"" help:"The module: yaffs2, for instance."`
	Source string `required:"" help:"Directory with the source, as published or with a Kbuild of your own; it is only read." placeholder:"DIR"`

	Virtual  bool   `help:"For the kernel of the virtual lab (--clock virtual) rather than Debian's."`
	Counting bool   `help:"With --virtual: for the kernel that counts what its processor does (--cpu)."`
	Kernel   string `help:"With --virtual: series of that kernel (default: 6.1)." placeholder:"SERIES"`
}

func (c *labModuleCmd) Run(a *shell) error {
	var which *virtual.Choice
	switch {
	case c.Virtual:
		which = &virtual.Choice{Series: c.Kernel, Counting: c.Counting}
	case c.Counting || c.Kernel != "":
		return result.Refuse("add --virtual", "--counting and --kernel choose a kernel of the virtual lab")
	}
	m, built, err := module.Build(a.ctx, c.Name, c.Source, which, a.note)
	if err != nil {
		return err
	}
	if !built {
		_, err := fmt.Fprintf(a.stdout, "Module %s is already built from this source: %s\n", m.Name, m.File())
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Built module %s for kernel %s in %.0f s (%.0f s of processor time): %s, %s; --module %s gives it to a guest\n",
		m.Name, m.Kernel, m.Seconds, m.Processor, m.File(), units.Value(float64(m.Size), "B"), m.Name)
	return err
}

type labShellCmd struct {
	Storage string   `complete:"storage" help:"Storage to attach." default:"disk:1G"`
	Arch    string   `complete:"arch" help:"Architecture of the guest: armhf, arm64 or amd64 (default: this host's)." placeholder:"NAME"`
	Kernel  string   `help:"Kernel of the guest by version, as for whichfs run." placeholder:"VERSION"`
	Module  []string `sep:"none" help:"Kernel module to take along: the path of a .ko file, or the name of one that whichfs lab module has built; in the guest it is in /root. Repeatable." placeholder:"MODULE"`
}

func (c *labShellCmd) Run(a *shell) error {
	m := qemu.New(qemu.Options{Progress: func(line string) { fmt.Fprintln(a.stdout, line) }})
	files, err := app.ModuleFiles(plan.Plan{Machine: "lab", Arch: c.Arch, Modules: c.Module})
	if err != nil {
		return err
	}
	return m.Shell(a.ctx, a.stdin, a.stdout, machine.Spec{Storage: c.Storage, Arch: c.Arch, Kernel: c.Kernel, Modules: files})
}

type labListCmd struct{}

func (labListCmd) Run(a *shell) error {
	images, err := lab.Images()
	if err != nil {
		return err
	}
	kernels, err := virtual.Kernels()
	if err != nil {
		return err
	}
	own, err := lab.FromSource()
	if err != nil {
		return err
	}
	modules, err := module.All()
	if err != nil {
		return err
	}
	if err := listImages(a.stdout, images); err != nil {
		return err
	}
	if err := listFromSource(a.stdout, own); err != nil {
		return err
	}
	if err := listKernels(a.stdout, kernels); err != nil {
		return err
	}
	return listModules(a.stdout, modules)
}

func listFromSource(w io.Writer, kernels []lab.Kernel) error {
	if len(kernels) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\nKERNEL\tSOURCE\tBUILT\tSIZE\tDIRECTORY")
	for _, k := range kernels {
		m := k.Made
		fmt.Fprintf(out, "%s\t%s\t%s, in %.0f s\t%s\t%s\n", k.Release, m.Source, m.Built.Format("2006-01-02"), m.Seconds, units.Value(float64(k.Size()), "B"), k.Root)
	}
	return out.Flush()
}

func listKernels(w io.Writer, kernels []virtual.Kernel) error {
	if len(kernels) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\nVIRTUAL KERNEL\tSOURCE\tBUILT\tSIZE\tDIRECTORY")
	for _, k := range kernels {
		m := k.Manifest
		fmt.Fprintf(out, "%s\t%s %s\t%s, in %.0f s\t%s\t%s\n", m.Name(), m.Package, m.Version, m.Built.Format("2006-01-02"), m.Seconds, units.Value(float64(k.Size()), "B"), k.Dir)
	}
	return out.Flush()
}

func listModules(w io.Writer, modules []module.Module) error {
	if len(modules) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\nMODULE\tKERNEL\tBUILT\tSIZE\tSOURCE")
	for _, m := range modules {
		fmt.Fprintf(out, "%s\t%s\t%s, in %.0f s\t%s\t%s\n", m.Name, m.Kernel, m.Built.Format("2006-01-02"), m.Seconds, units.Value(float64(m.Size), "B"), m.Source)
	}
	return out.Flush()
}

func listImages(w io.Writer, images []lab.Image) error {
	if len(images) == 0 {
		_, err := fmt.Fprintln(w, "There is no lab image; whichfs lab build makes one")
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ARCHITECTURE\tKERNEL\tBUILT\tSIZE\tDIRECTORY")
	for _, i := range images {
		m := i.Manifest
		fmt.Fprintf(out, "%s\t%s\t%s, in %.0f s\t%s\t%s\n", i.Arch().Name, m.Kernel, m.Built.Format("2006-01-02"), m.Seconds, units.Value(float64(i.Size()), "B"), i.Dir)
	}
	return out.Flush()
}

type labExportCmd struct {
	File string `arg:"" help:"The file, which must not exist: lab.tar.zst."`
}

func (c *labExportCmd) Run(a *shell) error {
	parts, err := lab.Parts()
	if err != nil {
		return err
	}
	kernels, err := virtual.Kernels()
	if err != nil {
		return err
	}
	for _, k := range kernels {
		parts = append(parts, k.Dir)
	}
	modules, err := module.All()
	if err != nil {
		return err
	}
	for _, m := range modules {
		parts = append(parts, m.Dir)
	}
	if len(parts) == 0 {
		return result.Refuse("whichfs lab build --virtual", "there is no lab to export")
	}
	data := dataset.Portable()
	parts = append(parts, data...)
	show := a.quietly("", "packing the lab")
	err = lab.Export(a.ctx, c.File, a.Version, parts, func(done, all int64) { show.bytes("packing the lab", done, all) })
	show.end(err == nil)
	if err != nil {
		return err
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Exported the lab, %s and %s, to %s (%s); whichfs lab import makes it elsewhere\n",
		units.Count(len(parts)-len(data), "part"), units.Count(len(data)/2, "data set"), c.File, units.Value(float64(info.Size()), "B"))
	return err
}

type labImportCmd struct {
	File string `arg:"" help:"A file that lab export has written, with this version of whichfs or one that has the same lab."`
}

func (c *labImportCmd) Run(a *shell) error {
	show := a.quietly("", "unpacking the lab")
	made, there, err := lab.Import(a.ctx, c.File, a.Version, func(part, dir string) error {
		name, ok := lab.PartOf(part)
		switch {
		case !ok:
			if _, ok := dataset.PartOf(part); ok {
				return dataset.Fits(a.ctx, dir)
			}
			return errors.New("it is none of the lab")
		case virtual.Part(name):
			return virtual.Fits(dir)
		case module.Part(name):
			return module.Fits(dir)
		}
		return lab.Fits(name, dir)
	}, func(done, all int64) { show.bytes("unpacking the lab", done, all) })
	show.end(err == nil)
	if err != nil {
		return err
	}
	for _, dir := range there {
		fmt.Fprintln(a.stdout, "Already there:", dir)
	}
	for _, dir := range made {
		fmt.Fprintln(a.stdout, "Imported:", dir)
	}
	return nil
}

type labCleanCmd struct{}

func (labCleanCmd) Run(a *shell) error {
	freed, err := lab.Clean()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Removed the lab: %s freed\n", units.Value(float64(freed), "B"))
	return err
}
