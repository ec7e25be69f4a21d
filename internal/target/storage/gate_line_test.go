package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// Every property that distinguishes two devices is noticed on its own.
func TestDifference(t *testing.T) {
	was := Device{Name: "sdb", Major: 8, Minor: 16, Size: 1 << 20, Serial: "S", WWID: "naa.5", CID: "0353", Sequence: 7}
	if what := difference(was, was); what != "" {
		t.Errorf("from itself: %s", what)
	}
	for want, change := range map[string]func(*Device){
		"its kernel name":    func(d *Device) { d.Name = "sdc" },
		"its device number":  func(d *Device) { d.Minor = 32 },
		"its size":           func(d *Device) { d.Size *= 2 },
		"its serial number":  func(d *Device) { d.Serial = "" },
		"its WWID":           func(d *Device) { d.WWID = "naa.6" },
		"its CID":            func(d *Device) { d.CID = "0354" },
		"it was removed":     func(d *Device) { d.Sequence++ },
		"its device number ": func(d *Device) { d.Major = 9 },
	} {
		is := was
		change(&is)
		if what := difference(was, is); !strings.HasPrefix(what, strings.TrimSpace(want)) {
			t.Errorf("%s: %q", want, what)
		}
	}
}

// The same for flash.
func TestDifferenceOfFlash(t *testing.T) {
	was := MTD{Label: "data", Type: "nand", Size: 8 << 20, Erase: 128 << 10, Page: 2048, Offset: 1 << 20, dir: "/sys/a"}
	if what := differenceMTD(was, was); what != "" {
		t.Errorf("from itself: %s", what)
	}
	for want, change := range map[string]func(*MTD){
		"its label":             func(m *MTD) { m.Label = "boot" },
		"its type":              func(m *MTD) { m.Type = "nor" },
		"its size":              func(m *MTD) { m.Size *= 2 },
		"its erase block":       func(m *MTD) { m.Erase *= 2 },
		"its page":              func(m *MTD) { m.Page *= 2 },
		"its place on the chip": func(m *MTD) { m.Offset = 0 },
		"its place in sysfs":    func(m *MTD) { m.dir = "/sys/b" },
	} {
		is := was
		change(&is)
		if what := differenceMTD(was, is); !strings.HasPrefix(what, want) {
			t.Errorf("%s: %q", want, what)
		}
	}
}

// A device that is not the claimed one is not even opened for writing: closing it again would make
// udev scan a foreign disk.
func TestForeignDeviceIsNotOpened(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	foreign, _ := loop(t, 16<<20, 0)
	link := filepath.Join(t.TempDir(), "disk")
	node(t, link, path)
	c, err := open(t, link, ownID(t, path))
	if err != nil {
		t.Fatal(err)
	}
	// A device whose number differs only in the major half is a different one, too.
	if err := errors.Join(os.Remove(link), unix.Mknod(link, unix.S_IFBLK|0o600, int(unix.Mkdev(240, c.device.Minor)))); err != nil {
		t.Fatal(err)
	}
	var gone *Gone
	if err := c.Verify(); !errors.As(err, &gone) {
		t.Errorf("a node of another driver: %v", err)
	}
	c.gone = nil
	node(t, link, foreign)
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch) //nolint:errcheck // read only
	if _, err := unix.InotifyAddWatch(watch, link, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Right(nil, 0); !errors.As(err, &gone) {
		t.Error(err)
	}
	if n, err := unix.Read(watch, make([]byte, 4096)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("it was opened (%d bytes of events, %v)", n, err)
	}
	if err := c.Unmounted(); !errors.As(err, &gone) {
		t.Error(err)
	}
	if n, err := unix.Read(watch, make([]byte, 4096)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("it was opened after it was known to be another (%d bytes of events, %v)", n, err)
	}
}

