package meter

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/procfs"
)

// threads follows the processor time of the kernel's threads. The counter file of each is kept
// open: one read per thread and snapshot, and the reuse of a thread's number is noticed, since the
// file stays with the thread for which it was opened.
type threads struct {
	proc     string
	patterns []string
	known    map[int]*thread
	ticks    bool // schedstat does not count here: stat's clock ticks instead
	checked  bool
	err      error // of the previous snapshot
	buf      []byte
}

type thread struct {
	pid  int
	name string
	own  bool // of the filesystem
	fd   int
	last time.Duration // at the previous snapshot
	// waited is how long it has waited for a processor, wait how long it had at the previous snapshot.
	waited, wait time.Duration
	seen         bool // in the current listing
}

// threadTimes is the processor time of threads between two snapshots.
type threadTimes struct {
	filesystem, all time.Duration
	waited          time.Duration // for a processor, of the thread that waited longest
	none            bool          // no pattern was given
	gone            []string      // threads that ended in between
	err             error
}

// kthreadd is the parent of all kernel threads.
const kthreadd = 2

func newThreads(proc, device string, patterns []string) *threads {
	t := &threads{proc: proc, known: map[int]*thread{}, buf: make([]byte, 16<<10)}
	for _, p := range patterns {
		t.patterns = append(t.patterns, strings.ReplaceAll(p, "%d", device))
	}
	return t
}

func (t *threads) close() {
	for pid, k := range t.known {
		_ = unix.Close(k.fd)
		delete(t.known, pid)
	}
}

// before takes the first snapshot.
func (t *threads) before() {
	if t.err = t.update(); t.err != nil {
		return
	}
	for pid, k := range t.known {
		used, err := t.used(k)
		if err != nil {
			_ = unix.Close(k.fd)
			delete(t.known, pid)
			continue
		}
		k.last, k.wait = used, k.waited
	}
}

// after takes the second and compares. A thread that started in between counts from zero.
func (t *threads) after() threadTimes {
	sum := threadTimes{none: len(t.patterns) == 0}
	if sum.err = t.err; sum.err != nil {
		return sum
	}
	if sum.err = t.update(); sum.err != nil {
		return sum
	}
	for pid, k := range t.known {
		used, err := t.used(k)
		if err != nil {
			sum.gone = append(sum.gone, k.name)
			_ = unix.Close(k.fd)
			delete(t.known, pid)
			continue
		}
		sum.all += used - k.last
		if used > k.last {
			sum.waited = max(sum.waited, k.waited-k.wait)
		}
		if k.own {
			sum.filesystem += used - k.last
		}
	}
	return sum
}

// update opens the counters of new kernel threads. Those that ended stay until reading them fails.
func (t *threads) update() error {
	if err := t.check(); err != nil {
		return err
	}
	// One read lists all kernel threads if the kernel shows children.
	list := fmt.Sprintf("%s/%d/task/%d/children", t.proc, kthreadd, kthreadd)
	if fd, err := unix.Open(list, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		defer unix.Close(fd) //nolint:errcheck // read only
		if err := t.add(kthreadd); err != nil {
			return err
		}
		return t.children(fd, list)
	}
	dir, err := os.Open(t.proc)
	if err != nil {
		return fmt.Errorf("kernel threads: %w", err)
	}
	defer dir.Close() //nolint:errcheck // read only
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("kernel threads: %w", err)
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if err := t.add(pid); err != nil {
				return err
			}
		}
	}
	return nil
}

// children adds the numbers in a children file, however long it is.
func (t *threads) children(fd int, name string) error {
	pid, digits := 0, false
	var buf [4096]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, c := range buf[:n] {
			if c >= '0' && c <= '9' {
				pid, digits = pid*10+int(c-'0'), true
				continue
			}
			if digits {
				if err := t.add(pid); err != nil {
					return err
				}
			}
			pid, digits = 0, false
		}
		if n == 0 {
			if digits {
				return t.add(pid)
			}
			return nil
		}
	}
}

