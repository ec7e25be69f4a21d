package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"whichfs/internal/result/store"
)

type fleetCmd struct{}

func (*fleetCmd) Run(a *shell) error {
	st, err := a.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	workers, err := st.Workers()
	if err != nil {
		return err
	}
	shared, err := st.Shared(math.MaxInt32)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORKER\tMACHINES\tLABELS\tDOES")
	for _, one := range workers {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", one.Name, strings.Join(one.Machines, ","), orDash(strings.Join(one.Labels, ",")), doing(one))
	}
	if len(workers) == 0 {
		fmt.Fprintln(w, "none: whichfs worker starts one")
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "RUN\tMACHINE\tLABELS\tWAITING\tRUNNING\tFAILED")
	for _, s := range shared {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\n", s.Run, s.Needs.Machine, orDash(strings.Join(s.Needs.Labels, ",")), s.Waiting, s.Running, s.Failed)
	}
	if len(shared) == 0 {
		fmt.Fprintln(w, "none: whichfs run --fleet begins one")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range shared {
		why, err := a.Unable(st, s)
		if err != nil {
			return err
		}
		if why != "" {
			fmt.Fprintf(a.stdout, "run %s waits: %s\n", s.Run, why)
		}
	}
	return nil
}

// doing is what a worker does, in a few words.
func doing(w store.Worker) string {
	var parts []string
	for _, job := range w.Does {
		text := fmt.Sprintf("%s round %d", job.Run, job.Round)
		if job.Check {
			text += " again"
		}
		parts = append(parts, text)
	}
	switch {
	case !w.Lives:
		parts = []string{fmt.Sprintf("gone for %.0f s", w.Seen)}
	case w.Seen > store.Gone:
		parts = []string{fmt.Sprintf("silent for %.0f s", w.Seen)}
	case len(parts) > 3:
		parts = append(parts[:3], fmt.Sprintf("%d more", len(parts)-3))
	case len(parts) == 0:
		parts = []string{"waits"}
	}
	return strings.Join(parts, ", ")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
