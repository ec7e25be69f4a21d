package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"whichfs/internal/fault/script"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// crashCmd works with crash states: what a power loss can leave of the writes that a filesystem
// sent to its storage.
type crashCmd struct {
	List    crashListCmd    `cmd:"" help:"List the scripts that crash states are made of."`
	Explore crashExploreCmd `cmd:"" help:"Make every state that a power loss can leave, mount each, and check it against what was promised."`
	Record  crashRecordCmd  `cmd:"" help:"Run a script on a filesystem and write the log of its writes to storage."`
	Replay  crashReplayCmd  `cmd:"" help:"Reproduce a finding: mount the same state and check whether it breaks the same promise."`
	Show    crashShowCmd    `cmd:"" help:"Show a finding or a log as a picture, without running anything."`
}

// crashClock is the kind of guest that handles crash states in the lab.
type crashClock struct {
	Clock string `complete:"virtual|wall" help:"Guests of the lab: virtual (their kernel is an unprivileged process of this machine, many times as fast as an emulated one) or wall (QEMU). Default: virtual if whichfs lab build --virtual was done." placeholder:"NAME"`
}

type crashListCmd struct{}

func (crashListCmd) Run(a *shell) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCRIPT\tSTEPS\tRELIES ON\tWHAT IT DOES")
	for _, s := range script.Library() {
		relies := "what is promised"
		if s.Careless {
			relies = "luck"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", s.Name, s.Steps(), relies, s.About)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\nAlso available: %s of one operation (--sequences 1), %d of two (--sequences 2).\n",
		units.Count(len(script.Sequences(1)), "sequence"), len(script.Sequences(2)))
	return err
}

// scriptsNamed returns the named scripts of the library, or all of them if names is empty.
func scriptsNamed(names []string) ([]script.Script, error) {
	library := script.Library()
	if len(names) == 0 {
		return library, nil
	}
	var out []script.Script
	for _, name := range names {
		s, err := scriptNamed(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// scriptNamed finds one script, in the library or among the sequences.
func scriptNamed(name string) (script.Script, error) {
	for _, list := range [][]script.Script{script.Library(), script.Sequences(1), script.Sequences(2)} {
		for _, s := range list {
			if s.Name == name {
				return s, nil
			}
		}
	}
	return script.Script{}, result.Refuse("whichfs crash list shows the scripts", "there is no script %q", name)
}
