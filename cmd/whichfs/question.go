package main

import (
	"bufio"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"whichfs/internal/app"
	"whichfs/internal/flash/models"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// choice is an answer to a question, and what it means.
type choice struct{ answer, about string }

// question asks, in a terminal alone, for what a run without a study lacks: the storage and the work.
func (c *runCmd) question(a *shell) error {
	_, in := terminalOf(a.stdin)
	_, out := terminalOf(a.stderr)
	if c.Study != "" || !in || !out {
		return nil
	}
	lines := bufio.NewScanner(a.stdin)
	if len(c.Storage) == 0 {
		list, err := storageChoices()
		if err != nil {
			return err
		}
		answer, err := a.choose(lines, "What storage? A number, or what whichfs list storage shows.", list, func(text string) error { _, err := media.Parse(text); return err })
		if err != nil {
			return err
		}
		c.Storage = []string{answer}
	}
	list := c.workChoices()
	if len(list) == 0 {
		return result.Refuse("whichfs list storage", "no study runs on storage %s", strings.Join(c.Storage, ", "))
	}
	c.Study = list[0].answer
	if len(list) > 1 {
		var err error
		c.Study, err = a.choose(lines, "What work? A number, a plan file (.toml) or a fio job file (.fio).", list, func(text string) error {
			_, _, err := (app.Ask{Study: text, Machines: c.Machine, Storage: c.Storage}).Plans()
			return err
		})
		if err != nil {
			return err
		}
	}
	if kernels, err := virtual.Kernels(); err == nil && len(kernels) > 0 && c.Clock == "" && len(c.Machine) == 0 && strings.HasPrefix(c.Storage[0], media.KindSim+":") {
		c.Clock = result.ClockVirtual // it is the fastest, and the same everywhere
	}
	same := "whichfs run " + c.Study
	for _, flag := range [][2]string{{"--machine", strings.Join(c.Machine, ",")}, {"--storage", strings.Join(c.Storage, ";")}, {"--clock", c.Clock}} {
		if flag[1] != "" {
			same += " " + flag[0] + " " + quoted(flag[1])
		}
	}
	a.note("The same without questions: " + same)
	return nil
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	if strings.ContainsAny(word, " ;*?$&|<>()'\"") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// storageChoices are kinds of storage that whichfs makes itself.
func storageChoices() ([]choice, error) {
	var out []choice
	for _, name := range []string{"sd-basic", "sd-a2", "emmc", "usb-stick", "nvme", "hdd"} {
		m, err := models.Resolve(name)
		if err != nil {
			return nil, err
		}
		out = append(out, choice{media.KindSim + ":" + name + ",1G", m.Title + ", simulated"})
	}
	return append(out, choice{"nand:128M", "raw NAND flash, simulated"}), nil
}

// workChoices are the studies of times that run on the storage.
func (c *runCmd) workChoices() (out []choice) {
	for _, s := range study.All {
		if s.Untimed {
			continue
		}
		if _, _, err := (app.Ask{Study: s.Name, Machines: c.Machine, Storage: c.Storage}).Plans(); err == nil {
			out = append(out, choice{s.Name, s.Work})
		}
	}
	return out
}

// choose asks until the answer is one of the list, of which nothing is the first, or another that is valid.
func (a *shell) choose(lines *bufio.Scanner, question string, list []choice, valid func(string) error) (string, error) {
	fmt.Fprintln(a.stderr, question)
	wide := 0
	for _, c := range list {
		wide = max(wide, len(c.answer))
	}
	for i, c := range list {
		fmt.Fprintf(a.stderr, "  %d  %-*s  %s\n", i+1, wide, c.answer, c.about)
	}
	for {
		fmt.Fprint(a.stderr, "[1] ")
		there := make(chan bool, 1)
		go func() { there <- lines.Scan() }()
		select {
		case <-a.ctx.Done(): // the line may never come
			fmt.Fprintln(a.stderr)
			return "", errInterrupted
		case ok := <-there:
			if !ok {
				fmt.Fprintln(a.stderr)
				return "", cmp.Or(lines.Err(), errInterrupted)
			}
		}
		text := strings.TrimSpace(lines.Text())
		n, err := strconv.Atoi(text)
		switch {
		case text == "":
			return list[0].answer, nil
		case err == nil && n >= 1 && n <= len(list):
			return list[n-1].answer, nil
		case err == nil:
			fmt.Fprintf(a.stderr, "The numbers are 1 to %d.\n", len(list))
		default:
			if err := valid(text); err == nil {
				return text, nil
			} else {
				fmt.Fprintln(a.stderr, explain(err).Reason)
			}
		}
	}
}
