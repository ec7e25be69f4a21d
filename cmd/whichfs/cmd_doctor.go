package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/dataset"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/kernelsource"
	"whichfs/internal/host/lab/module"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/qemu"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/load"
	"whichfs/internal/sys/units"
)

type doctorCmd struct{}

// finding is one line of the doctor: what is needed, whether it is present, and what its absence
// costs.
type finding struct {
	name  string
	ok    bool
	note  string // details, or what does not work without it
	debs  []string
	other string // a remedy other than a package
}

func (doctorCmd) Run(a *shell) error {
	fmt.Fprintln(a.stdout, "The lab (guests, no root needed)")
	needs := labNeeds()
	labOK := a.show(append(needs, kvmFinding(a)))
	fmt.Fprintln(a.stdout, "\nThe virtual lab (a kernel that runs as a program; no root needed)")
	a.show(virtualFindings())
	fmt.Fprintln(a.stdout, "\nKernels that you have the source of (whichfs lab build --kernel-source)")
	a.show(sourceFindings())
	fmt.Fprintln(a.stdout, "\nModules that you have the source of (whichfs lab module)")
	a.show(moduleFindings())
	fmt.Fprintln(a.stdout, "\nGuests of another architecture (--arch, with --machine lab)")
	a.show(foreignFindings())
	fmt.Fprintln(a.stdout, "\nThis machine's own kernel (--machine local)")
	a.show(localFindings())
	fmt.Fprintln(a.stdout, "\nBoards (--machine ssh:[USER@]HOST[:PORT], serial:DEVICE[@BAUD] or labgrid:PLACE)")
	a.show(boardFindings())
	fmt.Fprintln(a.stdout, "\nThis machine's load (changes figures by wall clock, none by virtual clock)")
	fmt.Fprintln(a.stdout, strings.Join(loadFindings(load.Try(a.ctx, tryFor)), "\n"))
	left, err := findLeft()
	if err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintln(a.stdout, "\nLeft by a killed whichfs")
		fmt.Fprintln(a.stdout, strings.Join(leftFindings(left), "\n"))
	}
	if !labOK && usermode.Built() { // it was imported, perhaps
		fmt.Fprintln(a.stdout, "\nReady: whichfs run bootlin-2023 --clock virtual measures in the virtual lab. For guests by wall clock: "+remedy(needs))
		return nil
	}
	if !labOK {
		fmt.Fprintln(a.stdout, "\nNot ready. This makes it so: "+remedy(needs))
		fmt.Fprintln(a.stdout, "Or import a lab that was built elsewhere, and use the virtual clock: whichfs lab import FILE (whichfs help install)")
		return &problem{code: exitUnsupported}
	}
	fmt.Fprintln(a.stdout, "\nReady: whichfs run bootlin-2023 measures in the lab.")
	return nil
}

// remedy is the one command that installs and builds what findings lack; "" if that is nothing.
func remedy(findings []finding) string {
	debs, other := lacking(findings)
	if len(debs) > 0 {
		other = slices.Insert(other, 0, install(debs))
	}
	return strings.Join(other, " && ")
}

// lacking are the packages and the other remedies of what findings lack, each once.
func lacking(findings []finding) (debs, other []string) {
	for _, f := range findings {
		if f.ok {
			continue
		}
		for _, d := range f.debs {
			if !slices.Contains(debs, d) {
				debs = append(debs, d)
			}
		}
		if f.other != "" && !slices.Contains(other, f.other) {
			other = append(other, f.other)
		}
	}
	return debs, other
}

// install is the command that installs packages.
func install(debs []string) string {
	sudo := ""
	if os.Geteuid() != 0 {
		sudo = "sudo "
	}
	return sudo + "apt-get install --no-install-recommends " + strings.Join(debs, " ")
}

