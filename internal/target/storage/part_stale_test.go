package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/media"
	"whichfs/internal/sys/owner"
	"whichfs/internal/testing/needs"
)

// abandoned is a user's loop device on which a killed process left a partition, with the directory
// of its record.
func abandoned(t *testing.T) (disk Device, o Options, partition string) {
	t.Helper()
	path, _ := loop(t, 16<<20, 0)
	o = Options{Roots: Roots{Run: filepath.Join(t.TempDir(), "run")}}
	disk = device(t, o.Roots.filled(), filepath.Base(path))
	partition, process := other(t, "part", path, disk.IDs()[0], o.Roots.Run)
	if !strings.HasPrefix(partition, disk.Name+"p") {
		t.Fatal(partition)
	}
	if found := StaleParts(o.Roots); len(found) > 0 {
		t.Errorf("a living process's: %v", found)
	}
	process.Kill()
	return device(t, o.Roots.filled(), disk.Name), o, partition
}

// A loop device keeps the partition of a killed process when it gets another file.
func TestStalePartOnAnotherFile(t *testing.T) {
	needs.Devices(t)
	_, o, partition := abandoned(t)
	record := o.Roots.filled().deadRecords()[0]
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), `"Sequence":`, `"Sequence":9`, 1)
	if err := os.WriteFile(record, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	found := StaleParts(o.Roots)
	if other == string(text) || !slices.Equal(staleNames(found), []string{partition}) {
		t.Fatalf("%v", found)
	}
	if err := found[0].Remove(o.Roots); err != nil || len(StaleParts(o.Roots)) > 0 {
		t.Error(err)
	}
}

// again makes the same partition, like another program.
func again(t *testing.T, disk Device) {
	t.Helper()
	node, err := os.Open(disk.Path)
	if err != nil {
		t.Fatal(err)
	}
	p := Part{disk: node, number: 1}
	_ = p.tell(unix.BLKPG_DEL_PARTITION, 0, 0)
	if err := p.tell(unix.BLKPG_ADD_PARTITION, 1<<20, 4<<20); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.tell(unix.BLKPG_DEL_PARTITION, 0, 0)
		_ = node.Close()
	})
}

func staleNames(found []StalePart) (out []string) {
	for _, s := range found {
		out = append(out, s.Name)
	}
	return out
}

