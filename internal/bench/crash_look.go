package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault/finding"
	"whichfs/internal/fault/script"
	"whichfs/internal/fault/states"
	"whichfs/internal/filesystem"
	"whichfs/internal/host/crash"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/usermode"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/target/explore"
	"whichfs/internal/wire"
)

// crashSubjects records everything that will be judged. For the peer it returns the recording with
// the disk as it was before the first script.
func crashSubjects(ctx context.Context, m *crashMachine, agent string, spec machine.Spec, work string) (subjects []*crashSubject, bare explore.Recording, err error) {
	var absent error
	if os.Geteuid() != 0 {
		absent = errors.New("mounting needs root")
	}
	how := "under KVM"
	if e, ok := m.session.(machine.Emulator); ok && e.Emulated() {
		how = "emulated"
	}
	all := runtime.GOMAXPROCS(0)
	for _, name := range []string{"ext4", "xfs", "btrfs"} {
		if absent != nil && name != "ext4" {
			continue // it could not be judged here
		}
		recordings, err := crashRecord(ctx, m, spec, name)
		if err != nil {
			return nil, bare, fmt.Errorf("recording on %s: %w", name, err)
		}
		native := func(title string, workers int, limit float64) *crashSubject {
			return &crashSubject{name: name + ", this kernel, " + title, limit: limit, workers: workers, absent: absent,
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
		guests := min(all, len(crashScripts))
		subjects = append(subjects, crashLab(m.Machine, spec, name, "in the lab, "+how, guests, crashLabLimit))
		subjects = append(subjects, crashVirtualLab(agent, spec, name, guests)...)
	}
	return subjects, bare, nil
}

// crashOrder is the order for all subjects. It excludes torn writes and the filesystem's own tool:
// their number and cost differ between filesystems.
func crashOrder(candidate string) wire.Explore {
	return wire.Explore{Candidate: filesystem.Candidate{FS: candidate}, States: states.Options{Seed: 1, Most: crashMost, Whole: true}}
}

func crashRecord(ctx context.Context, m *crashMachine, spec machine.Spec, candidate string) ([]explore.Recording, error) {
	order := crashOrder(candidate)
	order.RecordOnly = true
	order.Scripts = crashLibrary()
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

// crashFiles returns the files of a recording as an explorer reads them.
func crashFiles(r explore.Recording) (map[string][]byte, error) {
	var log, base bytes.Buffer
	if err := errors.Join(r.Log.Write(&log), r.Base.Encode(&base)); err != nil {
		return nil, err
	}
	return map[string][]byte{"log": log.Bytes(), "base": base.Bytes()}, nil
}

// crashEach judges each recording and adds up the results.
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

// crashLook judges with this machine's kernel.
func crashLook(ctx context.Context, candidate string, recordings []explore.Recording, work string, workers int) (finding.Tally, error) {
	return crashEach(candidate, recordings, func(order wire.Explore, given map[string][]byte) (finding.Tally, error) {
		out, err := explore.Explore(ctx, order, given, work, explore.Host{Workers: workers})
		if err != nil {
			return finding.Tally{}, err
		}
		return out.Scripts[0], nil
	})
}

// crashVirtualLab judges in guests of the virtual lab: in one, and in as many as there may be.
func crashVirtualLab(agent string, spec machine.Spec, candidate string, guests int) []*crashSubject {
	m := usermode.New(usermode.Options{Agent: agent})
	spec.Virtual = true
	out := []*crashSubject{crashLab(m, spec, candidate, "in the virtual lab", 1, crashVirtual)}
	if guests > 1 {
		out = append(out, crashLab(m, spec, candidate, "in the virtual lab", guests, crashVirtualTwo))
	}
	for _, s := range out {
		if !usermode.Built() {
			s.absent = errors.New("whichfs lab build --virtual makes its kernel")
		}
		s.timeless = true
	}
	return out
}

// crashLab judges as whichfs crash explore does: in guests, newly started for each turn. Starts and
// recording are not counted.
func crashLab(m machine.Machine, spec machine.Spec, candidate, where string, guests int, limit float64) *crashSubject {
	var looking float64
	return &crashSubject{
		name: fmt.Sprintf("%s, %s, guests: %d", candidate, where, guests), limit: limit, workers: guests,
		looking: func() float64 { return looking },
		turn: func(ctx context.Context) (finding.Tally, error) {
			order := crashOrder(candidate)
			order.Scripts = crashLibrary()
			r, err := crash.Run(ctx, m, spec, crash.Order{Explore: order, Restarts: 1, Guests: guests}, nil)
			looking = r.Looking
			var sum finding.Tally
			for _, t := range r.Tallies {
				if t.Stopped != "" && err == nil {
					err = fmt.Errorf("%s: %s", t.Script, t.Stopped)
				}
				sum.Add(t)
			}
			return sum, err
		},
	}
}

// crashLibrary are the recorded scripts.
func crashLibrary() []script.Script {
	return slices.DeleteFunc(script.Library(), func(s script.Script) bool { return !slices.Contains(crashScripts, s.Name) })
}

// bareMounts repeatedly mounts and unmounts the disk of a recording, and returns the times in
// seconds. The disk is clean each time except the first.
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
	c := filesystem.Candidate{FS: "ext4"}
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

// crashMachine is the lab with one guest for all turns: closing a session leaves it running.
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