// boardFindings lists what boards are reached with, and the agents that can be sent to them.
func boardFindings() []finding {
	out := []finding{required(lab.Requirement{Program: "ssh", Package: "openssh-client", Without: "no boards over ssh"})}
	client := finding{name: "labgrid-client", note: "without it: no boards that labgrid lends", other: "pipx install labgrid"}
	if path, err := command.Look(client.name); err == nil {
		client.ok, client.note = true, path
	}
	out = append(out, client)
	for _, arch := range machine.Architectures {
		path, err := machine.AgentPath("", arch)
		f := finding{name: "agent for " + arch, ok: err == nil, note: path}
		if err != nil {
			f.note, f.other = "without it: no boards with such a processor", "make agents"
		}
		out = append(out, f)
	}
	return out
}

// tryFor is how long the doctor keeps a processor busy: longer than several turns of all processes.
const tryFor = 1500 * time.Millisecond

// loadFindings says how busy the machine is: the share of time for which work that begins now waits.
func loadFindings(busy float64) []string {
	line := func(mark, note string) string { return fmt.Sprintf("  %s  %-22s %s", mark, "processors", note) }
	if busy <= result.Marked {
		return []string{line("ok     ", fmt.Sprintf("free: work that begins now waits %s of its time", units.Share(busy)))}
	}
	note := "figures by wall clock would be marked, and settle less"
	if busy > result.TooBusy {
		note = "trials by wall clock would be taken again, and settle less"
	}
	return []string{line("busy   ", fmt.Sprintf("work that begins now waits %s of its time: %s", units.Share(busy), note)),
		"  → end other work (top shows it), or measure with --clock virtual"}
}

// show prints findings and the one command that installs what is missing.
func (a *shell) show(findings []finding) bool {
	ok, width := true, 22
	for _, f := range findings {
		width = max(width, utf8.RuneCountInString(f.name))
	}
	for _, f := range findings {
		mark := "ok     "
		if !f.ok {
			mark, ok = "missing", false
		}
		fmt.Fprintf(a.stdout, "  %s  %-*s %s\n", mark, width, f.name, f.note)
	}
	debs, other := lacking(findings)
	if len(debs) > 0 {
		fmt.Fprintf(a.stdout, "  → %s\n", install(debs))
	}
	for _, o := range other {
		fmt.Fprintf(a.stdout, "  → %s\n", o)
	}
	return ok
}

// labNeeds lists what a run in the lab needs.
func labNeeds() []finding {
	var out []finding
	seen := map[string]bool{}
	needs := lab.Requirements(lab.Native())
	for _, r := range dataset.Requirements() {
		needs = append(needs, lab.Requirement{Program: r.Program, Package: r.Package, Without: "no data set: it " + r.Why})
	}
	for _, r := range needs {
		if seen[r.Program] {
			continue
		}
		seen[r.Program] = true
		out = append(out, required(r))
	}
	image, err := lab.Locate(lab.Native())
	f := finding{name: "lab image", ok: err == nil, other: "whichfs lab build"}
	if err == nil {
		f.note = image.Dir
	} else {
		f.note = "without it: the first run builds it in half a minute and downloads about 300 MB"
	}
	return append(out, f)
}

// kvmFinding says how fast guests are, for which it starts one.
func kvmFinding(a *shell) finding {
	ok, why := qemu.KVM(a.ctx)
	f := finding{name: "KVM", ok: true, note: "works: guests run at this machine's speed"}
	if !ok {
		f.note = "not used (" + why + "): guests are emulated, figures show order and ratio, not this machine's speed"
	}
	return f
}

func required(r lab.Requirement) finding {
	f := finding{name: r.Program, debs: []string{r.Package}}
	if path, err := r.Path(); err == nil {
		f.ok, f.note = true, path
	} else {
		f.note = "without it: " + r.Without
	}
	return f
}

