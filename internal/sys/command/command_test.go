package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

func TestRunKeepsBothStreamsAndStatus(t *testing.T) {
	r, err := Run(context.Background(), Options{}, "sh", "-c", "echo out; echo err >&2; exit 3")
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *Error", err)
	}
	if r.Stdout != "out\n" || r.Stderr != "err\n" || r.Status != 3 || e.Status != 3 {
		t.Fatalf("got %+v, %+v", r, e)
	}
	if got, want := err.Error(), "sh (exit status 3): err"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// A goroutine that is locked to a thread ends with it, whichever programs that thread has started.
func TestRunOutlivesThreads(t *testing.T) {
	const programs = 32
	// More threads run goroutines than there are processors, so that the one that forked is often not the one that waits.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	r, w, err := os.Pipe()
	must.Do(t, err)
	var runs, begun sync.WaitGroup
	begun.Add(programs)
	for range programs {
		runs.Go(func() {
			_, err := Run(t.Context(), Options{Stdin: r, Stdout: writerFunc(func(p []byte) (int, error) {
				begun.Done()
				return len(p), nil
			})}, "sh", "-c", "echo here; read end")
			// At the end of its input, read fails: 1 is the shell's own.
			var e *Error
			if !errors.As(err, &e) || e.Status != 1 {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	var locked sync.WaitGroup
	locked.Add(2 * programs)
	threads := make(chan int, 2*programs)
	for range 2 * programs {
		go func() {
			runtime.LockOSThread()
			threads <- unix.Gettid()
			locked.Done()
			locked.Wait() // until no thread is idle
		}()
	}
	for range 2 * programs {
		id := <-threads
		if id == unix.Getpid() {
			continue // Go never ends the first thread of a process
		}
		thread := filepath.Join("/proc/self/task", strconv.Itoa(id))
		wait.Until(t, "the end of the threads", func() bool { _, err := os.Stat(thread); return err != nil })
	}
	must.Do(t, w.Close())
	runs.Wait()
}

func TestRunReportsMaxRSS(t *testing.T) {
	small, err := Run(context.Background(), Options{}, "dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=1")
	if err != nil {
		t.Fatal(err)
	}
	large, err := Run(context.Background(), Options{}, "dd", "if=/dev/zero", "of=/dev/null", "bs=192M", "count=1")
	if err != nil {
		t.Fatal(err)
	}
	if small.MaxRSS < 1<<19 || large.MaxRSS < 192<<20 || small.MaxRSS > large.MaxRSS {
		t.Errorf("%d and %d bytes", small.MaxRSS, large.MaxRSS)
	}
}

// Tools that report errors on standard output are quoted from there.
func TestErrorQuotesStandardOutputIfAlone(t *testing.T) {
	_, err := Run(context.Background(), Options{}, "sh", "-c", "echo 'Error: no way'; exit 1")
	if !strings.Contains(err.Error(), "no way") {
		t.Fatalf("message %q lacks the tool's error", err)
	}
}

// Of a long text, the part that describes the fault is quoted.
func TestErrorQuotesTheFault(t *testing.T) {
	for text, want := range map[string]string{
		"mkfs: invalid option -- 'Q'\nUsage:\n-a\n-b\n-c":                             "mkfs: invalid option -- 'Q'; Usage:; …; -c",
		"one\ntwo\nthree\n\n four \t 4\n":                                             "one; two; three; four 4",
		"Ver: 1\nInfo: a\nInfo: b\n\tError: too small\nInfo: c\n\tERROR: no format\n": "Error: too small; ERROR: no format",
		"error: 1\nerror: 2\nerror: 3\nerror: 4\nerror: 5":                            "error: 1; error: 2; error: 3; error: 4",
		"": "",
	} {
		if got := gist(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRunMissingProgram(t *testing.T) {
	_, err := Run(context.Background(), Options{}, "no-such-program-anywhere")
	if !Missing(err) {
		t.Fatalf("%v is not recognised as a missing program", err)
	}
}

func TestRunNoArguments(t *testing.T) {
	if _, err := Run(context.Background(), Options{}); err == nil {
		t.Fatal("no error for an empty argument vector")
	}
	if _, err := Start(Options{}); err == nil {
		t.Fatal("no error for an empty argument vector")
	}
}

// A hanging program and its children die with the context.
func TestRunKillsTheWholeGroup(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the step has exceeded its limit")
	pid := make(chan string, 1)
	go func() {
		line := <-pid
		_ = line
		cancel(why)
	}()
	w := writerFunc(func(p []byte) (int, error) {
		pid <- strings.TrimSpace(string(p))
		pid <- strings.TrimSpace(string(p))
		return len(p), nil
	})
	r, err := Run(ctx, Options{Stdout: w}, "sh", "-c", "sleep 1000 & echo $!; wait")
	if !errors.Is(err, why) || r.Status != -1 {
		t.Fatalf("status %d, error %v", r.Status, err)
	}
	child := <-pid
	if running(t, child) {
		t.Fatalf("child %s is still running", child)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestOutputIsBounded(t *testing.T) {
	r, err := Run(context.Background(), Options{}, "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' a; echo; echo end")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stdout) > MaxOutput+200 || !strings.HasSuffix(r.Stdout, "end\n") || !strings.Contains(r.Stdout, "bytes omitted") {
		t.Fatalf("kept %d bytes, ending in %q", len(r.Stdout), r.Stdout[max(0, len(r.Stdout)-20):])
	}
}

func TestProcessKill(t *testing.T) {
	p, err := Start(Options{}, "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if !errors.As(p.Err(), &e) {
		t.Fatalf("killed process ended with %v", p.Err())
	}
	if err := syscall.Kill(p.Pid(), 0); err == nil {
		t.Fatal("it is still there")
	}
}

// When the context ends, one goroutine kills the program while another waits
// with that context: the latter gets the context's cause, not the signal.
func TestWaitSaysWhyItWasKilled(t *testing.T) {
	p, err := Start(Options{}, "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("the user has enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 50 { // both have happened; select may choose either
		if err := p.Wait(ctx); !errors.Is(err, why) {
			t.Fatal(err)
		}
	}
}

func TestStartMissingProgram(t *testing.T) {
	if _, err := Start(Options{}, "no-such-program-anywhere"); !Missing(err) {
		t.Fatalf("got %v", err)
	}
}

func TestLookFindsSystemDirectories(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	if _, err := Look("wipefs"); err != nil {
		t.Fatalf("wipefs: %v", err)
	}
	if _, err := Look("no-such-program-anywhere"); err == nil {
		t.Fatal("found a program that does not exist")
	}
}

// A watcher gets a program that has ended while /proc still has its counters.
func TestWatchSeesTheEnded(t *testing.T) {
	var counters []string
	ctx := Watch(t.Context(), func(pid int) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			t.Error(err)
		}
		counters = append(counters, string(text))
	})
	for range 2 {
		if _, err := Run(ctx, Options{}, "true"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Run(t.Context(), Options{}, "true"); err != nil {
		t.Fatal(err)
	}
	if len(counters) != 2 || strings.HasPrefix(counters[0], "0 ") || len(strings.Fields(counters[0])) != 3 {
		t.Errorf("%q", counters)
	}
}
