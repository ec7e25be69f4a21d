package storage

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/command"
	"whichfs/internal/testing/wait"
)

// diskSize is the size of a scene's disks, in bytes: enough for the smallest filesystems, and quick
// to compare.
const diskSize = 8 << 20

// disk is a loop device as another program would have made it, filled with zeros.
func (s *stage) disk(size ...int64) (path string, file *os.File) {
	s.Helper()
	path, file = loop(s.T, append(size, diskSize)[0], 0)
	s.watch(path)
	return path, file
}

// target is what the user names: all of a device.
func (s *stage) target(path string) {
	s.storage = path
	s.own(path, 0, 1<<40)
}

// knownAs adds the names that whichfs has for a block device, while it is free.
func (s *stage) knownAs(path string) {
	s.Helper()
	d, err := Roots{}.filled().find(path)
	if err != nil {
		s.Fatal(err)
	}
	s.names = append(s.names, d.IDs()...)
}

// fill writes data that no program recognises, the same every time.
func (s *stage) fill(path string, from, length int64) {
	s.Helper()
	r := rand.NewChaCha8([32]byte{'w', 'h', 'i', 'c', 'h', 'f', 's'})
	b := make([]byte, length)
	_, _ = r.Read(b)
	s.write(path, from, b)
}

func (s *stage) write(path string, at int64, b []byte) {
	s.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // synced
	if _, err := f.WriteAt(b, at); err != nil {
		s.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		s.Fatal(err)
	}
}

//go:embed testdata/headers.txt
var headers string

// header writes the output of a real tool (testdata/headers.txt), from and to byte.
func (s *stage) header(path, name string, from, to int64) {
	s.Helper()
	lines := 0
	for line := range strings.Lines(headers) {
		words := strings.Fields(line)
		if words[0] != name {
			continue
		}
		at, err := strconv.ParseInt(words[1], 16, 64)
		if err != nil {
			s.Fatal(err)
		}
		b, err := hex.DecodeString(words[2])
		if err != nil {
			s.Fatal(err)
		}
		if at >= from && at < to {
			s.write(path, at, b)
			lines++
		}
	}
	if lines == 0 {
		s.Fatalf("no header %q", name)
	}
}

// bootRecord has one Linux partition of 4 MiB from 1 MiB on.
var bootRecord = func() []byte {
	b := make([]byte, 512)
	b[446+4] = 0x83
	binary.LittleEndian.PutUint32(b[446+8:], partStart/512)
	binary.LittleEndian.PutUint32(b[446+12:], partLength/512)
	b[510], b[511] = 0x55, 0xaa
	return b
}()

const partStart, partLength = 1 << 20, 4 << 20

// partition gives a disk a boot record with a partition, and returns its node.
func (s *stage) partition(disk string) string {
	s.Helper()
	s.write(disk, 0, bootRecord)
	part := disk + "1"
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		part = disk + "p1"
	}
	if _, err := os.Stat(part); err != nil {
		s.run("addpart", disk, "1", fmt.Sprint(partStart/512), fmt.Sprint(partLength/512))
	}
	wait.Until(s.T, "node of the partition", func() bool { _, err := os.Stat(part); return err == nil })
	return part
}

func (s *stage) run(argv ...string) { s.Helper(); run(s.T, argv...) }

// output returns the output of a tool.
func (s *stage) output(argv ...string) string {
	s.Helper()
	path, err := command.Look(argv[0])
	if err != nil {
		s.Fatal(err)
	}
	argv[0] = path
	r, err := command.Run(s.Context(), command.Options{}, argv...)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(r.Stdout)
}

// formatted makes a filesystem that does not write by itself while it is mounted.
func (s *stage) formatted(path string) string {
	s.Helper()
	s.run("mkfs.ext4", "-q", "-F", "-L", "precious", "-O", "^has_journal", "-E", "lazy_itable_init=0", path)
	return path
}

// mount mounts a filesystem until the scene ends.
func (s *stage) mount(source, kind string, options ...string) (dir string) {
	s.Helper()
	dir = s.dir()
	flags := uintptr(unix.MS_NOATIME) // reading a directory must not write
	if len(options) > 0 && options[0] == "ro" {
		flags, options = flags|unix.MS_RDONLY, options[1:]
	}
	if err := unix.Mount(source, dir, kind, flags, strings.Join(options, ",")); err != nil {
		s.Fatalf("mounting %s: %v", source, err)
	}
	s.mounts = append(s.mounts, dir)
	s.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	return dir
}

// dir is a directory in which device nodes work; /tmp may not allow them.
func (s *stage) dir() string {
	s.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "whichfs-scene-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// node makes a device node elsewhere.
func (s *stage) node(path, device string) string {
	s.Helper()
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		s.Fatal(err)
	}
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
		s.Fatal(err)
	}
	return path
}

// hold opens a device like a mount.
func (s *stage) hold(path string) {
	s.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = f.Close() })
}

// over makes a loop device on anything.
func (s *stage) over(path string) string {
	s.Helper()
	device := s.output("losetup", "--find", "--show", path)
	s.Cleanup(func() { run(s.T, "losetup", "--detach", device) })
	return device
}

// swapOn makes swap of the smallest size. A kernel that is short of memory uses it.
func (s *stage) swapOn(path string) {
	s.Helper()
	const page, pages = 4096, 10
	from := int64(0)
	if strings.HasSuffix(path, "p1") {
		from = partStart
	}
	s.kernelWrites(from+page, from+pages*page) // the first page is the header
	s.run("mkswap", path, fmt.Sprint(pages*page/1024))
	s.run("swapon", path)
	s.Cleanup(func() { run(s.T, "swapoff", path) })
}

// link makes a symbolic link.
func (s *stage) link(target string) string {
	s.Helper()
	path := filepath.Join(s.dir(), "usb-Some_Disk_0001-0:0")
	if err := os.Symlink(target, path); err != nil {
		s.Fatal(err)
	}
	return path
}