// check finds out once which counters this kernel has, and whether this is the outermost pid
// namespace, in which kernel threads are visible.
func (t *threads) check() error {
	if t.checked {
		return nil
	}
	text, err := readInto(fmt.Sprintf("%s/%d/stat", t.proc, kthreadd), t.buf)
	if err == nil {
		var p procfs.Process
		if p, err = procfs.ParseProcess(text); err == nil && !p.Kernel {
			err = errors.New("process 2 is not kthreadd: they cannot be seen from inside a container")
		}
	}
	if err != nil {
		return fmt.Errorf("kernel threads: %w", err)
	}
	text, err = readInto(filepath.Join(t.proc, "self/schedstat"), t.buf)
	used, _, perr := procfs.ParseSchedstat(text)
	// A kernel with disabled accounting shows zeros.
	t.ticks = err != nil || perr != nil || used == 0
	t.checked = true
	return nil
}

// add registers a kernel thread; it ignores other processes and threads that have ended.
func (t *threads) add(pid int) error {
	if t.known[pid] != nil {
		return nil
	}
	dir := fmt.Sprintf("%s/%d", t.proc, pid)
	text, err := readInto(dir+"/stat", t.buf)
	if err != nil {
		return nil //nolint:nilerr // it ended meanwhile
	}
	p, err := procfs.ParseProcess(text)
	if err != nil {
		return fmt.Errorf("kernel threads: %s/stat: %w", dir, err)
	}
	if !p.Kernel {
		return nil
	}
	file := dir + "/schedstat"
	if t.ticks {
		file = dir + "/stat"
	}
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH):
		return nil // likewise
	case err != nil:
		return fmt.Errorf("kernel threads: %s: %w", file, err)
	}
	t.known[pid] = &thread{pid: pid, name: p.Name, fd: fd, own: belongs(p.Name, t.patterns)}
	return nil
}

// used reads the counter of a thread; an error means that it has ended.
func (t *threads) used(k *thread) (time.Duration, error) {
	n, err := unix.Pread(k.fd, t.buf, 0)
	if err != nil {
		return 0, err
	}
	if t.ticks {
		p, err := procfs.ParseProcess(t.buf[:n])
		return p.Used, err
	}
	used, waited, err := procfs.ParseSchedstat(t.buf[:n])
	k.waited = waited
	return used, err
}

// rescuer begins the names of the threads that work queues keep in reserve, followed by their
// queue's name, since Linux 6.9; before, it was the queue's name alone.
const rescuer = "kworker/R-"

// KernelThreads lists the kernel's own threads by their numbers. It omits the workers of the pools
// that all work queues share: they belong to no filesystem, and come and go. proc is the path of
// procfs ("/proc").
func KernelThreads(proc string) (map[int]string, error) {
	t := newThreads(proc, "", nil)
	defer t.close()
	if err := t.update(); err != nil {
		return nil, err
	}
	found := map[int]string{}
	for pid, k := range t.known {
		if own, pooled := strings.CutPrefix(k.name, rescuer); pooled || !strings.HasPrefix(k.name, "kworker/") {
			found[pid] = own
		}
	}
	return found, nil
}

// Belongs reports whether a kernel thread belongs to a filesystem on a device ("vda"), by the
// patterns of its names.
func Belongs(name, device string, patterns []string) bool {
	return belongs(name, newThreads("", device, patterns).patterns)
}

// commLength is the maximum length of a thread's name in old kernels.
const commLength = 15

// belongs reports whether one of the patterns matches the name. Kernels before 5.17 truncate names,
// so the beginning of a pattern may match a truncated one.
func belongs(name string, patterns []string) bool {
	name = strings.TrimPrefix(name, rescuer)
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
		if len(name) != commLength {
			continue
		}
		for i := range p {
			if ok, _ := path.Match(p[:i], name); ok {
				return true
			}
		}
	}
	return false
}
