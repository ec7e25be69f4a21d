package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/probe"
	"whichfs/internal/result"
	"whichfs/internal/target/storage"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// host starts an agent at the other end of pipes and prepares it.
func host(t *testing.T, p wire.Prepare, o Options) (*machine.Client, error) {
	t.Helper()
	if p.Work == "" {
		p.Work = t.TempDir()
	}
	theirs, ours := io.Pipe()
	in, out := io.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- Serve(context.Background(), wire.New(theirs, out, nil), o)
		_ = out.Close()
	}()
	c := machine.NewClient(wire.New(in, ours, nil), machine.ClientOptions{Closer: func() error {
		_ = ours.Close()
		return errors.Join(<-over, in.Close())
	}})
	t.Cleanup(func() { _ = c.Close() })
	return c, c.Open(context.Background(), p)
}

// probing replaces the work of probes.
func probing(t *testing.T, do func(ctx context.Context, d probe.Target, o probe.Options) (probe.Report, error)) {
	t.Helper()
	was := runProbe
	runProbe = do
	t.Cleanup(func() { runProbe = was })
}

// one is a possible finding.
func one(value float64) []probe.Finding {
	return []probe.Finding{{Key: probe.RandomRead, Name: "Random reads", Value: value, Unit: "1/s", Confidence: 1}}
}

// image makes a loop device on a file of 32 MiB that begins with a filesystem.
func image(t *testing.T, dir string) (path string, file *os.File) {
	t.Helper()
	name := filepath.Join(dir, "image")
	file, err := os.Create(name)
	must.Do(t, err)
	t.Cleanup(func() { _ = file.Close() })
	must.Do(t, file.Truncate(32<<20))
	must.Do(t, exec.Command("mkfs.ext4", "-q", "-F", name).Run())
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	must.Do(t, err)
	defer control.Close() //nolint:errcheck // nothing was written
	for range 50 {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		must.Do(t, err)
		node, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		must.Do(t, err)
		config := unix.LoopConfig{Fd: uint32(file.Fd())}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		if err = unix.IoctlLoopConfigure(int(node.Fd()), &config); err == nil {
			t.Cleanup(func() { _ = node.Close() })
			return node.Name(), file
		}
		_ = node.Close()
	}
	t.Fatal("no free loop device")
	return "", nil
}

// empty removes the filesystem from an image.
func empty(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_DSYNC, 0)
	must.Do(t, err)
	_, err = f.Write(make([]byte, 1<<20))
	must.Do(t, errors.Join(err, f.Close()))
}

// ownID is the name of a device for --destroy.
func ownID(t *testing.T, path string) string {
	t.Helper()
	var refusal *storage.Refusal
	if !errors.As(storage.Guard(context.Background(), path, "", storage.Roots{}), &refusal) || refusal.Type == "" {
		t.Fatalf("%s: %v", path, refusal)
	}
	return strings.TrimPrefix(refusal.Type, "--destroy ")
}

func contents(t *testing.T, file *os.File) [32]byte {
	t.Helper()
	h := sha256.New()
	_, err := io.Copy(h, io.NewSectionReader(file, 0, 1<<40))
	must.Do(t, err)
	return [32]byte(h.Sum(nil))
}

// counters are the kernel's counts of writes, discards and flushes of a device.
func counters(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile("/sys/class/block/" + filepath.Base(path) + "/stat")
	must.Do(t, err)
	f := strings.Fields(string(b))
	return fmt.Sprint(f[4], f[6], f[11], f[13], f[15])
}

