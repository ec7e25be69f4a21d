package workload_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine/usermode/usermodetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/workload"
)

// guestVariable is the guest's storage.
const guestVariable = "WHICHFS_TEST_GUEST"

func TestMain(m *testing.M) {
	disk := os.Getenv(guestVariable)
	if disk == "" {
		os.Exit(m.Run())
	}
	fmt.Println("others' modules:", strings.ReplaceAll(fmt.Sprint(othersStay(disk)), "\n", "; "))
}

// In a kernel with modules (a guest's) trials load and unload theirs, and modules loaded by others
// at the same time stay.
func TestModulesLoadedByOthersStay(t *testing.T) {
	screen := usermodetest.Play(t, labtest.Program(t, "whichfs/internal/target/workload"), "sim:free,256M", guestVariable+"=$disk /tmp/t </dev/null\n")
	if !strings.Contains(screen, "others' modules: <nil>\n") {
		t.Error(screen)
	}
}

// othersStay runs two trials of btrfs, while another process loads modules now and then.
func othersStay(disk string) error {
	ctx := context.Background()
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		return err
	}
	modules, err := workload.ReadModules("/", unix.ByteSliceToString(uname.Release[:]))
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "others-")
	if err != nil {
		return err
	}
	c, err := filesystem.Parse("btrfs -o compress=lzo")
	if err != nil {
		return err
	}
	another := func(words ...string) error {
		_, err := command.Run(ctx, command.Options{}, words...)
		return err
	}
	during := [][]string{{"modprobe", "brd", "rd_nr=1"}, {"modprobe", "mtdblock"}, nil, nil, nil}
	start, err := workload.LoadedModules()
	if err != nil {
		return err
	}
	for trial := range 2 {
		env := &workload.Env{Candidate: c, FS: c.Filesystem(), Device: disk, Name: filepath.Base(disk), Mount: work, Work: work, Modules: modules}
		for i, name := range []string{"module-load", "mkfs", "mount", "unmount"} {
			kind, _ := workload.ByName(name)
			err := env.Watch(func() error {
				job, err := kind.Setup(ctx, env, scenario.Step{Work: name, Phase: name})
				switch {
				case err != nil:
					return err
				case job.Absent != "":
					return errors.New(job.Absent) // the last trial's module is still there
				}
				if words := during[i]; trial == 0 && words != nil {
					err = another(words...)
				}
				err = errors.Join(err, job.Run(new(workload.Tally)))
				if job.After != nil {
					_, after := job.After()
					err = errors.Join(err, after)
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("%s of trial %d: %w", name, trial, err)
			}
		}
		if trial == 1 { // another program uses the trial's module, too
			if err := errors.Join(another("mount", disk, work), modules.Unload()); err != nil {
				return err
			}
			if now, err := workload.LoadedModules(); err != nil || now["btrfs"] == 0 {
				return fmt.Errorf("a module in use: %v, %w", now, err)
			}
			if err := another("umount", work); err != nil {
				return err
			}
		}
		if err := modules.Unload(); err != nil {
			return err
		}
	}
	now, err := workload.LoadedModules()
	if err != nil {
		return err
	}
	for name := range start {
		delete(now, name)
	}
	if got, want := slices.Sorted(maps.Keys(now)), []string{"brd", "mtd", "mtd_blkdevs", "mtdblock"}; !slices.Equal(got, want) {
		return fmt.Errorf("loaded after the trials are %v, and should be %v", got, want)
	}
	return nil
}
