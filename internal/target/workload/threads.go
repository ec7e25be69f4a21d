package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/sys/guest"
	"whichfs/internal/target/meter"
)

// Threads counts the kernel threads that belong to the mounted filesystem, and the memory that it
// uses by being mounted. An identical step before the module is loaded takes the baseline; it has
// no figures of its own.
//
// threads are those that have one of the filesystem's names and did not exist before. The rescuers
// that work queues keep in reserve have a name and a stack like any other thread and count; the
// workers of the shared pools belong to no filesystem. The thread that ext4 runs for a while after
// mkfs, to zero inode tables, does not count: it ends.
//
// mem.held is the growth of the kernel's own counters: mappings for modules, tables and stacks of
// threads (VmallocUsed), small objects (Slab), memory per processor (Percpu), and pages that stay
// cached although all caches were dropped on both sides (Buffers, Cached less Shmem). Free memory
// would be simpler, but is off by megabytes: processors keep freed pages in local lists, and the
// agent's own memory moves. The counters are read once they have stopped falling; repeated readings
// agree within 0.1 MB, and the first after a guest's start is up to 0.5 MB higher.
// Pages that a filesystem takes straight from the page allocator are in none of them (XFS keeps its
// metadata there), and memory in proportion to the machine's (JFS) is that of this guest.
var Threads = Kind{Name: "threads", Setup: setupThreads}

// kernelState holds the values that a step compares.
type kernelState struct {
	threads map[int]string // by number, their names
	modules map[string]int64
	held    int64 // B
	unheld  error // why held is not known
}

var threadMetrics = []string{result.KernelThreads, result.MemHeld}

func setupThreads(ctx context.Context, env *Env, _ scenario.Step) (Job, error) {
	now, err := env.settledKernelState(ctx)
	if err != nil {
		return Job{}, err
	}
	if !env.Mounted {
		env.unmounted = &now
		return Job{Absent: "nothing is mounted yet: this step is the baseline of a later one", AbsentMetrics: threadMetrics}, nil
	}
	return Job{
		Run: func(*Tally) error { return nil },
		After: func() (Extra, error) {
			x := env.ownThreads(now)
			x.Measurements = append(x.Measurements, env.memoryHeld(now))
			return x, nil
		},
	}, nil
}

// ownThreads separates the filesystem's threads from others that appeared meanwhile.
func (env *Env) ownThreads(now kernelState) Extra {
	var before map[int]string
	if env.unmounted != nil {
		before = env.unmounted.threads
	}
	count := 0
	var others []string
	var x Extra
	note := func(format string, args ...any) {
		x.Notes = append(x.Notes, result.Note{Level: result.Info, Text: fmt.Sprintf(format, args...)})
	}
	for pid, name := range now.threads {
		own := meter.Belongs(name, env.Name, env.FS.Threads)
		switch {
		case before[pid] == name && name != "":
		case own && name == env.FS.LateWork:
			note("%s is also running, until its work is done", name)
		case own:
			count++
		case before != nil:
			others = append(others, name)
		}
	}
	x.Measurements = []result.Measurement{result.Figure(result.KernelThreads, float64(count))}
	if len(others) > 0 {
		slices.Sort(others)
		note("kernel threads that appeared with the mount and are not known as the filesystem's: %s", strings.Join(others, ", "))
	}
	if _, early := env.unmountedModules()[moduleName(env.FS.Module)]; early && before != nil {
		note("the module was already loaded: threads that it started earlier are not counted")
	}
	return x
}

func (env *Env) unmountedModules() map[string]int64 {
	if env.unmounted == nil {
		return nil
	}
	return env.unmounted.modules
}

// memoryHeld is the growth since the step before the mount.
func (env *Env) memoryHeld(now kernelState) result.Measurement {
	none := ""
	switch {
	case env.unmounted == nil:
		none = "there is no baseline: no step of this kind came before the module was loaded"
	case !guest.Ours():
		none = "other programs of this machine use the kernel's memory too; only a guest without them allows this measurement"
	case env.unmounted.unheld != nil:
		none = env.unmounted.unheld.Error()
	case now.unheld != nil:
		none = now.unheld.Error()
	case now.held < env.unmounted.held:
		none = fmt.Sprintf("the kernel holds %d bytes less than before: memory freed elsewhere hides the growth", env.unmounted.held-now.held)
	default:
		return result.Figure(result.MemHeld, float64(now.held-env.unmounted.held))
	}
	return result.Missing(result.MemHeld, none)
}

// settledKernelState reads until the counters have stopped falling: what one drop of the caches
// frees, an RCU grace period later at the earliest, may allow the next drop to free more (the
// dentries and inodes of a filesystem that was just unmounted are a megabyte).
func (env *Env) settledKernelState(ctx context.Context) (kernelState, error) {
	const (
		same  = 5        // consecutive readings that are no lower
		most  = 50       // readings in all
		noise = 16 << 10 // B
	)
	var s kernelState
	least, unchanged := int64(math.MaxInt64), 0
	for i := 0; i < most && unchanged < same; i++ {
		if err := env.dropCaches(); err != nil {
			return s, err
		}
		var err error
		if s, err = readKernelState("/proc"); err != nil || s.unheld != nil {
			return s, err
		}
		if unchanged++; s.held < least-noise {
			least, unchanged = s.held, 0
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s, nil
}

func readKernelState(proc string) (kernelState, error) {
	var s kernelState
	var err error
	if s.threads, err = meter.KernelThreads(proc); err != nil {
		return s, err
	}
	if s.modules, err = LoadedModules(); err != nil {
		return s, err
	}
	text, err := os.ReadFile(proc + "/meminfo")
	if err != nil {
		return s, err
	}
	s.held, s.unheld = heldMemory(text)
	return s, nil
}

// heldMemory sums the counters of /proc/meminfo (proc(5)) that include a filesystem's memory, in
// bytes.
func heldMemory(meminfo []byte) (int64, error) {
	kib := map[string]int64{}
	for line := range strings.Lines(string(meminfo)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return 0, fmt.Errorf("/proc/meminfo: %q", strings.TrimSpace(line))
		}
		kib[strings.TrimSuffix(words[0], ":")] = n
	}
	for _, name := range []string{"VmallocUsed", "Slab", "Buffers", "Cached", "Shmem"} {
		if _, ok := kib[name]; !ok {
			return 0, fmt.Errorf("/proc/meminfo has no %s", name)
		}
	}
	if kib["VmallocUsed"] == 0 { // Linux 4.4 to 5.2
		return 0, errors.New("this kernel does not report its mappings for modules and tables (VmallocUsed)")
	}
	return (kib["VmallocUsed"] + kib["Slab"] + kib["Percpu"] + kib["Buffers"] + kib["Cached"] - kib["Shmem"]) << 10, nil
}
