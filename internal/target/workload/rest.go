package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/meter"
)

// Rest waits until the filesystem's own kernel threads are idle: the work that one phase leaves
// them (blocks to erase, nodes to check) would otherwise be in the figures of the next one, in
// varying amounts, since the time between two phases of a guest varies.
var Rest = Kind{Name: "rest", Setup: setupRest}

const (
	restPoll  = 20 * time.Millisecond
	restQuiet = 5 // consecutive polls without any work
	restLimit = 20 * time.Second
)

func setupRest(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	r := &rester{}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return Job{}, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !meter.Belongs(strings.TrimSpace(string(text)), env.Name, env.FS.Threads) {
			continue // it has ended, or is another thread
		}
		fd, err := unix.Open(filepath.Join(filepath.Dir(name), "schedstat"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		r.threads = append(r.threads, fd)
	}
	if len(r.threads) == 0 {
		return Job{Absent: env.FS.Title + " has no kernel threads here to wait for"}, nil
	}
	return Job{Run: r.run, After: r.after}, nil
}

type rester struct {
	threads []int // their schedstat
	last    int64 // ns that they have used
	buf     [64]byte
	busy    bool // still busy at the limit
}

func (r *rester) run(*Tally) error {
	pause := unix.NsecToTimespec(int64(restPoll))
	quiet := 0
	for waited := time.Duration(0); quiet < restQuiet; waited += restPoll {
		if r.busy = waited >= restLimit; r.busy {
			return nil
		}
		now := r.used()
		if quiet++; now != r.last {
			quiet = 0
		}
		r.last = now
		_ = unix.Nanosleep(&pause, nil)
	}
	return nil
}

// used is the processor time of all threads in ns, the first figure of schedstat. A thread that has
// ended uses none.
func (r *rester) used() (sum int64) {
	for _, fd := range r.threads {
		n, err := unix.Pread(fd, r.buf[:], 0)
		if err != nil {
			continue
		}
		one := int64(0)
		for _, c := range r.buf[:n] {
			if c < '0' || c > '9' {
				break
			}
			one = 10*one + int64(c-'0')
		}
		sum += one
	}
	return sum
}

func (r *rester) after() (Extra, error) {
	for _, fd := range r.threads {
		_ = unix.Close(fd)
	}
	if !r.busy {
		return Extra{}, nil
	}
	return Extra{Notes: []result.Note{{Level: result.Warning,
		Text: fmt.Sprintf("the filesystem's kernel threads were still busy after %s: their work is in the figures of the following phases", restLimit)}}}, nil
}
