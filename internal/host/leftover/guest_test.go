package leftover_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/leftover"
	"whichfs/internal/host/machine/usermode/usermodetest"
	"whichfs/internal/plan/media"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/owner"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/target/storage"
)

const (
	variable     = "WHICHFS_TEST_HELPER"
	diskVariable = "WHICHFS_TEST_DISK"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(variable) {
	case "":
		os.Exit(m.Run())
	case "holder":
		if err = hold(); err == nil {
			fmt.Println("held")
			_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		}
	case "guest":
		fmt.Println("leftovers:", strings.ReplaceAll(fmt.Sprint(inGuest()), "\n", "; "))
	}
	if err != nil {
		fmt.Println(err)
	}
}

// In a guest, whose kernel has a device mapper, kill a process that holds one
// item of each kind, next to items of a living process and of other programs.
func TestLeftovers(t *testing.T) {
	screen := usermodetest.Play(t, labtest.Program(t, "whichfs/internal/host/leftover"), "sim:free,64M",
		"modprobe -a loop dm-mod dm-log-writes dm-flakey\n"+diskVariable+"=$disk "+variable+"=guest /tmp/t </dev/null\n")
	if !strings.Contains(screen, "leftovers: <nil>\n") {
		t.Error(screen)
	}
}

const work = "/tmp/work"

// disk is the guest's storage.
var disk = os.Getenv(diskVariable)

// hold makes one of each kind.
func hold() error {
	under, err := blockdev.NewDisk(64 << 20)
	if err != nil {
		return err
	}
	faulty, err := blockdev.NewFaulty(under, blockdev.Spot{})
	if err != nil {
		return err
	}
	top, err := onTop(faulty.Name(), under.Size())
	if err != nil {
		return err
	}
	other, err := blockdev.NewDisk(16 << 20)
	if err != nil {
		return err
	}
	if _, err := blockdev.Record(other, 16<<20); err != nil {
		return err
	}
	if err := run("mkfs.ext4", "-q", top); err != nil {
		return err
	}
	spec, err := media.Parse(disk)
	if err != nil {
		return err
	}
	id, err := identity(disk)
	if err != nil {
		return err
	}
	claim, err := storage.Open(context.Background(), spec, id, storage.Options{})
	if err != nil {
		return err
	}
	if _, err := claim.Part(1<<20, 8<<20); err != nil {
		return err
	}
	dir, _, err := owner.Dir(work, "agent")
	if err != nil {
		return err
	}
	return unix.Mount("whichfs", dir, "tmpfs", 0, "")
}

func identity(path string) (string, error) {
	all, err := storage.List(context.Background(), storage.System)
	for _, l := range all {
		if l.Path == path {
			return l.ID, err
		}
	}
	return "", errors.Join(err, fmt.Errorf("%s is not listed", path))
}

func run(words ...string) error {
	_, err := command.Run(context.Background(), command.Options{Env: []string{"DM_DISABLE_UDEV=1"}}, words...)
	return err
}

// onTop makes a device on top of one of ours, named as another of the same process, and returns its path.
func onTop(below string, size int64) (string, error) {
	of := func(what string) string {
		text, _ := os.ReadFile(filepath.Join("/sys/block", below, "dm", what))
		return strings.TrimSpace(string(text)) + "9"
	}
	return "/dev/mapper/" + of("name"), run("dmsetup", "create", of("name"), "--uuid", of("uuid"), "--table", fmt.Sprintf("0 %d linear /dev/%s 0", size/512, below))
}

// foreign makes items that resemble ours but are not, or that belong to this
// living process. All of them must remain.
func foreign(dead string) (stay func() error, err error) {
	file := filepath.Join(work, strings.Replace(dead, "mapped", "loop", 1)) // named like ours
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		return nil, err
	}
	r, err := command.Run(context.Background(), command.Options{}, "losetup", "--find", "--show", file)
	if err != nil {
		return nil, err
	}
	device := strings.TrimSpace(r.Stdout)
	dirs := []string{filepath.Join(work, "whichfs-agent-123"), filepath.Join(work, strings.Replace(dead, "mapped", "agent", 1)+"x")}
	err = errors.Join(
		os.Remove(file), // or they would count as our files
		os.Mkdir(dirs[0], 0o700), os.Mkdir(dirs[1], 0o700),
		run("dmsetup", "create", dead, "--table", "0 100 zero"), // no uuid
		run("dmsetup", "create", "theirs", "--uuid", "OTHER-"+dead, "--table", "0 100 zero"),
		run("addpart", disk, "9", "40960", "2048"),
		run("mount", "-t", "tmpfs", "whichfs", dirs[0]),
	)
	if err != nil {
		return nil, err
	}
	under, err := blockdev.NewDisk(16 << 20)
	if err != nil {
		return nil, err
	}
	ours, err := blockdev.NewFaulty(under, blockdev.Spot{})
	if err != nil {
		return nil, err
	}
	dir, _, err := owner.Dir(work, "agent")
	if err != nil {
		return nil, err
	}
	return func() error {
		for _, path := range append(dirs, dir, device, under.Path(), ours.Path(), "/dev/mapper/theirs", "/dev/mapper/"+dead, filepath.Join("/sys/block", filepath.Base(disk), filepath.Base(disk)+"9")) {
			if _, err := os.Stat(path); err != nil {
				return err
			}
		}
		return errors.Join(run("umount", dirs[0]), run("losetup", "-d", device), run("dmsetup", "remove", dead), run("dmsetup", "remove", "theirs"),
			run("delpart", disk, "9"), ours.Close(), under.Close())
	}, nil
}

