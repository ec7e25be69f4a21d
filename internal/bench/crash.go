package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/crash"
	"whichfs/internal/fault/blockdev"
	"whichfs/internal/fault/explore"
	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/lab"
	"whichfs/internal/machine"
	"whichfs/internal/machine/qemu"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

// Limits of exploring crash states, in distinct states a second.
const (
	crashNative = 500 // for each processor
	crashLab    = 100
)

const (
	crashTurns = 3   // measured; one more goes first and is discarded
	crashMost  = 300 // states of each script in a turn
)

// crashScripts are what is recorded.
var crashScripts = []string{"atomic-replace", "append-fsync"}

// crashStages in the order in which a state goes through them.
var crashStages = []string{"make", "mount", "judge", "unmount", "check"}

// crashSubject is one way of looking at states.
type crashSubject struct {
	name    string
	limit   float64 // states a second; 0: none
	peer    bool    // a bare mount is what it is compared with
	turn    func(ctx context.Context) (finding.Tally, error)
	rates   []float64          // states/s
	seconds map[string]float64 // by stage, all turns
	states  int64              // of one turn
	absent  error              // why there are no figures
}

// crashStates measures how many distinct crash states a second are looked at:
// each made, mounted, judged and unmounted, by this kernel and in the lab.
func crashStates(ctx context.Context, c Config, out io.Writer) (err error) {
	if err := lab.Missing(lab.Native()); err != nil {
		return unavailable("%v", err)
	}
	work, release, err := workspace(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	m := &crashMachine{Machine: qemu.New(qemu.Options{Agent: agentPath(c)})}
	defer func() { err = errors.Join(err, m.end()) }()
	spec := crash.SpecFor(m.Name())
	spec.Work = work
	if m.session, err = m.Machine.Start(ctx, spec); err != nil {
		return fmt.Errorf("start a guest: %w", err)
	}
	subjects, bare, err := crashSubjects(ctx, m, spec, work)
	if err != nil {
		return err
	}
	var mounts, ratios []float64
	for turn := range crashTurns + 1 {
		for _, s := range subjects {
			if s.absent != nil {
				continue
			}
			awaitQuiet(quietLimit)
			rate, err := s.take(ctx, turn > 0)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if !s.peer || s.absent != nil {
				continue
			}
			awaitQuiet(quietLimit)
			took, err := bareMounts(ctx, bare, work, s.states)
			if err != nil {
				return fmt.Errorf("mounting alone: %w", err)
			}
			if turn > 0 {
				mounts, ratios = append(mounts, float64(s.states)/took), append(ratios, rate*took/float64(s.states))
			}
		}
	}
	return crashTable(out, subjects, mounts, ratios)
}

// crashSubjects has all recorded that is looked at, and returns the disk as it
// was before the first script for the peer.
func crashSubjects(ctx context.Context, m *crashMachine, spec machine.Spec, work string) (subjects []*crashSubject, bare explore.Recording, err error) {
	var absent error
	if os.Geteuid() != 0 {
		absent = errors.New("mounting takes root")
	}
	all := runtime.GOMAXPROCS(0)
	for _, name := range []string{"ext4", "xfs", "btrfs"} {
		if absent != nil && name != "ext4" {
			continue // nobody here could look at it
		}
		recordings, err := crashRecord(ctx, m, spec, name)
		if err != nil {
			return nil, bare, fmt.Errorf("recording on %s: %w", name, err)
		}
		native := func(title string, workers int, limit float64) *crashSubject {
			return &crashSubject{name: name + ", this kernel, " + title, limit: limit, absent: absent,
				turn: func(ctx context.Context) (finding.Tally, error) {
					return crashLook(ctx, name, recordings, work, workers)
				}}
		}
		one := native("one worker", 1, 0)
		subjects = append(subjects, one)
		if name != "ext4" {
			continue
		}
		bare = recordings[0]
		one.limit, one.peer = crashNative, true
		if all > 1 {
			subjects = append(subjects, native(fmt.Sprintf("%d workers", all), all, float64(crashNative*all)))
		}
		subjects = append(subjects, &crashSubject{name: name + ", in the lab", limit: crashLab,
			turn: func(ctx context.Context) (finding.Tally, error) {
				return crashLookInLab(ctx, m, spec, name, recordings)
			}})
	}
	return subjects, bare, nil
}

// crashOrder is what all subjects are asked for. Neither torn writes nor the
// filesystem's own tool: what they find and cost differs between filesystems.
func crashOrder(candidate string) wire.Explore {
	return wire.Explore{Candidate: candidate, States: states.Options{Seed: 1, Most: crashMost, Whole: true}}
}

func crashRecord(ctx context.Context, m *crashMachine, spec machine.Spec, candidate string) ([]explore.Recording, error) {
	order := crashOrder(candidate)
	order.RecordOnly = true
	for _, s := range script.Library() {
		if slices.Contains(crashScripts, s.Name) {
			order.Scripts = append(order.Scripts, s)
		}
	}
	r, err := crash.Run(ctx, m, spec, crash.Order{Explore: order, Restarts: 1}, nil)
	if err != nil {
		return nil, err
	}
	for i, one := range r.Recordings {
		if len(one.Log.Entries) == 0 {
			return nil, fmt.Errorf("%s: %s", order.Scripts[i].Name, r.Tallies[i].Stopped)
		}
	}
	return r.Recordings, nil
}

// crashFiles are those of a recording as an explorer takes them.
func crashFiles(r explore.Recording) (map[string][]byte, error) {
	var log, base bytes.Buffer
	if err := errors.Join(r.Log.Write(&log), r.Base.Encode(&base)); err != nil {
		return nil, err
	}
	return map[string][]byte{"log": log.Bytes(), "base": base.Bytes()}, nil
}

// crashEach looks at each recording and adds up what was seen.
func crashEach(candidate string, recordings []explore.Recording, look func(order wire.Explore, given map[string][]byte) (finding.Tally, error)) (finding.Tally, error) {
	var sum finding.Tally
	for _, r := range recordings {
		given, err := crashFiles(r)
		if err != nil {
			return sum, err
		}
		order := crashOrder(candidate)
		order.Given, order.Size, order.Scripts = "log", r.Size, []script.Script{r.Script}
		t, err := look(order, given)
		if err != nil {
			return sum, err
		}
		if t.Stopped != "" {
			return sum, fmt.Errorf("%s: %s", r.Script.Name, t.Stopped)
		}
		sum.Add(t)
	}
	return sum, nil
}

// crashLook looks with this machine's kernel.
func crashLook(ctx context.Context, candidate string, recordings []explore.Recording, work string, workers int) (finding.Tally, error) {
	c, err := filesystem.Parse(candidate)
	if err != nil {
		return finding.Tally{}, err
	}
	return crashEach(candidate, recordings, func(order wire.Explore, given map[string][]byte) (finding.Tally, error) {
		out, err := explore.Explore(ctx, c, order, given, work, explore.Host{Workers: workers})
		if err != nil {
			return finding.Tally{}, err
		}
		return out.Scripts[0], nil
	})
}

// crashLookInLab looks in a guest.
func crashLookInLab(ctx context.Context, m *crashMachine, spec machine.Spec, candidate string, recordings []explore.Recording) (finding.Tally, error) {
	return crashEach(candidate, recordings, func(order wire.Explore, given map[string][]byte) (finding.Tally, error) {
		r, err := crash.Run(ctx, m, spec, crash.Order{Explore: order, Files: given, Restarts: 1}, nil)
		if err != nil {
			return finding.Tally{}, err
		}
		return r.Tallies[0], nil
	})
}

// take has a subject make a turn, which is counted or not, and returns its
// states a second.
func (s *crashSubject) take(ctx context.Context, counted bool) (rate float64, err error) {
	begin := time.Now()
	t, err := s.turn(ctx)
	took := time.Since(begin).Seconds()
	var known *explore.Failure
	if errors.Is(err, unix.ENODEV) || errors.As(err, &known) && known.Outcome == result.Unsupported {
		s.absent = err // this kernel lacks the filesystem, or loop devices
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if t.States == 0 {
		return 0, errors.New("there was no state to look at")
	}
	s.states, rate = t.States, float64(t.States)/took
	if !counted {
		return rate, nil
	}
	s.rates = append(s.rates, rate)
	if s.seconds == nil {
		s.seconds = map[string]float64{}
	}
	for stage, seconds := range t.Seconds {
		s.seconds[stage] += seconds
	}
	return rate, nil
}

// bareMounts mounts and unmounts the disk of a recording so many times, and
// returns the time in seconds. It is clean each time but the first.
func bareMounts(ctx context.Context, r explore.Recording, work string, times int64) (seconds float64, err error) {
	dir := filepath.Join(work, "mnt")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	disk, err := blockdev.NewDisk(r.Size)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, disk.Close()) }()
	if err := disk.Restore(r.Base); err != nil {
		return 0, err
	}
	c, err := filesystem.Parse("ext4")
	if err != nil {
		return 0, err
	}
	flags, data := filesystem.MountFlags(filesystem.MountData(c))
	begin := time.Now()
	for range times {
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		if err := unix.Mount(disk.Path(), dir, c.FS, flags, data); err != nil {
			return 0, fmt.Errorf("mount %s: %w", disk.Path(), err)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			return 0, fmt.Errorf("unmount %s: %w", dir, err)
		}
	}
	return time.Since(begin).Seconds(), nil
}

