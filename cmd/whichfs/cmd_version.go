package main

import (
	"fmt"
	"runtime"
	"text/tabwriter"

	"whichfs/internal/host/machine"
	"whichfs/internal/result"
	"whichfs/internal/sys/build"
)

type versionCmd struct{}

func (versionCmd) Run(a *shell) error {
	fmt.Fprintln(a.stdout, "whichfs", build.Version())
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if hash, when := build.Commit(); hash != "" {
		fmt.Fprintf(w, "commit\t%s\ndate\t%s\n", hash, when)
	}
	fmt.Fprintf(w, "go\t%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, arch := range machine.Architectures {
		text := ""
		path, err := machine.AgentPath("", arch)
		if err == nil {
			text, err = build.AgentVersion(path)
		}
		if err != nil {
			text = "none"
			if f := result.FailureOf(err); f != nil && f.Err != nil {
				text = "none: " + f.Error()
			}
		}
		fmt.Fprintf(w, "agent for %s\t%s\n", arch, text)
	}
	return w.Flush()
}
