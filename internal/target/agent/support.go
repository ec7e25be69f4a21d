package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"

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
	tools := map[string]bool{}
	for _, c := range p.Candidates {
		cs := result.Support{Candidate: c.String()}
		if err := c.Err(); err != nil {
			cs.Outcome, cs.Reason = result.Refused, err.Error()
		} else {
			a.judge(&cs, c, kernel)
			for _, t := range c.Filesystem().Needs {
				tools[t.Package] = true
			}
		}
		s.Candidates = append(s.Candidates, cs)
	}
	s.Conditions = toolVersions(ctx, tools)
	return s
}

// judge fills in why a candidate cannot run here, if it cannot.
func (a *Agent) judge(cs *result.Support, c filesystem.Candidate, kernel string) {
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
			cs.Outcome, cs.Reason = result.Unsupported, t.Program+" is not installed"
			cs.Hint = install(t, guest.Ours())
			return
		}
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

// install says how to get a tool onto this machine. Nothing can be installed in a guest: its image
// has the tools of every filesystem that Debian has packages of, and an image that lacks one is
// older than the filesystem's file.
func install(t filesystem.Tool, inGuest bool) string {
	switch {
	case t.From != "":
		return "Debian does not package it: " + t.From
	case inGuest:
		return "whichfs lab build --force rebuilds the lab's image with Debian's package " + t.Package
	}
	return "apt-get install " + t.Package
}

// noDriver says why the kernel has no driver, and where to get one.
func (a *Agent) noDriver(fs filesystem.Filesystem) (reason, hint string) {
	reason = "this kernel has no driver for " + fs.Title
	if fs.NotMainline == "" {
		return reason, "use a kernel with module " + fs.Module + "; Debian's linux-image packages have it, and the lab runs one of them"
	}
	hint = "--module " + fs.Module + ".ko"
	if a.modules != nil {
		hint += ", built for kernel " + filepath.Base(a.modules.Dir)
	}
	hint += "; whichfs lab module " + fs.Module + " --source DIR builds it for the lab's kernel, and --module " + fs.Module + " names it from then on"
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
