package agent

import (
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// support reports which candidates can run on this machine and storage.
func (a *Agent) support(ctx context.Context, p wire.Candidates) wire.Support {
	var s wire.Support
	kernel := readText("/proc/filesystems")
	if a.modules == nil { // no storage was prepared
		a.modules, _ = readModules() // without them, the drivers that are loaded count
	}
	tools := map[string]bool{}
	var config []string
	for _, c := range p.Candidates {
		cs := result.Support{Candidate: c.String()}
		if err := c.Err(); err != nil {
			cs.Outcome, cs.Reason = result.Refused, err.Error()
		} else {
			a.judge(ctx, &cs, c, kernel)
			config = append(config, c.Filesystem().Config...)
			for _, t := range c.Filesystem().Needs {
				tools[t.Package] = true
			}
		}
		s.Candidates = append(s.Candidates, cs)
	}
	s.Conditions = toolVersions(ctx, tools)
	if len(config) > 0 {
		s.Conditions = append(s.Conditions, configured(kernelConfig(), config)...)
	}
	return s
}

// judge fills in why a candidate cannot run here, if it cannot.
func (a *Agent) judge(ctx context.Context, cs *result.Support, c filesystem.Candidate, kernel string) {
	fs := c.Filesystem()
	if reason, hint := c.Misplaced(a.raw); a.claim != nil && reason != "" {
		cs.Outcome, cs.Reason, cs.Hint = result.Refused, reason, hint
		return
	}
	known := false
	for line := range strings.Lines(kernel) {
		words := strings.Fields(line)
		known = known || len(words) > 0 && words[len(words)-1] == fs.Name
	}
	if !known && a.modules != nil {
		file, builtin := a.modules.Has(a.modules.Driver(fs))
		known = file || builtin
	}
	if !known {
		cs.Outcome = result.Unsupported
		cs.Reason, cs.Hint = a.noDriver(fs)
		return
	}
	for _, t := range fs.Needs {
		if _, err := command.Look(t.Program); err != nil && !t.Optional {
			cs.Outcome, cs.Reason = result.Unsupported, t.Absent()
			cs.Hint = install(t, guest.Ours())
			return
		}
	}
	if lack := toolLacks(ctx, c); lack != "" {
		cs.Outcome, cs.Reason, cs.Hint = result.Unsupported, lack, "a newer or another build of the tool may have it"
		return
	}
	if option, hint := a.refused(c); option != "" {
		cs.Outcome, cs.Reason, cs.Hint = result.Unsupported, "this kernel's driver does not take -o "+option, hint
		return
	}
	if reason, hint := workload.LacksDaemon(c); reason != "" {
		cs.Outcome, cs.Reason, cs.Hint = result.Unsupported, reason, hint
		return
	}
	if a.claim == nil {
		return
	}
	reason, hint := c.Misfit(a.claim.Size())
	if a.raw {
		reason, hint = c.Unfit(a.claim.Chip())
	}
	if reason != "" {
		cs.Outcome, cs.Reason, cs.Hint = result.Refused, reason, hint
	}
}

// toolLacks says what the candidate's image maker was built without, as an image of an empty directory
// shows; "" if nothing.
func toolLacks(ctx context.Context, c filesystem.Candidate) string {
	fs := c.Filesystem()
	if fs.Doubts == nil || fs.Doubts(c) == "" {
		return ""
	}
	dir, err := os.MkdirTemp("", "whichfs-doubt-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left takes no space
	tree, image := filepath.Join(dir, "tree"), filepath.Join(dir, "image")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return ""
	}
	plain := filesystem.Candidate{FS: fs.Name}
	for _, x := range []filesystem.Candidate{plain, c} {
		_ = os.Remove(image) // the one before
		argv := fs.Image(x, image, tree)
		switch _, err := command.Run(ctx, command.Options{}, argv...); {
		case err != nil && x == plain:
			return "" // it is not for want of what the candidate asks
		case err != nil:
			return argv[0] + " " + fs.Doubts(c)
		}
	}
	return ""
}

// refused is the first of the candidate's mount options that the filesystem says not every driver
// takes, and that this one does not; "" if there is none, or nothing can be asked.
func (a *Agent) refused(c filesystem.Candidate) (option, hint string) {
	fs := c.Filesystem()
	for _, word := range c.Mount() {
		name, _, _ := strings.Cut(word, "=")
		hint, doubtful := fs.Optional[name]
		if !doubtful || a.modules == nil {
			continue
		}
		if err := workload.LoadFor(a.modules, a.modules.Driver(fs)); err != nil {
			return "", "" // the trial says so
		}
		taken := workload.Takes(fs.Name, word)
		_ = a.modules.Unload() // the trial loads it
		if !taken {
			return word, hint
		}
	}
	return "", ""
}

// kernelConfig is the configuration of the running kernel; "" if it does not tell.
func kernelConfig() string {
	if f, err := os.Open("/proc/config.gz"); err == nil {
		defer f.Close() //nolint:errcheck // only read
		if z, err := gzip.NewReader(f); err == nil {
			text, err := io.ReadAll(io.LimitReader(z, 4<<20))
			if err == nil {
				return string(text)
			}
		}
	}
	var uname unix.Utsname
	if unix.Uname(&uname) != nil {
		return ""
	}
	return readText("/boot/config-" + unix.ByteSliceToString(uname.Release[:]))
}

// configured returns the values of options of the kernel's configuration; one that is not set is n.
func configured(config string, names []string) []result.Condition {
	if config == "" {
		return nil
	}
	values := map[string]string{}
	for line := range strings.Lines(config) {
		if name, value, set := strings.Cut(strings.TrimSpace(line), "="); set {
			values[name] = value
		}
	}
	slices.Sort(names)
	var out []result.Condition
	for _, name := range slices.Compact(names) {
		name = "CONFIG_" + name
		out = append(out, result.Condition{Group: "machine", Name: name, Value: cmp.Or(values[name], "n"), Matters: true})
	}
	return out
}

// install says how to get a tool onto this machine. Nothing can be installed in a guest: its image
// has the tools of every filesystem that Debian has packages of, and an image that lacks one is
// older than the filesystem's file.
func install(t filesystem.Tool, inGuest bool) string {
	switch {
	case t.From != "":
		return "Debian does not package it, but --program gives it to a run: " + t.From
	case inGuest:
		return "whichfs lab build --force rebuilds the lab's image with Debian's package " + t.Package
	}
	return "apt-get install " + t.Package
}

// noDriver says why the kernel has no driver, and where to get one.
func (a *Agent) noDriver(fs filesystem.Filesystem) (reason, hint string) {
	const own = "whichfs lab build --kernel-source DIR builds a kernel of your own that has it"
	reason = "this kernel has no driver for " + fs.Title
	switch {
	case fs.NotDebian != "":
		return reason + " (" + fs.NotDebian + ")", "use --clock virtual, whose kernel has it; " + own
	case fs.NotMainline == "":
		return reason, "use a kernel with module " + fs.Module + "; Debian's linux-image packages have it, and the lab runs one of them"
	}
	hint = "--module " + fs.Module + ".ko"
	if a.modules != nil {
		hint += ", built for kernel " + filepath.Base(a.modules.Dir)
	}
	hint += "; whichfs lab module " + fs.Module + " --source DIR builds it for the lab's kernel, and --module " + fs.Module + " names it from then on; " + own
	return reason + " (" + fs.NotMainline + ")", hint
}

// toolVersions queries Debian's package database, if there is one.
func toolVersions(ctx context.Context, packages map[string]bool) []result.Condition {
	if _, err := os.Stat("/var/lib/dpkg/status"); err != nil {
		return nil
	}
	argv := []string{"dpkg-query", "-W", "-f", "${Package} ${Version}\n"}
	for p := range packages {
		argv = append(argv, p)
	}
	r, _ := command.Run(ctx, command.Options{}, argv...) // exit status 1: some are not installed
	var out []result.Condition
	for line := range strings.Lines(r.Stdout) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok && version != "" {
			out = append(out, result.Condition{Group: "tools", Name: name, Value: version, Matters: true})
		}
	}
	return out
}