// A failure to open for writing is a refusal, or the end of the storage.
func TestOpeningForWriting(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	c, err := open(t, path, ownID(t, path))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exclusive(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Right(nil, unix.O_EXCL)
	refused(t, err, "the kernel or another program holds it exclusively")
	refused(t, c.Recheck(), "the kernel or another program holds it exclusively")
	if err := errors.Join(program.Close(), c.Recheck()); err != nil {
		t.Errorf("after that program: %v", err)
	}

	// A number without a driver, whose device sysfs still shows.
	r := fixture(t, "usb-twins")
	d := device(t, r, "sdc")
	d.Major, d.Minor = 240, 77
	link := filepath.Join(t.TempDir(), "disk")
	if err := unix.Mknod(link, unix.S_IFBLK|0o600, int(unix.Mkdev(d.Major, d.Minor))); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(d.dir, "dev"), fmt.Sprintf("%s\n", d.Number()), "")
	put(t, filepath.Join(r.Sys, "dev/block", d.Number()), "", d.dir)
	c = &Claim{named: link, path: link, device: d, o: Options{Roots: r}}
	var gone *Gone
	if _, err := c.Right(nil, 0); !errors.As(err, &gone) {
		t.Errorf("without a driver: %v", err)
	}
}

// Long operations verify again: an exchange stops them before they write more.
func TestDiscardVerifiesTheDeviceAgain(t *testing.T) {
	needs.Devices(t)
	path, file := loop(t, 16<<20, 0)
	foreign, _ := loop(t, 16<<20, 0)
	if _, err := file.WriteAt([]byte("precious"), 4096); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "disk")
	node(t, link, path)
	c, err := open(t, link, ownID(t, path))
	if err != nil {
		t.Fatal(err)
	}
	right, err := c.Right(nil, unix.O_EXCL)
	if err != nil {
		t.Fatal(err)
	}
	defer right.Close() //nolint:errcheck // nothing is written
	before := hashOf(t, path)
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := c.discardAll(ended, right); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	node(t, link, foreign)
	var gone *Gone
	if _, err := c.discardAll(context.Background(), right); !errors.As(err, &gone) {
		t.Errorf("discarding: %v", err)
	}
	c.gone = nil
	if err := c.wipeEnds(right); !errors.As(err, &gone) {
		t.Errorf("zeroing: %v", err)
	}
	if hashOf(t, path) != before {
		t.Error("it was written to")
	}
}