// A probe of a device with a filesystem preserves every byte of it, through a refused trial, a
// second probe and the agent's end.
func TestProbeOnlyReads(t *testing.T) {
	needs.Devices(t)
	path, file := image(t, t.TempDir())
	had, before := contents(t, file), counters(t, path)
	probing(t, func(_ context.Context, d probe.Target, o probe.Options) (probe.Report, error) {
		if d.Writable() {
			t.Error("the target may be written")
		}
		o.Progress("reading", 0.5)
		took, err := d.Read(0, 1<<20)
		if _, werr := d.Write(0, 4096); werr == nil {
			t.Error("the target writes")
		}
		return probe.Report{Findings: one(1 / took.Seconds()), Effort: o.Effort, Seed: o.Seed}, err
	})
	c, err := host(t, wire.Prepare{Storage: path, ReadOnly: true}, Options{})
	must.Do(t, err)
	for range 2 {
		told := 0
		r, err := c.Probe(context.Background(), wire.Probe{Effort: "quick", Seed: 1 << 63}, func(p wire.Progress) {
			if told++; p.What != "reading" || p.Share != 0.5 {
				t.Errorf("%+v", p)
			}
		})
		must.Do(t, err)
		if told != 1 || r.Wrote || r.Partial != "" || r.Identity != c.Ready().Identity || r.Size != 32<<20 || r.Kernel == "" ||
			r.Effort != "quick" || r.Seed != 1<<63 || len(r.Stated) == 0 || r.Started.IsZero() {
			t.Errorf("%d progress reports, %+v", told, r)
		}
		d, err := c.Trial(context.Background(), wire.Trial{Candidate: parsed.Candidate("ext4"), Scenario: scenario.Scenario{{Work: "mkfs", Phase: "mkfs"}}}, machine.Events{})
		if err != nil || d.Outcome != result.Refused || !strings.Contains(d.Reason, "for reading only") {
			t.Errorf("a trial: %+v, %v", d, err)
		}
	}
	must.Do(t, c.Close())
	if contents(t, file) != had || counters(t, path) != before {
		t.Errorf("the device was written to: %s, and before %s", counters(t, path), before)
	}
}

// A probe with permission to write does so, and leaves the storage empty.
func TestProbeWrites(t *testing.T) {
	needs.Devices(t)
	path, file := image(t, t.TempDir())
	probing(t, func(_ context.Context, d probe.Target, _ probe.Options) (probe.Report, error) {
		_, err := d.Write(0, 4096)
		return probe.Report{Findings: one(1)}, err
	})
	_, err := host(t, wire.Prepare{Storage: path}, Options{})
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Hint, "--destroy ") {
		t.Fatalf("a device with a filesystem: %v", err)
	}
	id := strings.Fields(e.Hint[strings.Index(e.Hint, "--destroy "):])[1]
	c, err := host(t, wire.Prepare{Storage: path, Destroy: strings.TrimSuffix(id, ";")}, Options{})
	must.Do(t, err)
	r, err := c.Probe(context.Background(), wire.Probe{}, nil)
	must.Do(t, err)
	if !r.Wrote {
		t.Error("the report says that nothing was written")
	}
	must.Do(t, c.Close())
	head := make([]byte, 1<<20)
	if _, err := file.ReadAt(head, 0); err != nil || strings.Trim(string(head), "\x00") != "" {
		t.Errorf("the storage was not left empty: %v", err)
	}
}

// The results so far come with the error, and the agent keeps working.
func TestProbeFails(t *testing.T) {
	needs.Devices(t)
	path, file := image(t, t.TempDir())
	probing(t, func(_ context.Context, d probe.Target, o probe.Options) (probe.Report, error) {
		o.Progress("reading", 0)
		_, err := d.Read(24<<20, 4096)
		return probe.Report{Findings: one(2)}, err
	})
	must.Do(t, file.Truncate(16<<20))
	c, err := host(t, wire.Prepare{Storage: path, ReadOnly: true}, Options{})
	must.Do(t, err)
	for range 2 {
		r, err := c.Probe(context.Background(), wire.Probe{}, nil)
		var e *result.Failure
		if !errors.As(err, &e) || e.Outcome != result.SubjectFailed || e.Hint == "" ||
			!strings.HasPrefix(e.Reason, "reading 4096 bytes at offset 25165824 of "+path+": ") {
			t.Fatalf("%v", err)
		}
		if len(r.Findings) != 1 || r.Partial != e.Reason {
			t.Errorf("%+v", r)
		}
	}
	probing(t, func(context.Context, probe.Target, probe.Options) (probe.Report, error) {
		return probe.Report{}, errors.New("a fault of our own")
	})
	_, err = c.Probe(context.Background(), wire.Probe{}, nil)
	var e *result.Failure
	if !errors.As(err, &e) || e.Outcome != result.LabFailed {
		t.Errorf("%v", err)
	}
}

