// whichfs finds out by experiment which filesystem, with which options, suits this storage and this
// work.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"whichfs/internal/app"
	"whichfs/internal/result"
	"whichfs/internal/sys/build"
)

// cli is the command line: one field per command, each in its own file.
type cli struct {
	Store string `help:"Result store: a SQLite file, or a PostgreSQL database (postgres://USER@HOST/NAME); $$WHICHFS_STORE, else a file below $$XDG_DATA_HOME." placeholder:"FILE"`
	JSON  bool   `name:"json-errors" help:"Write errors as JSON."`
	Plain bool   `help:"For screen readers and logs: sentences and simple tables, without bars, lines, colours and cursor movement." env:"WHICHFS_PLAIN"`
	// As for any program; the command says more.
	ShortVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`

	Start      startCmd      `cmd:"" default:"1" hidden:""`
	Run        runCmd        `cmd:"" help:"Carry out a study or a plan file and report which filesystem is best."`
	Serve      serveCmd      `cmd:"" help:"Show the store to browsers: runs, comparisons, histories, recommendations."`
	Predict    predictCmd    `cmd:"" help:"Predict what a study would measure on hardware that you describe: a processor and the model of a card."`
	Resume     resumeCmd     `cmd:"" help:"Finish a run that was interrupted."`
	Runs       runsCmd       `cmd:"" help:"List the runs in the store."`
	Cancel     cancelCmd     `cmd:"" help:"End a run that another process or the fleet is carrying out; it can be resumed."`
	Worker     workerCmd     `cmd:"" help:"Carry out trials of runs that were begun with --fleet, on this machine."`
	Fleet      fleetCmd      `cmd:"" help:"Show the workers, what they do, what waits, and why nothing can do it."`
	Report     reportCmd     `cmd:"" help:"Report a run in the terminal, as a page or as data."`
	Export     exportCmd     `cmd:"" help:"Write any number of runs into one file for other programs."`
	Recommend  recommendCmd  `cmd:"" help:"Recommend a filesystem for your own needs and weights."`
	Compare    compareCmd    `cmd:"" help:"Compare two runs: what changed, and what differs; or a prediction with a measurement; or probes, side by side."`
	History    historyCmd    `cmd:"" help:"Show how the figures of a study went from run to run, or from kernel to kernel, and what changed since when."`
	Probe      probeCmd      `cmd:"" help:"Infer from timing how storage works inside; only reads unless allowed to write."`
	Probes     probesCmd     `cmd:"" help:"List the probes in the store, or show one again."`
	Crash      crashCmd      `cmd:"" help:"Find out what a power loss at any moment can leave of files."`
	Tune       tuneCmd       `cmd:"" help:"Show which options follow from a probe, and why."`
	Twin       twinCmd       `cmd:"" help:"Make, show and check models of simulated storage."`
	Storage    storageCmd    `cmd:"" help:"Lend simulated storage to other programs."`
	Board      boardCmd      `cmd:"" help:"Check whether runs work on a board."`
	List       listCmd       `cmd:"" help:"List filesystems, studies, storage, models, data sets, needs, keys or profiles."`
	Doctor     doctorCmd     `cmd:"" help:"Show what is missing on this machine and the command that installs it."`
	Clean      cleanCmd      `cmd:"" help:"Remove what a killed whichfs left on this machine."`
	Lab        labCmd        `cmd:"" help:"Build, enter or remove the laboratory."`
	StoreCmd   storeCmd      `cmd:"" name:"store" help:"Copy a store, or let others use one in PostgreSQL."`
	Help       helpCmd       `cmd:"" help:"Show a document of the manual, or list them; of a command: its flags."`
	Completion completionCmd `cmd:"" help:"Print what bash, zsh or fish reads to complete the arguments of whichfs."`
	Complete   completeCmd   `cmd:"" hidden:""`
	Manual     manualCmd     `cmd:"" hidden:""`
	Version    versionCmd    `cmd:"" help:"Print the version, what it was built from, and the versions of the agents."`
}

// newCLI has the flags that follow from tables.
func newCLI() cli {
	var c cli
	c.Run.outputs, c.Predict.outputs, c.Resume.outputs, c.Report.outputs = newOutputs(), newOutputs(), newOutputs(), newOutputs()
	return c
}

// shell is the environment that commands run in.
type shell struct {
	*app.App
	ctx    context.Context
	cli    *cli
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main with its surroundings as arguments; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := newCLI()
	status := -1
	parser, err := kong.New(&c,
		kong.Name("whichfs"),
		kong.Description("Which filesystem, with which options, for this storage and this work?\n\n"+exitHelp()+"\n"+topicHelp()),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Writers(stdout, stderr), kong.Vars{"version": "whichfs " + build.Version()},
		kong.Exit(func(code int) { status = code }),
	)
	if err != nil {
		fmt.Fprintln(stderr, "whichfs:", err)
		return exitLab
	}
	if _, ok := terminalOf(stdout); len(args) == 0 && !ok {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if status >= 0 { // --help, --version
		return status
	}
	if err != nil {
		return complain(stderr, slices.Contains(args, "--json-errors"), misspelt(err))
	}
	// The first signal ends the run cleanly; the second kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	go func() { <-ctx.Done(); stop() }()
	a := &shell{ctx: ctx, cli: &c, stdin: stdin, stdout: stdout, stderr: stderr}
	a.App = &app.App{Path: c.Store, Version: build.Version(), Note: a.note}
	if err := k.Run(a); err != nil {
		return complain(stderr, c.JSON, explain(err))
	}
	return exitOK
}

// misspelt is a command line that could not be parsed.
func misspelt(err error) *problem {
	p := &problem{code: exitRefused, Failure: result.Failure{Reason: err.Error(), Hint: "whichfs --help lists the commands"}}
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if command := parse.Context.Selected(); command != nil {
			p.Hint = command.FullPath() + " --help shows its arguments"
		}
	}
	return p
}

// complain prints a problem and returns its exit status.
func complain(w io.Writer, asJSON bool, p *problem) int {
	if p.Reason == "" {
		return p.code
	}
	if asJSON {
		_ = json.NewEncoder(w).Encode(jsonError{Error: p.Reason, Hint: p.Hint, More: p.more, Console: p.Console, Kind: exitKind(p.code), Status: p.code})
		return p.code
	}
	fmt.Fprintln(w, "whichfs:", p.Reason)
	for _, line := range p.Console {
		fmt.Fprintln(w, "  |", line)
	}
	for _, hint := range []string{p.Hint, p.more} {
		if hint != "" {
			fmt.Fprintln(w, "  →", hint)
		}
	}
	return p.code
}

// jsonError is an error for programs.
type jsonError struct {
	Error   string   `json:"error"`
	Hint    string   `json:"hint,omitempty"`
	More    string   `json:"more,omitempty"`
	Console []string `json:"console,omitempty"`
	Kind    string   `json:"kind"`
	Status  int      `json:"status"`
}

var errInterrupted = errors.New("interrupted")

// note prints a message separate from the output.
func (a *shell) note(text string) { fmt.Fprintln(a.stderr, text) }
