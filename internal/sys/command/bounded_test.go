package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command/commandtest"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// The test program plays a contained program: it runs the script in this
// variable until the script prints something or a process with the other
// variable in its command line sleeps uninterruptibly.
const (
	helperVariable = "WHICHFS_TEST_HELPER"
	asleepVariable = "WHICHFS_TEST_ASLEEP"
	memoryVariable = "WHICHFS_TEST_MEMORY"
)

func TestMain(m *testing.M) {
	if script := os.Getenv(helperVariable); script != "" {
		helper(script, os.Getenv(asleepVariable))
		return
	}
	if os.Getenv(memoryVariable) != "" {
		fill()
		return
	}
	os.Exit(m.Run())
}

// fill takes 400 MiB of memory in small pages, says so, and sleeps until it is killed.
func fill() {
	m, err := unix.Mmap(-1, 0, 400<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE) // a kernel without huge pages refuses
	for at := 0; at < len(m); at += os.Getpagesize() {
		m[at] = 1
	}
	fmt.Println("filled")
	_ = unix.Pause()
}

func helper(script, asleep string) {
	killPatience = time.Second
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	if asleep != "" {
		go func() {
			for commandtest.Sleeper(asleep) == "" {
				time.Sleep(time.Millisecond)
			}
			cancel(enough)
		}()
	}
	_, err := Run(ctx, Options{Stderr: writerFunc(func(p []byte) (int, error) {
		cancel(enough)
		return len(p), nil
	})}, "sh", "-c", script)
	fmt.Printf("pid %d, %v\n", os.Getpid(), err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func running(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	return alive(n)
}

// untilSaid runs a script until it prints something, and returns that.
func untilSaid(t *testing.T, script string) (said string, err error) {
	t.Helper()
	why := errors.New("the step has exceeded its limit")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := make(chan Result, 1)
	go func() {
		var r Result
		r, err = Run(ctx, Options{Stdout: writerFunc(func(p []byte) (int, error) {
			cancel(why)
			return len(p), nil
		})}, "sh", "-c", script)
		over <- r
	}()
	r := wait.For(t, "the end of a program whose context is over", over)
	if !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	return strings.TrimSpace(r.Stdout), err
}

// The program has ended, but a child of it has not and holds the output.
func TestRunDoesNotWaitForHolderOfTheOutput(t *testing.T) {
	child, _ := untilSaid(t, "sleep 1000 & echo $!")
	if running(t, child) {
		t.Errorf("%s still runs", child)
	}
}

// Every job of fio has its own session.
func TestRunKillsProcessesThatLeftTheGroup(t *testing.T) {
	child, _ := untilSaid(t, "setsid sh -c 'echo $$; exec sleep 1000' & wait")
	if running(t, child) {
		t.Errorf("%s still runs", child)
	}
}

// Nothing leads to a process that left the group and whose parent has ended.
func TestRunAbandonsOutputOfUnknownChild(t *testing.T) {
	orphan, _ := untilSaid(t, `(setsid sh -c 'echo $$; exec sleep 1000' &); exec sleep 1000`)
	n, err := strconv.Atoi(orphan)
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(n, syscall.SIGKILL)
}

// All of the output arrives, however slowly it is read after the end.
func TestRunWaitsForASlowReader(t *testing.T) {
	first := true
	r, err := Run(t.Context(), Options{Stdout: writerFunc(func(p []byte) (int, error) {
		if first {
			time.Sleep(pipeDelay + pipeDelay/2)
		}
		first = false
		return len(p), nil
	})}, "head", "-c", "60000", "/dev/zero")
	if err != nil || len(r.Stdout) != 60000 {
		t.Errorf("%d bytes, %v", len(r.Stdout), err)
	}
}

func impatient(t *testing.T) {
	was := killPatience
	killPatience = time.Second
	t.Cleanup(func() { killPatience = was })
}

// stuckOn checks that an error describes a program that cannot be killed.
func stuckOn(t *testing.T, err error, program string) {
	t.Helper()
	var s *Stuck
	if !errors.As(err, &s) {
		t.Fatalf("%v does not name the remaining process", err)
	}
	want := fmt.Sprintf("%s (process %d) cannot be killed: it is in uninterruptible sleep", program, s.Pid)
	if s.Program != program || s.State != 'D' || !strings.HasPrefix(s.Error(), want) || !alive(s.Pid) {
		t.Errorf("%+v: %q, want %q", s, s.Error(), want)
	}
	// The kernel may hide where it waits.
	if text, err := os.ReadFile(procPath(s.Pid, "wchan")); err == nil && string(text) != "0" && !strings.HasSuffix(s.Error(), " (in "+string(text)+")") {
		t.Errorf("%q does not say that it waits in %s", s.Error(), text)
	}
}

// A program in uninterruptible sleep is abandoned and named.
func TestRunAbandonsUnkillableProcess(t *testing.T) {
	needs.Devices(t)
	impatient(t)
	f := commandtest.Mount(t)
	f.Freeze()
	path := filepath.Join(f.Dir, "file")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the step has exceeded its limit")
	over := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Options{}, "dd", "if=/dev/zero", "of="+path, "bs=4k", "count=1")
		over <- err
	}()
	pid := commandtest.Asleep(t, "of="+path)
	cancel(why)
	err := wait.For(t, "it is abandoned", over)
	stuckOn(t, err, "dd")
	if !errors.Is(err, why) {
		t.Errorf("%v does not say why it was killed", err)
	}
	f.Thaw()
	wait.Until(t, "it ends", func() bool { return !running(t, pid) })
}

