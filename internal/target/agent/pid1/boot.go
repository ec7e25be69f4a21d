// Package pid1 is the agent's work when the kernel of a lab guest starts it as its first process:
// find the root image, make it writable, and open the stream to the host. No distribution's
// start-up runs, so a guest is ready in a second or two even under emulation.
//
// It does not reap orphans: waiting for any child would take the exit status of programs that the
// agent itself waits for, a guest lives for minutes, and the few daemons that filesystem tools
// leave behind cost one table entry each.
package pid1

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/guest"
	"whichfs/internal/target/workload"
)

const (
	// PortName is the virtio-serial port for the protocol.
	PortName = "whichfs.agent"
	// RootSerial is the serial number of the disk with the root image.
	RootSerial = "root"
	// ModulesSerial is the serial number of the disk with the kernel's modules, if the root image has
	// those of another kernel.
	ModulesSerial = "modules"
	// ScriptSerial is the serial number of the disk with a script.
	ScriptSerial = "script"
	// LabSerial is the serial number of the disk under test.
	LabSerial = "lab0"
	// patience is how long to wait for a required device.
	patience = 15 * time.Second
)

// ModuleSerial is the serial number of the disk with the nth module that the user gave, from 0.
func ModuleSerial(n int) string { return "module" + strconv.Itoa(n) }

// ProgramSerial is that of the disk with the archive of the nth program that the user gave, from 0.
func ProgramSerial(n int) string { return "program" + strconv.Itoa(n) }

// Guest is a guest after its setup.
type Guest struct {
	// Stream leads to the host. The caller closes it.
	Stream io.ReadWriteCloser
	// Modules are those that were inserted on the way to the root image, by name, with their cost.
	Modules map[string]workload.AtStart
}

// Boot sets up the guest and opens the stream to the host. It must be called first in a process
// with number 1. A failure is printed on the console and the guest powers off, so an error is
// returned only if even that fails.
//
// The kernel parameters whichfs.shell, whichfs.script, whichfs.probe, whichfs.vectors, whichfs.root and whichfs.fault change its
// behaviour; see parameters. begun is the start time of this process, by Monotonic.
func Boot(begun time.Duration) (Guest, error) {
	g, err := boot(begun)
	if err != nil {
		say("cannot set up the guest: " + err.Error())
		return Guest{}, errors.Join(err, Halt())
	}
	return g, nil
}

func boot(begun time.Duration) (Guest, error) {
	guest.Enter()
	for _, m := range []mount{
		{"devtmpfs", "/dev", "devtmpfs", unix.MS_NOSUID, ""},
		{"proc", "/proc", "proc", 0, ""},
		{"sysfs", "/sys", "sysfs", 0, ""},
	} {
		if err := m.do(); err != nil {
			return Guest{}, err
		}
	}
	useConsole()
	text, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return Guest{}, err
	}
	p := parseParameters(string(text))
	if p.random {
		if err := seedRandom(); err != nil {
			return Guest{}, err
		}
	}
	modules, _, err := insertAll("/modules")
	if err != nil {
		return Guest{}, err
	}
	if p.probe {
		say(ProbeMark)
		return Guest{}, Halt()
	}
	if p.vectors {
		if err := checkVectors(); err != nil {
			return Guest{}, err
		}
		say(VectorsMark)
		return Guest{}, Halt()
	}
	if p.root != "" {
		return Guest{}, bootRoot(p, begun)
	}
	if err := enterRoot(); err != nil {
		return Guest{}, err
	}
	if err := furnish(p); err != nil {
		return Guest{}, err
	}
	if err := mountModules(); err != nil {
		return Guest{}, err
	}
	if p.shell {
		return Guest{}, errors.Join(shell(p), Halt())
	}
	if p.script {
		return Guest{}, errors.Join(script(), Halt())
	}
	workload.KeepPrograms("/usr/bin", "/usr/sbin", "/usr/lib")
	port, err := openPort(PortName)
	if err != nil {
		return Guest{}, err
	}
	stream, err := withFault(port, p.fault)
	if err != nil {
		return Guest{}, err
	}
	// With an empty console, a guest that booted could not be distinguished from one that never
	// did.
	say("the guest is up")
	return Guest{Stream: stream, Modules: modules}, nil
}

// Halt writes everything back and powers the machine off. It returns only if
// the kernel refuses.
func Halt() error {
	unix.Sync()
	return fmt.Errorf("power off: %w", unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF))
}