func crashTable(out io.Writer, subjects []*crashSubject, mounts, ratios []float64) error {
	fmt.Fprintf(out, "Distinct states a second: each made, mounted, judged and unmounted, no write torn, none checked by the filesystem's own tool; scripts %s and %s, at most %d states each, recorded in the lab; %d turns\n",
		crashScripts[0], crashScripts[1], crashMost, crashTurns)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "what\tstates\tstates/s\tlimit\t\t")
	for _, stage := range crashStages {
		fmt.Fprintf(table, "%s\t", stage)
	}
	fmt.Fprintln(table)
	for _, s := range subjects {
		if s.absent != nil {
			fmt.Fprintf(table, "%s\tnot measured here: %v\t\n", s.name, s.absent)
			continue
		}
		rate := spreadOf(s.rates)
		limit, kept := "–", ""
		if s.limit > 0 {
			limit, kept = fmt.Sprintf("at least %g", s.limit), holds(rate.median >= s.limit)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t", s.name, s.states, rate.text("%.0f", ""), limit, kept)
		all := 0.0
		for _, seconds := range s.seconds {
			all += seconds
		}
		for _, stage := range crashStages {
			fmt.Fprintf(table, "%.0f %%\t", 100*s.seconds[stage]/all)
		}
		fmt.Fprintln(table)
	}
	if len(mounts) > 0 {
		fmt.Fprintf(table, "ext4, this kernel, a clean disk mounted and unmounted alone\t–\t%s\t–\t\t\n", spreadOf(mounts).text("%.0f", ""))
		fmt.Fprintf(table, "ext4, this kernel, one worker, by that rate\t–\t%s\t–\t\t\n", spreadOf(ratios).text("%.2f", ""))
	}
	return table.Flush()
}

// crashMachine is the lab with one guest for all turns: whoever closes its
// session leaves it running.
type crashMachine struct {
	machine.Machine
	session machine.Session
}

func (m *crashMachine) Start(context.Context, machine.Spec) (machine.Session, error) {
	explorer, ok := m.session.(machine.Explorer)
	if !ok {
		return nil, errors.New("the lab cannot explore crash states")
	}
	return &crashSession{m.session, explorer}, nil
}

func (m *crashMachine) end() error {
	if m.session == nil {
		return nil
	}
	return m.session.Close()
}

type crashSession struct {
	machine.Session
	machine.Explorer
}

func (*crashSession) Close() error { return nil }
