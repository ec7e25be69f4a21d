package pid1

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/result"
	"whichfs/internal/target/workload"
	"whichfs/internal/wire"
)

// A guest can be booted from the filesystem under test as its root: the agent in the boot archive
// loads the filesystem's modules, mounts it, makes it the root directory and starts the agent
// stored on it as the first process of the system. That one reports the elapsed time on the
// console, and powers off.

const (
	// KindBooted is the kind of the message that ends such a boot.
	KindBooted = "booted"
	// RootMark is printed when only the filesystem's part of the boot remains: if the boot ends
	// after it without a message, the filesystem failed.
	RootMark = "the filesystem under test becomes the root"
	// rooted is the argument that tells the agent that it is the first process of the filesystem
	// under test.
	rooted = "rooted"
)

// Booted is the body of that message.
type Booted struct {
	Release string `json:"release"` // uname -r
	// Kernel is the time from the start of the kernel's clock to the first process in the boot
	// archive, in seconds. The clock starts some milliseconds after the kernel itself.
	Kernel float64 `json:"kernel"`
	// Root is the time from there, once the disk was found, to the first process of the root
	// filesystem: loading modules, mounting, reading and starting the program. In seconds.
	Root float64 `json:"root"`
	// Login is the time from there to the login prompt, in seconds, if the guest was to show one; Root
	// then ends with the first thing that init does.
	Login float64 `json:"login,omitempty"`
	// Refused are modules for another processor, by name, separated by commas.
	Refused string `json:"refused,omitempty"`
	// Unclean says why the filesystem could not be left in a clean state.
	Unclean string `json:"unclean,omitempty"`
	// Failed says why there was no such process; Outcome classifies the cause.
	Failed  string         `json:"failed,omitempty"`
	Outcome result.Outcome `json:"outcome,omitempty"`
}

// Monotonic is the kernel's clock since its start.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// FirstProcess reports whether this is the first process of a filesystem under
// test, by its arguments.
func FirstProcess(args []string) bool {
	return os.Getpid() == 1 && len(args) == 5 && args[1] == rooted
}

// ReportRoot reports the time elapsed so far, leaves the filesystem clean and powers off. It
// returns only if the kernel refuses.
func ReportRoot(args []string, now time.Duration) error {
	b := Booted{Outcome: result.Done, Refused: args[4]}
	kernel, err := strconv.ParseInt(args[2], 10, 64)
	if err == nil {
		var begun int64
		begun, err = strconv.ParseInt(args[3], 10, 64)
		b.Kernel, b.Root = time.Duration(kernel).Seconds(), (now - time.Duration(begun)).Seconds()
	}
	if err != nil {
		b = Booted{Outcome: result.LabFailed, Failed: err.Error()}
	}
	return errors.Join(b.end("/"), Halt())
}

// end leaves the filesystem clean, whose mount point is root, and sends the message.
func (b Booted) end(root string) error {
	unix.Sync()
	if err := unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		b.Unclean = "it cannot be made read-only: " + err.Error()
	}
	return b.tell()
}

// tell writes the message to the console and waits until it is transmitted.
func (b Booted) tell() error {
	var uname unix.Utsname
	if unix.Uname(&uname) == nil {
		b.Release = unix.ByteSliceToString(uname.Release[:])
	}
	fmt.Println() // the kernel may have left an unfinished line
	err := wire.New(nil, os.Stdout, nil).Send(KindBooted, 1, b)
	_ = unix.IoctlSetInt(int(os.Stdout.Fd()), unix.TCSBRK, 1) // tcdrain(3)
	return err
}

// bootRoot continues with the filesystem under test as root. It reports a failure to the host, and
// returns only if the kernel refuses to power off.
func bootRoot(p parameters, begun time.Duration) error {
	err := toRoot(p, begun)
	b := Booted{Outcome: result.LabFailed, Failed: err.Error()}
	var known *result.Failure
	if errors.As(err, &known) {
		b.Outcome = known.Outcome
	}
	return errors.Join(b.tell(), Halt())
}

// toRoot returns only after a failure.
func toRoot(p parameters, begun time.Duration) error {
	disk, err := diskBySerial(LabSerial)
	if p.card {
		var name string
		name, err = await("the card", func() (string, error) { return present("/sys/block/", "mmcblk0") })
		disk = "/dev/" + name
	}
	if err != nil {
		return err
	}
	if err := describeDisk(p); err != nil {
		return err
	}
	var options []string
	if p.options != "" {
		options = strings.Split(p.options, ",")
	}
	flags, data := filesystem.MountFlags(options)
	var t *terminal
	if p.login {
		if t, err = openTerminal(); err != nil {
			return err
		}
	}
	say(RootMark)
	start := Monotonic()
	_, refused, err := insertAll("/filesystem")
	if err != nil {
		return workload.Subject("%v", err)
	}
	if err := unix.Mount(disk, "/new", p.root, flags, data); err != nil {
		return workload.Subject("mount -t %s -o %q: %v", p.root, p.options, err)
	}
	if p.login {
		return t.login(begun, start)
	}
	if err := enter("/new"); err != nil {
		return err
	}
	argv := []string{"/" + workload.FirstProcess, rooted, strconv.FormatInt(int64(begun), 10),
		strconv.FormatInt(int64(start), 10), strings.Join(refused, ",")}
	return workload.Subject("start %s: %v", argv[0], unix.Exec(argv[0], argv, os.Environ()))
}

// present returns name if it is in the directory.
func present(dir, name string) (string, error) {
	_, err := os.Stat(dir + name)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return name, err
}