type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

func (m mount) do() error {
	if err := os.MkdirAll(m.target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
	}
	return nil
}

// enterRoot mounts an overlay in memory over the read-only root image and makes the result the root
// directory, with the kernel's own filesystems moved along.
func enterRoot() error {
	disk, err := diskBySerial(RootSerial)
	if err != nil {
		return err
	}
	for _, m := range []mount{
		{disk, "/ro", imageKind(), unix.MS_RDONLY, ""},
		{"rw", "/rw", "tmpfs", 0, "size=75%"},
	} {
		if err := m.do(); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/rw/upper", "/rw/work"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	root := mount{"root", "/new", "overlay", 0, "lowerdir=/ro,upperdir=/rw/upper,workdir=/rw/work"}
	if err := root.do(); err != nil {
		return err
	}
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if err := unix.Mount(dir, "/new"+dir, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", dir, err)
		}
	}
	return enter("/new")
}

// enter makes a mount point the root directory.
func enter(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	return os.Chdir("/")
}

// furnish mounts the filesystems that programs expect and sets their environment.
func furnish(p parameters) error {
	for _, m := range []mount{
		{"tmp", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "size=100%,mode=1777"},
		{"run", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "size=16M,mode=755"},
		{"shm", "/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"devpts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666"},
		{"debugfs", "/sys/kernel/debug", "debugfs", 0, ""},
	} {
		if err := m.do(); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"PATH":   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":   "/root",
		"TMPDIR": "/tmp",
		"TERM":   p.term,
		// There is no udev, so libdevmapper must make its device nodes itself.
		"DM_DISABLE_UDEV": "1",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := unix.Sethostname([]byte("lab")); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	return describeDisk(p)
}

// mountModules mounts the disk with the kernel's modules where programs look for them.
func mountModules() error {
	disk, err := serialNow(ModulesSerial)
	if err != nil || disk == "" {
		return err
	}
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		return fmt.Errorf("uname: %w", err)
	}
	return mount{"/dev/" + disk, "/lib/modules/" + unix.ByteSliceToString(uname.Release[:]), imageKind(), unix.MS_RDONLY, ""}.do()
}

// imageKind is the filesystem of the lab's images, which the boot archive has the driver of: SquashFS for
// kernels without EROFS.
func imageKind() string {
	text, err := os.ReadFile("/proc/filesystems")
	if err == nil && !strings.Contains(string(text), "\terofs\n") {
		return "squashfs"
	}
	return "erofs"
}

// describeDisk tells the kernel what virtio cannot express about the storage that the lab disk
// stands for: that it does not rotate unless the host says so, since filesystems choose by this flag,
// and how long a request may be.
func describeDisk(p parameters) error {
	disk, err := serialNow(LabSerial)
	if err != nil || disk == "" {
		return nil //nolint:nilerr // an SD card reports it itself
	}
	queue, rotates := filepath.Join("/sys/block", disk, "queue"), "0"
	if p.rotational {
		rotates = "1"
	}
	if err := os.WriteFile(filepath.Join(queue, "rotational"), []byte(rotates), 0); err != nil {
		return err
	}
	if p.request != "" {
		if err := os.WriteFile(filepath.Join(queue, "max_sectors_kb"), []byte(p.request), 0); err != nil {
			return err
		}
	}
	if p.rotational {
		return nil
	}
	// To virtio every disk rotates at first. Linux 7.3 reads ahead further on such disks, and would
	// go on doing so on this one (blk_apply_bdi_limits in block/blk-settings.c).
	if best, err := os.ReadFile(filepath.Join(queue, "optimal_io_size")); err != nil || strings.TrimSpace(string(best)) != "0" {
		return err
	}
	return os.WriteFile(filepath.Join(queue, "read_ahead_kb"), []byte(defaultReadAhead), 0)
}

// defaultReadAhead is the kernel's default, in KiB (VM_READAHEAD_PAGES).
const defaultReadAhead = "128"

// useConsole makes the console the standard streams, for our own panics.
func useConsole() {
	f, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		return // there is no other place to report it
	}
	for fd := range 3 {
		_ = unix.Dup3(int(f.Fd()), fd, 0)
	}
	if f.Fd() > 2 {
		_ = f.Close()
	}
}

func say(text string) { fmt.Fprintf(os.Stderr, "whichfs: %s\n", strings.TrimSpace(text)) }