// A program of much memory, which takes a while to exit, is waited for: its end is near, and what comes
// next needs the memory.
func TestKillWaitsForMemory(t *testing.T) {
	was := killPatience
	killPatience = time.Millisecond
	t.Cleanup(func() { killPatience = was })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Options{Stdout: w, Env: []string{memoryVariable + "=yes"}}, os.Args[0])
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
}

// A program that ends leaves a child that cannot be killed.
func TestKillNamesTheUnkillableChild(t *testing.T) {
	needs.Devices(t)
	impatient(t)
	f := commandtest.Mount(t)
	f.Freeze()
	path := filepath.Join(f.Dir, "file")
	p, err := Start(Options{}, "sh", "-c", "dd if=/dev/zero of="+path+" & wait")
	if err != nil {
		t.Fatal(err)
	}
	commandtest.Asleep(t, "dd\x00if=/dev/zero\x00of="+path)
	over := make(chan error, 1)
	go func() { over <- p.Kill() }()
	stuckOn(t, wait.For(t, "it is abandoned", over), "dd")
	f.Thaw()
	wait.Until(t, "it ends", func() bool { return len(commandtest.Processes("of="+path)) == 0 })
}

// contained starts a helper in its own namespaces and returns what it prints.
func contained(t *testing.T, script, asleep string) (said string) {
	t.Helper()
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Options{Stdin: in, Stdout: theirs, Contain: true,
		Env: []string{helperVariable + "=" + script, asleepVariable + "=" + asleep}}, os.Args[0])
	_, _ = in.Close(), theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = p.Kill(), hold.Close(), out.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Nothing survives a contained program that is killed outright: neither
// processes that left its group nor orphans.
func TestContainedDieTogether(t *testing.T) {
	needs.Devices(t)
	t.Run("namespace", func(t *testing.T) {
		p := dieTogether(t, "1")
		if p.Loose() != "" {
			t.Error(p.Loose())
		}
	})
	t.Run("control group", func(t *testing.T) {
		was := ownProcesses
		ownProcesses = unix.CLONE_THREAD // EINVAL, as from a kernel without namespaces
		t.Cleanup(func() { ownProcesses = was })
		p := dieTogether(t, "")
		if !strings.Contains(p.Loose(), "no process-id namespaces") || strings.Contains(p.Loose(), "no control group") {
			t.Error(p.Loose())
		}
	})
}

func dieTogether(t *testing.T, number string) *Process {
	t.Helper()
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	word := fmt.Sprintf("%d", 1_000_000+time.Now().UnixNano()%1_000_000)
	script := fmt.Sprintf(`read go; setsid sleep %s & (setsid sleep %s &); echo $$; read x`, word, word)
	p, err := Start(Options{Stdin: in, Stdout: theirs, Contain: true}, "sh", "-c", script)
	_, _ = in.Close(), theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = p.Kill(), hold.Close(), out.Close() })
	if _, err := hold.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || number != "" && line != number+"\n" {
		t.Fatalf("%q %v", line, err)
	}
	wait.Until(t, "both sleep", func() bool { return len(commandtest.Processes("sleep\x00"+word)) == 2 })
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if left := commandtest.Processes("sleep\x00" + word); len(left) > 0 {
		t.Errorf("%v survive", left)
	}
	return p
}

// In a namespace, /proc has other numbers than kill(2) takes: the right
// process must be killed and named.
func TestRunInANamespace(t *testing.T) {
	needs.Devices(t)
	word := fmt.Sprintf("%d", 1_000_000+time.Now().UnixNano()%1_000_000)
	if said := contained(t, "setsid sh -c 'echo >&2 go; exec sleep "+word+"' & wait", ""); said != "pid 1, sh: enough: go" {
		t.Errorf("%q", said)
	}
	if left := commandtest.Processes(word); len(left) > 0 {
		t.Errorf("%v survive", left)
	}
	f := commandtest.Mount(t)
	f.Freeze()
	path := filepath.Join(f.Dir, "file")
	dd := "dd\x00if=/dev/zero\x00of=" + path
	said := contained(t, "dd if=/dev/zero of="+path+" & wait", "of="+path)
	pid := commandtest.Asleep(t, dd)
	if want := "dd (process " + pid + ") cannot be killed: it is in uninterruptible sleep"; !strings.Contains(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	f.Thaw()
	wait.Until(t, "it ends", func() bool { return len(commandtest.Processes(dd)) == 0 })
}