// virtualFindings lists what the kernel of the virtual lab is made with, besides what the lab needs
// anyway, and the kernels. Kernels that are there, of an import perhaps, need no tools; what is missing
// for others is one line.
func virtualFindings() []finding {
	out := beyond(virtual.Requirements(), lab.Requirements(lab.Native()))
	kernels, err := virtual.Kernels()
	if debs, _ := lacking(out); len(kernels) > 0 && len(debs) > 0 {
		out = []finding{{name: "tools", debs: debs, note: "without them: no other kernel of the virtual lab can be compiled"}}
	}
	for _, k := range kernels {
		out = append(out, finding{name: "kernel " + k.Manifest.Name(), ok: true, note: k.Dir})
	}
	if len(kernels) == 0 {
		f := finding{name: "virtual lab kernel", other: "whichfs lab build --virtual"}
		f.note = "without it: no virtual lab; building it takes about five minutes and downloads about 150 MB"
		if err != nil {
			f.note = err.Error()
		}
		out = append(out, f)
	}
	return out
}

// sourceFindings lists what kernels are built with, besides what the labs need anyway, and the kernels.
func sourceFindings() []finding {
	out := beyond(kernelsource.Requirements(), slices.Concat(lab.Requirements(lab.Native()), virtual.Requirements()))
	kernels, err := lab.FromSource()
	if err != nil {
		out = append(out, finding{name: "kernels", note: err.Error()})
	}
	for _, k := range kernels {
		out = append(out, finding{name: "kernel " + k.Release, ok: true, note: k.Root})
	}
	return out
}

// moduleFindings lists what modules are built with, besides what the labs need anyway, and the modules.
func moduleFindings() []finding {
	out := beyond(module.Requirements(), slices.Concat(lab.Requirements(lab.Native()), virtual.Requirements()))
	modules, err := module.All()
	if err != nil {
		out = append(out, finding{name: "modules", note: err.Error()})
	}
	for _, m := range modules {
		out = append(out, finding{name: "module " + m.Name, ok: true, note: m.File()})
	}
	return out
}

// beyond are the findings about requirements that are not among the known ones.
func beyond(all, known []lab.Requirement) (out []finding) {
	for _, r := range all {
		if !slices.ContainsFunc(known, func(k lab.Requirement) bool { return k.Program == r.Program }) {
			out = append(out, required(r))
		}
	}
	return out
}

// foreignFindings lists the other architectures that guests can have. Of what they need, only QEMU
// is a different program.
func foreignFindings() []finding {
	var out []finding
	for _, arch := range lab.Archs {
		if !arch.Foreign() {
			continue
		}
		f := finding{name: arch.QEMU, debs: []string{arch.Package}}
		path, err := command.Look(arch.QEMU)
		if err != nil {
			f.note = "without it: no --arch " + arch.Name
			out = append(out, f)
			continue
		}
		f.ok, f.note = true, path+", for --arch "+arch.Name
		if image, err := lab.Locate(arch); err == nil {
			f.note += "; its lab image is built, with kernel " + image.Manifest.Kernel
		} else {
			f.note += "; the first run builds its lab image in about a minute"
		}
		out = append(out, f)
	}
	return out
}

func localFindings() []finding {
	out := []finding{{name: "root", ok: os.Geteuid() == 0, note: "you are root"}}
	if !out[0].ok {
		out[0].note = "without it: no --machine local; the lab needs none"
		out[0].other = "sudo whichfs run … --machine local"
	}
	const here = "tools are installed"
	kernel, _ := os.ReadFile("/proc/filesystems")
	for _, fs := range filesystem.All {
		f := finding{name: fs.Name, ok: true, note: here}
		for _, t := range fs.Needs {
			if _, err := command.Look(t.Program); err != nil {
				f.ok = false
				if t.From != "" {
					f.other = "get " + t.Program + " from " + t.From
				} else {
					f.debs = append(f.debs, t.Package)
				}
				switch {
				case !t.Optional:
					f.note = "without " + t.Program + ": unsupported here"
				case f.note == here:
					f.note = "without " + t.Program + ": no check"
				}
			}
		}
		if !strings.Contains(string(kernel), "\t"+fs.Name+"\n") {
			f.note += "; the kernel loads module " + fs.Module + " if it has it"
			if fs.NotMainline != "" {
				f.note += ": " + fs.NotMainline
			}
		}
		out = append(out, f)
	}
	return out
}