func inGuest() error {
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	in, _, err := os.Pipe()
	if err != nil {
		return err
	}
	said, out, err := os.Pipe()
	if err != nil {
		return err
	}
	p, err := command.Start(command.Options{Stdin: in, Stdout: out, Env: []string{variable + "=holder"}}, os.Args[0])
	if err != nil {
		return err
	}
	defer p.Kill()
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "held\n" {
		return fmt.Errorf("%q, %v", line, err)
	}
	if found, err := leftover.Find(work); err != nil || len(found) > 0 {
		return fmt.Errorf("of a living process: %v, %w", found, err)
	}
	mapped := devices(fmt.Sprintf("WHICHFS-mapped-%d-", p.Pid()))
	if len(mapped) != 3 {
		return fmt.Errorf("mapped are %v", mapped)
	}
	name, err := os.ReadFile("/sys/block/" + mapped[0] + "/dm/name")
	if err != nil {
		return err
	}
	stay, err := foreign(strings.TrimSpace(string(name)) + "0")
	if err != nil {
		return err
	}
	p.Kill()
	found, err := leftover.Find(work)
	if err != nil {
		return err
	}
	// The mount, the devices on top of others, the other devices, the
	// partition, two disks and the log's, the directory.
	want := []string{"what is mounted at " + work + "/whichfs-agent-", "device mapper device dm-", "device mapper device dm-", "device mapper device dm-", "partition " + filepath.Base(disk) + "1, 8M ",
		"loop device loop", "loop device loop", "loop device loop", "directory " + work + "/whichfs-agent-"}
	if !slices.EqualFunc(found, want, func(i leftover.Item, begin string) bool { return strings.HasPrefix(i.What, begin) }) {
		return fmt.Errorf("found %v", found)
	}
	if err := inUse(found); err != nil {
		return err
	}
	for _, i := range found {
		if err := i.Remove(); err != nil {
			return fmt.Errorf("%s: %w", i.What, err)
		}
	}
	if found, err := leftover.Find(work); err != nil || len(found) > 0 {
		return fmt.Errorf("still there: %v, %w", found, err)
	}
	records, err := os.ReadDir("/run/whichfs")
	if left := devices(fmt.Sprintf("WHICHFS-mapped-%d-", p.Pid())); err != nil || len(left)+len(records) > 0 {
		return fmt.Errorf("still there: %v %v, %w", left, records, err)
	}
	return stay()
}

// inUse mounts the device on top of another: all three must stay, and the
// error must name the user.
func inUse(found []leftover.Item) error {
	i := slices.IndexFunc(found, func(i leftover.Item) bool {
		device, _, _ := strings.Cut(strings.TrimPrefix(i.What, "device mapper device "), " ")
		return run("mount", "/dev/"+device, "/mnt") == nil
	})
	if i < 0 {
		return errors.New("none of the devices has the filesystem")
	}
	err := found[i].Remove()
	if err == nil || err.Error() != "it is in use: it is mounted at /mnt (ext4)" {
		return fmt.Errorf("removing %s: %w", found[i].What, err)
	}
	if now, err := leftover.Find(work); err != nil || len(now) != len(found) {
		return fmt.Errorf("%d instead of %d, %w", len(now), len(found), err)
	}
	return run("umount", "/mnt")
}

func devices(uuid string) (names []string) {
	all, _ := filepath.Glob("/sys/block/dm-*/dm/uuid")
	for _, path := range all {
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), uuid) {
			names = append(names, filepath.Base(filepath.Dir(filepath.Dir(path))))
		}
	}
	return names
}