// A cancelled probe returns its results so far; one whose host is gone ends.
func TestProbeIsStopped(t *testing.T) {
	needs.Devices(t)
	path, _ := image(t, t.TempDir())
	ended := make(chan error, 1)
	probing(t, func(ctx context.Context, d probe.Target, o probe.Options) (probe.Report, error) {
		o.Progress("waiting", 0)
		d.Pause(time.Hour) // ends with ctx
		ended <- ctx.Err()
		return probe.Report{Findings: one(3)}, ctx.Err()
	})
	c, err := host(t, wire.Prepare{Storage: path, ReadOnly: true}, Options{})
	must.Do(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := c.Probe(ctx, wire.Probe{}, func(wire.Progress) { cancel() })
	if !errors.Is(err, context.Canceled) || len(r.Findings) != 1 || r.Partial == "" || <-ended == nil {
		t.Errorf("%v, %+v", err, r)
	}
	must.Do(t, c.Close())
	// The host closes its end of the stream without a message.
	theirs, ours := io.Pipe()
	in, out := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- Serve(context.Background(), wire.New(theirs, out, nil), Options{}) }()
	conn := wire.New(in, ours, nil)
	must.Do(t, conn.Send(wire.KindPrepare, 1, wire.Prepare{Storage: path, ReadOnly: true}))
	_, err = conn.Receive()
	must.Do(t, err)
	must.Do(t, conn.Send(wire.KindProbe, 2, wire.Probe{}))
	_, err = conn.Receive() // its progress
	must.Do(t, err)
	must.Do(t, ours.Close())
	if err := <-ended; err == nil {
		t.Error("the probe continues without a host")
	}
	m, err := conn.Receive()
	if err != nil || m.Kind != wire.KindProbed {
		t.Errorf("%v, %v", m.Kind, err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// A request that never returns: the agent reports it, and neither it nor its end waits for the
// device. The device is on a frozen filesystem.
func TestProbeOfHangingDevice(t *testing.T) {
	needs.Devices(t)
	under, _ := image(t, t.TempDir())
	mount := t.TempDir()
	must.Do(t, unix.Mount(under, mount, "ext4", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(mount, unix.MNT_DETACH) })
	path, _ := image(t, mount)
	empty(t, path)
	probing(t, func(_ context.Context, d probe.Target, _ probe.Options) (probe.Report, error) {
		_, err := d.Write(20<<20, 4096)
		return probe.Report{}, err
	})
	theirs, ours := io.Pipe()
	in, out := io.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- Serve(context.Background(), wire.New(theirs, out, nil), Options{RequestLimit: 200 * time.Millisecond})
	}()
	conn := wire.New(in, ours, nil)
	must.Do(t, conn.Send(wire.KindPrepare, 1, wire.Prepare{Storage: path, Destroy: ownID(t, path), Work: t.TempDir()}))
	m, err := conn.Receive()
	must.Do(t, err)
	if m.Kind != wire.KindReady {
		t.Fatalf("%s %s", m.Kind, m.Body)
	}
	top, err := os.Open(mount)
	must.Do(t, err)
	const freeze, thaw = 0xc0045877, 0xc0045878 // FIFREEZE, FITHAW of linux/fs.h
	must.Do(t, unix.IoctlSetInt(int(top.Fd()), freeze, 0))
	defer top.Close()                                      //nolint:errcheck // for reading
	defer unix.IoctlSetInt(int(top.Fd()), thaw, 0)         //nolint:errcheck // so that the test can end
	must.Do(t, conn.Send(wire.KindProbe, 2, wire.Probe{})) // no progress: it hangs before
	m, err = conn.Receive()
	must.Do(t, err)
	var got wire.Probed
	must.Do(t, m.Decode(&got))
	if got.Failed == nil || got.Failed.Outcome != result.SubjectFailed || !strings.Contains(got.Failed.Reason, "the device hangs") || got.Failed.Hint == "" {
		t.Fatalf("%s %s", m.Kind, m.Body)
	}
	must.Do(t, conn.Send(wire.KindBye, 3, nil))
	if m, err := conn.Receive(); err != nil || m.Kind != wire.KindBye {
		t.Errorf("%v, %v", m.Kind, err)
	}
	must.Do(t, <-over)
}

// The host hears from a probe without news, and not too often from one with constant news.
func TestTeller(t *testing.T) {
	var lines strings.Builder
	tell := newTeller(wire.New(strings.NewReader(""), &lines, nil), 1)
	for i := range 1000 {
		tell.progress("chatter", float64(i)/500)
	}
	tell.end()
	if n := strings.Count(lines.String(), "chatter"); n < 1 || n > 100 || strings.Contains(lines.String(), `"share":1.`) {
		t.Errorf("%d messages: %s", n, lines.String())
	}
}
