package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/result"
)

// The highest rate is that of the fastest whole second, whatever the mean; a phase of less than a
// second has none.
func TestPeak(t *testing.T) {
	stat := filepath.Join(t.TempDir(), "stat")
	ok := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	have := func(read, written int) disk {
		text := fmt.Sprintf("0 0 %d 0 0 0 %d 0 0 0 0\n", read, written)
		ok(os.WriteFile(stat, []byte(text), 0o644))
		d, err := parseDisk([]byte(text))
		ok(err)
		return d
	}
	rates := func(p *peak) (read, written result.Measurement) {
		var f figures
		f.peaks(p, nil)
		return f.all[0], f.all[1]
	}
	for _, c := range []struct {
		seconds       float64
		read, written []int // sectors by the middle of each second
		wantR, wantW  float64
		absent        string
	}{
		{2.9, []int{4000, 5000, 90000}, []int{200, 200, 200}, 4000 * 512, 200 * 512, ""},
		{0.5, []int{1000}, []int{0}, 0, 0, "it took less than a second"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := watchPeak(stat, have(0, 0))
			left := time.Duration(c.seconds * float64(time.Second))
			for i := range c.read {
				half := min(second/2, left)
				time.Sleep(half)
				have(c.read[i], c.written[i])
				time.Sleep(min(second/2, left-half))
				left -= second
			}
			synctest.Wait()
			p.stop()
			read, written := rates(p)
			if read.Value != c.wantR || written.Value != c.wantW || read.Absent != c.absent || written.Absent != c.absent {
				t.Errorf("after %v s: %+v, %+v", c.seconds, read, written)
			}
		})
	}
	for name, lose := range map[string]func() error{
		"without counters": func() error { return os.Truncate(stat, 0) },
		"without a device": func() error { return os.Remove(stat) },
	} {
		synctest.Test(t, func(t *testing.T) {
			before := have(0, 0)
			if name == "without a device" {
				ok(lose())
			}
			p := watchPeak(stat, before)
			if name == "without counters" {
				ok(lose())
			}
			time.Sleep(2 * second)
			synctest.Wait()
			p.stop()
			if read, written := rates(p); read.Absent == "" || written.Absent == "" {
				t.Errorf("%s: %+v, %+v", name, read, written)
			}
		})
	}
}

// The watch allocates nothing while the clock runs.
func TestPeakAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	const stat = "sys/class/block/vdb/stat"
	w.write(stat, "0 0 0 0 0 0 0 0 0 0 0\n")
	m := w.meter(Config{Device: "vdb"})
	reads, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(reads) }()
	// Nothing is allocated by waiting for the watch, either.
	event := make([]byte, unix.SizeofInotifyEvent)
	path, err := unix.BytePtrFromString(filepath.Join(w.root, stat))
	if err != nil {
		t.Fatal(err)
	}
	least := -1.0
	for try := 0; try < 20 && least != 0; try++ { // the test's own goroutines, and new threads, allocate now and then
		ms, _, err := m.Around("write", func() error {
			if _, _, err := unix.Syscall(unix.SYS_INOTIFY_ADD_WATCH, uintptr(reads), uintptr(unsafe.Pointer(path)), unix.IN_ACCESS|unix.IN_ONESHOT); err != 0 {
				return err
			}
			for range 2 { // the watch's read, however late it is, and the end of the inotify watch, which follows it
				if _, err := unix.Read(reads, event); err != nil {
					return err
				}
			}
			pause := unix.NsecToTimespec(int64(10 * time.Millisecond)) // for what it does with it
			return unix.Nanosleep(&pause, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		all := byMetric(t, ms)
		if why := all[result.DevicePeakRead].Absent; why != "" {
			t.Fatal(why)
		}
		if got := all[result.AgentMallocs].Value; least < 0 || got < least {
			least = got
		}
	}
	if least != 0 {
		t.Errorf("%v allocations in a section of more than a second", least)
	}
}
