package main

import (
	"fmt"

	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/sys/units"
	"whichfs/internal/target/storage"
)

// startCmd is whichfs without a command in a terminal: what to do next, by what is here. It reads, and changes
// nothing.
type startCmd struct{}

// step is something to do: a command, and what it does.
type step struct{ command, about string }

// mostSteps is how many are shown.
const mostSteps = 3

func (startCmd) Run(a *shell) error {
	if _, ok := terminalOf(a.stdout); !ok {
		return result.Refuse("whichfs --help lists the commands", "expected a command")
	}
	steps := append(labSteps(), a.runSteps()...)
	steps = append(steps, cardSteps(storage.System)...)
	steps = append(steps, step{"whichfs recommend --need power-loss-safe", "answers for your own needs, from facts where nothing was measured"},
		step{"whichfs help howto", "answers to what people ask"})
	fmt.Fprintln(a.stdout, "Which filesystem, with which options, for this storage and this work? Next:")
	for i, s := range steps[:mostSteps] {
		fmt.Fprintf(a.stdout, "\n  %d. %s\n     %s\n", i+1, s.command, s.about)
	}
	fmt.Fprintln(a.stdout, "\nwhichfs --help lists all commands, whichfs help the documents.")
	return nil
}

// labSteps is what makes the lab ready.
func labSteps() []step {
	debs, _ := lacking(labNeeds())
	if len(debs) == 0 {
		return nil // the first run builds the rest
	}
	return []step{{install(debs), "installs what the lab needs; whichfs doctor says what for"}}
}

// runSteps go on with the latest runs, or begin one.
func (a *shell) runSteps() (steps []step) {
	begin := step{"whichfs run", "asks what storage and what work, and measures in the lab, which needs no root and no hardware"}
	if kernels, err := virtual.Kernels(); err == nil && len(kernels) > 0 {
		begin = step{"whichfs run bootlin-2023 --clock virtual", "measures ten filesystems on a simulated SD card, in a minute; whichfs run asks for other storage and work"}
	}
	path, err := a.StorePath()
	if err != nil {
		return []step{begin}
	}
	st, err := store.OpenReadOnly(path)
	if err != nil {
		return []step{begin} // there is none yet, or a command that needs it says what is wrong
	}
	defer st.Close() //nolint:errcheck // read only
	runs, err := st.Runs()
	if err != nil {
		return []step{begin}
	}
	finished := false
	for i, one := range runs {
		r := one.Run
		what := fmt.Sprintf("%s on %s, begun %s", r.Study, r.Storage, r.Started.Local().Format("2006-01-02 15:04"))
		switch {
		case r.State == result.Finished && !finished && one.Done > 0:
			finished = true
			steps = append(steps, step{"whichfs report " + r.ID, "shows the latest finished run: " + what},
				step{"whichfs recommend", "says from it which filesystem suits which needs"})
		case r.State != result.Finished && i == 0 && !st.Held(r.ID):
			steps = append(steps, step{"whichfs resume " + r.ID, fmt.Sprintf("finishes %s: %d of %s done", what, one.Done, units.Count(one.Planned, "trial"))})
		}
	}
	if !finished {
		steps = append(steps, begin)
	}
	return steps
}

// cardSteps find out about a card that is plugged in.
func cardSteps(r storage.Roots) []step {
	cards, err := storage.Cards(r)
	if err != nil || len(cards) == 0 {
		return nil
	}
	c := cards[0]
	return []step{{"sudo whichfs probe " + c.Path, fmt.Sprintf("finds out how the card or stick of %s is made inside; it only reads", units.Value(float64(c.Size), "B"))}}
}