// The partition of a killed process is found and removed, unless it is in use, also by a claim that
// may destroy the disk.
func TestStalePart(t *testing.T) {
	needs.Devices(t)
	disk, o, partition := abandoned(t)
	found := StaleParts(o.Roots)
	if !slices.Equal(staleNames(found), []string{partition}) || !strings.HasPrefix(found[0].String(), "partition "+partition+", 4M from byte 1048576 of "+disk.Path) {
		t.Fatalf("%v", found)
	}
	// The holder of the disk's lock decides.
	lock, err := lockFile(context.Background(), disk.disk, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := found[0].Remove(o.Roots); err == nil {
		t.Error("the partition of a locked disk was removed")
	}
	_ = lock.Close()
	run(t, "mkfs.ext4", "-q", "-F", "/dev/"+partition)
	dir := t.TempDir()
	if err := unix.Mount("/dev/"+partition, dir, "ext4", 0, ""); err != nil {
		t.Fatal(err)
	}
	err = found[0].Remove(o.Roots)
	if err == nil || !strings.Contains(err.Error(), "it is in use: it is mounted at "+dir) {
		t.Errorf("%v", err)
	}
	if _, err := Open(context.Background(), media.Storage{Kind: media.KindDevice, Path: disk.Path}, disk.IDs()[0], o); err == nil || !strings.Contains(err.Error(), "mounted at "+dir) {
		t.Errorf("%v", err)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	c, err := Open(context.Background(), media.Storage{Kind: media.KindDevice, Path: disk.Path}, disk.IDs()[0], o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // a loop device of ours
	if found := StaleParts(o.Roots); len(found) > 0 || len(c.device.Partitions) > 0 || has(disk.dir, partition) {
		t.Errorf("still there: %v", found)
	}
	p, err := c.Part(1<<20, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(o.Roots.Run); err != nil || len(left) != 1 || p.Close() != nil {
		t.Errorf("%v, %v", left, err)
	}
	if left, err := os.ReadDir(o.Roots.Run); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A partition that only resembles one of a killed process stays.
func TestForeignParts(t *testing.T) {
	needs.Devices(t)
	disk, o, partition := abandoned(t)
	record := o.Roots.filled().deadRecords()[0]
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(record, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Another program has made the same one in its place.
	found := StaleParts(o.Roots)
	again(t, disk)
	if err := found[0].Remove(o.Roots); err != nil || !has(disk.dir, partition) {
		t.Errorf("another one's was removed: %v", err)
	}
	write(string(text))
	if found := StaleParts(o.Roots); len(found) > 0 {
		t.Errorf("another one's: %v", found)
	}
	// The record of a process that was killed before it recorded the inode is believed if there is
	// no partition table.
	instant, _, ok := strings.Cut(string(text), `{"Node"`)
	if !ok {
		t.Fatalf("%s", text)
	}
	for name, other := range map[string]string{
		"boot":     strings.Replace(instant, o.Roots.filled().bootID(), "another", 1),
		"sequence": strings.Replace(instant, `"Sequence":`, `"Sequence":9`, 1),
		"number":   strings.Replace(instant, `"Number":1`, `"Number":2`, 1),
		"start":    strings.Replace(instant, `"Start":1048576`, `"Start":1049088`, 1),
		"length":   strings.Replace(instant, `"Length":4194304`, `"Length":4194816`, 1),
		"disk":     strings.Replace(instant, disk.Name, "sdzz", 1),
		"nothing":  "",
		"half":     instant[:len(instant)/2],
	} {
		write(other)
		if found := StaleParts(o.Roots); other == instant || len(found) > 0 {
			t.Errorf("of another %s: %v", name, found)
		}
	}
	write(instant)
	f, err := os.OpenFile(disk.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // synced by what reads it: the same cache
	if _, err := f.WriteAt([]byte("EFI PART"), 512); err != nil {
		t.Fatal(err)
	}
	found = StaleParts(o.Roots)
	if len(found) != 1 {
		t.Fatalf("%v", found)
	}
	if err := found[0].Remove(o.Roots); err == nil || !strings.Contains(err.Error(), "partition table; if it is: delpart "+disk.Path+" 1") || !has(disk.dir, partition) {
		t.Errorf("%v", err)
	}
	if _, err := f.WriteAt(make([]byte, 8), 512); err != nil {
		t.Fatal(err)
	}
	if err := found[0].Remove(o.Roots); err != nil || has(disk.dir, partition) {
		t.Errorf("%v", err)
	}
	if err := found[0].Remove(o.Roots); err != nil { // it is gone, and its record
		t.Error(err)
	}
}

// Records are believed only where no other user can have written them.
func TestRecordsOfOthers(t *testing.T) {
	r := Roots{Run: filepath.Join(t.TempDir(), "run")}.filled()
	t.Setenv("TMPDIR", t.TempDir())
	path, err := r.record(partRecord{Disk: "sdzz"})
	if err != nil || filepath.Dir(path) != r.Run {
		t.Fatal(path, err)
	}
	if err := os.Chmod(r.Run, 0o777); err != nil {
		t.Fatal(err)
	}
	path, err = r.record(partRecord{Disk: "sdzz"})
	if err != nil || filepath.Dir(filepath.Dir(path)) != os.TempDir() {
		t.Error(path, err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if path, err := r.record(partRecord{}); err == nil {
		t.Errorf("%s was believed", path)
	}

	// A record in a place where others can write is not believed either: with a dead process, it
	// would be used to remove a partition.
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("whichfs-%s-%d-%d-%d-1", partKind, self.PID, self.Start+1, self.Space) // its number is ours now
	if err := os.WriteFile(filepath.Join(r.Run, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if dead := r.deadRecords(); len(dead) != 0 {
		t.Errorf("%q are believed", dead)
	}
	if err := os.Chmod(r.Run, 0o755); err != nil {
		t.Fatal(err)
	}
	if dead := r.deadRecords(); len(dead) != 1 {
		t.Errorf("%q, and one was left", dead)
	}
}