// The remains of the last trial are compared once: then the next trial writes.
func TestLeftIsComparedOnce(t *testing.T) {
	needs.Devices(t)
	path, file, r := card(t)
	first := refused(t, Guard(context.Background(), path, "", r))
	spec, err := media.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(destroy string) *Claim {
		c, err := Open(context.Background(), spec, destroy, Options{Roots: r})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := claim(strings.TrimPrefix(first.Type, "--destroy "))
	if err := c.Recheck(); err != nil {
		t.Error(err)
	}
	if _, err := file.WriteAt([]byte("a trial"), 4096); err != nil {
		t.Fatal(err)
	}
	if err := c.Recheck(); err != nil {
		t.Errorf("while the trial continues: %v", err)
	}
	_ = c.Close()

	// From the claim on, the medium is identified by its contents.
	second := refused(t, Guard(context.Background(), path, "", r))
	c = claim(strings.TrimPrefix(second.Type, "--destroy "))
	if _, err := file.WriteAt([]byte("another card"), 8192); err != nil {
		t.Fatal(err)
	}
	var gone *Gone
	if err := c.Recheck(); !errors.As(err, &gone) {
		t.Errorf("exchanged before the first trial: %v", err)
	}
	if err := c.Left(); err != nil || c.left != "" {
		t.Errorf("what is gone has left something: %v, %q", err, c.left)
	}
}

// A disk with its own name is not compared with the remains of a trial.
func TestLeftOfADiskWithAName(t *testing.T) {
	needs.Devices(t)
	path, file := loop(t, 16<<20, 0)
	c, err := open(t, path, ownID(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Left(); err != nil {
		t.Error(err)
	}
	if _, err := file.WriteAt([]byte("more"), 4096); err != nil {
		t.Fatal(err)
	}
	if err := c.Recheck(); err != nil {
		t.Error(err)
	}
}

// disk is a loop device that claims to be a disk with a serial number.
func disk(t *testing.T) (path string, file *os.File, r Roots, dir string) {
	t.Helper()
	path, file, r = card(t)
	dir, err := filepath.EvalSymlinks(filepath.Join(r.Sys, "class/block", filepath.Base(path)))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "removable"), "0\n", "")
	return path, file, r, dir
}

// A disk that is exchanged while the guard checks it is refused.
func TestExchangedDuringTheCheck(t *testing.T) {
	needs.Devices(t)
	for _, change := range []string{"echo 99999 > %s/diskseq", "rm %s/dev"} {
		path, _, r, dir := disk(t)
		id := refused(t, Guard(context.Background(), path, "", r)).id
		r.Wipefs = script(t, fmt.Sprintf(change, dir))
		refused(t, Guard(context.Background(), path, id, r), "it was exchanged while it was being checked")
	}
}

// A disk that is exchanged while the claim waits for it is not the one that was found.
func TestExchangedBeforeTheGuard(t *testing.T) {
	needs.Devices(t)
	path, _, r, dir := disk(t)
	id := refused(t, Guard(context.Background(), path, "", r)).id
	spec, err := media.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	udev, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer udev.Close() //nolint:errcheck // read only
	if err := unix.Flock(int(udev.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	before, got := opened(path), make(chan error, 1)
	go func() {
		c, err := Open(context.Background(), spec, id, Options{Roots: r, LockWait: wait.Patience})
		if err == nil {
			_ = c.Close()
		}
		got <- err
	}()
	// The claim's own descriptor, and the one that waits for the lock.
	wait.Until(t, "the claim waits for the lock", func() bool { return opened(path) == before+2 })
	put(t, filepath.Join(dir, "diskseq"), "99999\n", "")
	if err := unix.Flock(int(udev.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	var gone *Gone
	if err := <-got; !errors.As(err, &gone) {
		t.Errorf("%v", err)
	}
}

// opened counts this process's descriptors of a path.
func opened(path string) (n int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == path {
			n++
		}
	}
	return n
}

// While a device is only inspected, others may mount it.
func TestInspectionAllowsMounting(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	run(t, "mkfs.ext4", "-q", path)
	dir := t.TempDir()
	said := filepath.Join(t.TempDir(), "said")
	r := Roots{Wipefs: script(t, fmt.Sprintf("mount %s %s && umount %[2]s && echo mounted >> %s", path, dir, said))}
	refused(t, Guard(context.Background(), path, "", r))
	if b, _ := os.ReadFile(said); string(b) != "mounted\n" {
		t.Error("it cannot be mounted while it is inspected")
	}
	// Before anything is written, the device is held.
	if err := Guard(context.Background(), path, ownID(t, path), r); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(said); string(b) != "mounted\n" {
		t.Error("it was mounted before something is written to it")
	}
}

// Reasons that need no permission are reported before a missing permission.
func TestReasonsBeforePermission(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	run(t, "mkfs.ext4", "-q", path)
	dir := t.TempDir()
	run(t, "mount", path, dir)
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	line, _ := other(t, "nobody", path, "/tmp")
	if !strings.Contains(line, "it is mounted at "+dir) || strings.Contains(line, "no permission to open it") {
		t.Error(line)
	}
}

// A twin that a program holds, which no list shows, is named.
func TestTwinThatIsHeld(t *testing.T) {
	needs.Devices(t)
	path, file := loop(t, 16<<20, 0)
	out, err := command.Run(context.Background(), command.Options{}, "losetup", "--find", "--show", file.Name())
	if err != nil {
		t.Fatal(err)
	}
	twin := strings.TrimSpace(out.Stdout)
	defer func() { run(t, "losetup", "-d", twin) }()
	program, err := exclusive(twin)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close() //nolint:errcheck // read only
	refused(t, Guard(context.Background(), path, ownID(t, path), Roots{}), twin+", which is the same storage: it is in use: the kernel or another program")
}

// A wrong ID is answered with what it does name.
func TestWrongID(t *testing.T) {
	part := Device{Name: "sdb1", Disk: "sdb", Partition: 1, Serial: "S"}
	reader := Device{Name: "sdc", Disk: "sdc", Serial: "R", Removable: true}
	for _, c := range []struct {
		d              Device
		named, id      string
		says, saysNot  string
		recommendation string
	}{
		{part, "S", "S-part1", "--destroy S names the whole disk sdb, and this is a partition", "", "--destroy S-part1"},
		{part, "T", "S-part1", "--destroy T does not name this device", "whole disk", "--destroy S-part1"},
		{Device{Name: "sdb", Disk: "sdb", Serial: "S"}, "T", "S", "--destroy T does not name this device", "whole disk", "--destroy S"},
		{reader, "R", "R@abc", "names only the reader or slot, not the medium in it", "does not name", "--destroy R@abc"},
		{reader, "R", "R@abc", "the part after @ identifies the contents of the medium that is in it now", "make sure", "--destroy R@abc"},
		{reader, "R@abd", "R@abc", "its contents have changed since --destroy R@abd was printed", "does not name", "--destroy R@abc"},
		{reader, "Q@abd", "R@abc", "--destroy Q@abd does not name this device; ", "printed", "--destroy R@abc"},
		{reader, "Q", "R@abc", "--destroy Q does not name this device; ", "printed", "--destroy R@abc"},
	} {
		r := wrongID("/dev/x", c.named, c.id, c.d)
		if !strings.Contains(said(r), c.says) || c.saysNot != "" && strings.Contains(said(r), c.saysNot) || r.Type != c.recommendation {
			t.Errorf("%s for %s: %v", c.named, c.id, r)
		}
	}
}

// A device that was not meant is not read either; the name of a reader's medium depends on its
// contents.
func TestWrongIDIsAnsweredAtOnce(t *testing.T) {
	needs.Devices(t)
	asked := filepath.Join(t.TempDir(), "asked")
	path, _, r, _ := disk(t)
	r.Wipefs = script(t, "echo asked >> "+asked)
	refused(t, Guard(context.Background(), path, "000000264002", r), "does not name this device", "add --destroy 000000264001")
	if _, err := os.Stat(asked); err == nil {
		t.Error("wipefs was asked")
	}
	path, _, r = card(t)
	r.Wipefs = script(t, "echo asked >> "+asked)
	refused(t, Guard(context.Background(), path, "000000264002", r), "does not name this device", "add --destroy 000000264001"+pin)
	if _, err := os.Stat(asked); err != nil {
		t.Error(err)
	}
}

// The report says what a run has destroyed.
func TestHeldBeforeTheRun(t *testing.T) {
	needs.Devices(t)
	path, _ := loop(t, 16<<20, 0)
	run(t, "mkfs.ext4", "-q", "-L", "photos", path)
	c, err := open(t, path, ownID(t, path))
	if err != nil {
		t.Fatal(err)
	}
	for _, have := range c.Conditions() {
		if have.Name == "held before the run" && strings.Contains(have.Value, "photos") {
			return
		}
	}
	t.Errorf("%+v", c.Conditions())
}

// made is a machine of stacked block devices: name, number, WWID, the devices below, and a
// device-mapper identity.
func made(t *testing.T, devices ...[5]string) Roots {
	t.Helper()
	dir := t.TempDir()
	r := Roots{Sys: dir + "/sys", Proc: dir + "/proc", Dev: dir + "/dev"}.filled()
	put(t, r.Proc+"/swaps", "Filename\tType\tSize\tUsed\tPriority\n", "")
	put(t, r.Proc+"/self/mountinfo", "20 1 8:99 / / rw - ext4 /dev/root rw\n", "")
	for _, d := range devices {
		name, number, wwid, on, uuid := d[0], d[1], d[2], d[3], d[4]
		at := filepath.Join(r.Sys, "devices", name)
		put(t, at+"/dev", number+"\n", "")
		put(t, at+"/size", "2048\n", "")
		put(t, filepath.Join(r.Sys, "class/block", name), "", at)
		put(t, filepath.Join(r.Sys, "dev/block", number), "", at)
		if wwid != "" {
			put(t, at+"/wwid", wwid+"\n", "")
		}
		if on != "" {
			put(t, at+"/slaves/"+on, "", filepath.Join(r.Sys, "devices", on))
			put(t, filepath.Join(r.Sys, "devices", on, "holders", name), "", at)
			put(t, at+"/dm/uuid", uuid+"\n", "")
			put(t, at+"/dm/name", "table-"+name+"\n", "")
		}
	}
	return r
}

// The twin of a disk below a table counts, however deep it is.
func TestTwinOfUnderlyingDiskCounts(t *testing.T) {
	r := made(t, [5]string{"sdb", "8:16", "naa.5"}, [5]string{"sdc", "8:32", "naa.5"}, [5]string{"sdd", "8:48", "naa.6"},
		[5]string{"dm-0", "253:0", "", "sdb", "CRYPT-a"}, [5]string{"dm-1", "253:1", "", "dm-0", "b"})
	put(t, r.Proc+"/7/ns/mnt", "", "mnt:[9]")
	put(t, r.Proc+"/7/mountinfo", "27 1 8:32 / /data rw - ext4 /dev/sdc rw\n", "")
	for name, want := range map[string]bool{"sdb": true, "dm-0": true, "dm-1": true, "sdd": false} {
		d, err := r.byName(name)
		if err == nil {
			err = r.relate(&d)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.held(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(texts(found), "sdc, which is the same storage, is mounted at /data"); got != want {
			t.Errorf("%s: %q", name, texts(found))
		}
	}
}

// Two tables on one disk are known not to overlap only if one program makes both.
func TestOverlappingTablesCountAsUse(t *testing.T) {
	for _, c := range []struct {
		own, theirs string
		apart       bool
	}{
		{"LVM-a", "LVM-b", true}, {"part1-x", "part2-x", true},
		{"LVM-a", "other", false}, {"other", "LVM-b", false}, {"part1-x", "LVM-b", false}, {"", "", false},
	} {
		r := made(t, [5]string{"sdb", "8:16"}, [5]string{"dm-0", "253:0", "", "sdb", c.own}, [5]string{"dm-1", "253:1", "", "sdb", c.theirs})
		d, err := r.byName("dm-0")
		if err != nil {
			t.Fatal(err)
		}
		if beside := r.beside(d); (len(beside) == 0) != c.apart {
			t.Errorf("%q beside %q: %q", c.own, c.theirs, beside)
		}
	}
}

// A partition of unknown origin is kept if the disk has a partition table.
func TestDoubtAboutAPartition(t *testing.T) {
	for want, content := range map[string]map[int]string{
		"":                   {0: "data"},
		"a partition table":  {510: "\x55\xaa"},
		"a partition table ": {512: "EFI PART"},
		"partition table":    {4096: "EFI PART"},
		"reading":            nil,
	} {
		path := filepath.Join(t.TempDir(), "disk")
		var b []byte
		if content != nil {
			b = make([]byte, 16<<10)
		}
		for at, text := range content {
			copy(b[at:], text)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := doubt(Device{Path: path}); !strings.Contains(got, strings.TrimSpace(want)) || want == "" && got != "" {
			t.Errorf("%v: %q", content, got)
		}
	}
	if doubt(Device{Path: filepath.Join(t.TempDir(), "none")}) == "" {
		t.Error("no doubt about a disk that cannot be opened")
	}
}

// Records are kept only in directories where no other user can create one.
func TestDirectoryOfRecords(t *testing.T) {
	needs.Devices(t)
	dir := t.TempDir()
	at := func(name string, mode os.FileMode, uid int) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(path, mode), os.Chmod(path, mode), os.Chown(path, uid, 0)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := own(at("ours", 0o755, 0)); err != nil {
		t.Error(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "ours"), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, at("all", 0o777, 0), at("group", 0o775, 0), at("another", 0o755, 1234), link, filepath.Join(dir, "none")} {
		if own(path) == nil {
			t.Errorf("%s is taken", path)
		}
	}
}

// The layers of an overlay are on the innermost mount above them, in whatever order the kernel
// lists the mounts.
func TestLayersOfRoot(t *testing.T) {
	r := made(t)
	for _, order := range [][]string{{"/data", "/data/deep"}, {"/data/deep", "/data"}} {
		text := "20 1 0:30 / / rw - overlay overlay rw,lowerdir=/usr,upperdir=/data/deep/upper,workdir=/data/deep/work\n"
		for i, dir := range order {
			text += fmt.Sprintf("%d 20 8:%d / %s rw - ext4 /dev/x rw\n", 30+i, len(dir), dir)
		}
		if err := os.WriteFile(r.Proc+"/self/mountinfo", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		all, err := r.mounts()
		if err != nil {
			t.Fatal(err)
		}
		for m := range rootMounts(all) {
			if m.Mountpoint != "/" && m.Mountpoint != "/data/deep" {
				t.Errorf("%v: %s carries the root", order, m.Mountpoint)
			}
		}
		if len(rootMounts(all)) != 2 {
			t.Errorf("%v: %v", order, rootMounts(all))
		}
	}
	// Entries of another namespace must be readable.
	put(t, r.Proc+"/9/ns/mnt", "", "mnt:[9]")
	put(t, r.Proc+"/9/mountinfo", "nonsense\n", "")
	if _, err := r.mounts(); err == nil {
		t.Error("nonsense was read as a list of mounts")
	}
	if err := os.Remove(r.Proc + "/swaps"); err != nil {
		t.Fatal(err)
	}
	if swaps, err := r.swaps(); err != nil || len(swaps) != 0 {
		t.Errorf("a kernel without swap: %v, %v", swaps, err)
	}
}

// A serial number shared by two disks names neither.
func TestSharedSerial(t *testing.T) {
	r := fixture(t, "usb-twins")
	d, err := r.byName("sdc")
	if err == nil {
		err = r.relate(&d)
	}
	if err != nil || !d.shared || d.Serial == "" || d.Is(d.Serial) {
		t.Errorf("%+v, %v", d, err)
	}
}

// The root device on the kernel's command line, in the spellings of boot loaders.
func TestBootRoot(t *testing.T) {
	for line, want := range map[string]string{
		"root=/dev/sda2 ro": "/dev/sda2", `quiet root="/dev/sda2"`: "/dev/sda2", "root=UUID=12-34": "/dev/disk/by-uuid/12-34",
		"root=LABEL=x": "/dev/disk/by-label/x", "root=PARTLABEL=x": "/dev/disk/by-partlabel/x", "root=nfs": "", "quiet": "", "noroot=/dev/sda2": "",
	} {
		r := Roots{Proc: t.TempDir()}
		put(t, r.Proc+"/cmdline", line+"\n", "")
		if got := r.bootRoot(); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Flash that was replaced or removed is noticed without opening it.
func TestFlashIsVerified(t *testing.T) {
	needs.Devices(t)
	for want, change := range map[string]func(t *testing.T, dir string){
		"its label was": func(t *testing.T, dir string) { put(t, filepath.Join(dir, "name"), "another\n", "") },
		"it vanished": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		r := fixture(t, "mtd")
		all, err := r.mtds()
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		m := all[0]
		path := filepath.Join(t.TempDir(), m.Name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(m.Major, m.Minor))); err != nil {
			t.Fatal(err)
		}
		c := &Claim{named: "mtd:" + path, o: Options{Roots: r}}
		c.take(m)
		c.path = path
		if err := c.Verify(); err != nil {
			t.Fatal(err)
		}
		change(t, m.dir)
		var gone *Gone
		if err := c.Verify(); !errors.As(err, &gone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := c.Right(nil, 0); !errors.As(err, &gone) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
