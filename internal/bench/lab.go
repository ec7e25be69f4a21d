package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/machine"
)

// Limits of the lab, in seconds.
const (
	bootLimit  = 3
	buildLimit = 60
)

func labTimes(ctx context.Context, c Config, out io.Writer) error {
	if err := lab.Missing(lab.Native()); err != nil {
		return unavailable("%v", err)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\ttook\tlimit\t")
	return errors.Join(boots(ctx, c, table), imageBuild(ctx, table), table.Flush())
}

// boots times guests from the call that starts one until it is ready for its first trial: kernel,
// agent, storage claimed, data sets in memory.
func boots(ctx context.Context, c Config, table io.Writer) error {
	p, err := newLab(ctx, c)
	if err != nil {
		return err
	}
	var seconds []float64
	emulated := false
	for i := range c.Boots + 1 { // the first also probes this host
		awaitQuiet(quietLimit)
		begin := time.Now()
		s, err := p.machine.Start(ctx, p.spec)
		if err != nil {
			return fmt.Errorf("start a guest: %w", err)
		}
		if i > 0 {
			seconds = append(seconds, time.Since(begin).Seconds())
		}
		if e, ok := s.(machine.Emulator); ok {
			emulated = e.Emulated()
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	how := "under KVM"
	if emulated {
		how = "emulated"
	}
	took := spreadOf(seconds)
	fmt.Fprintf(table, "guest, %s, from start to ready with the quick data, %d starts\t%s\tat most %d s\t%s\n",
		how, c.Boots, took.text("%.2f", " s"), bootLimit, holds(took.median <= bootLimit))
	return nil
}

// imageBuild builds a new lab image, in a separate cache.
func imageBuild(ctx context.Context, table io.Writer) (err error) {
	cache, release, err := workspace("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	const variable = "WHICHFS_CACHE"
	before, was := os.LookupEnv(variable)
	if err := os.Setenv(variable, cache); err != nil {
		return err
	}
	defer func() {
		if was {
			err = errors.Join(err, os.Setenv(variable, before))
		} else {
			err = errors.Join(err, os.Unsetenv(variable))
		}
	}()
	image, err := lab.Build(ctx, lab.Native(), nil)
	if err != nil {
		return err
	}
	m := image.Manifest
	after, known := m.AfterFetch()
	if !known {
		return errors.New("the image build did not report the time of its stages")
	}
	fmt.Fprintf(table, "image, after downloads\t%.1f s\tat most %d s\t%s\n", after, buildLimit, holds(after <= buildLimit))
	for _, s := range m.Stages {
		fmt.Fprintf(table, "  %s\t%.1f s\t\t\n", s.Name, s.Seconds)
	}
	return nil
}
