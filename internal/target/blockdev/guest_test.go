package blockdev_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine/usermode/usermodetest"
	"whichfs/internal/result"
	"whichfs/internal/target/blockdev"
	"whichfs/internal/target/workload"
)

// The lab has a device mapper: these checks run in a guest, as root, in this order.
var checks = []struct {
	name  string
	check func() error
}{
	{"modules", checkModules},
	{"log", checkLog},
	{"log of a filesystem", checkLogOfFilesystem},
	{"log that does not fit", checkShortLog},
	{"modes", checkModes},
	{"modes in use", checkModesInUse},
	{"close in use", checkCloseInUse},
	{"close after errors", checkHalfway},
	{"spots", checkSpots},
	{"spoilt", checkSpoilt},
	{"unreadable", checkUnreadable},
}

// oldKernel is a test for which a guest's kernel takes another path than most current kernels.
const oldKernel = "TestDropLeavesNothing"

func TestDeviceMapperInGuest(t *testing.T) {
	screen := usermodetest.Play(t, labtest.Program(t, "whichfs/internal/target/blockdev"), "sim:free,1M",
		helperVariable+"=guest /tmp/t </dev/null\nmodprobe loop; /tmp/t -test.run '^"+oldKernel+"$' -test.v </dev/null\n")
	lines := strings.Split(screen, "\n")
	for _, c := range checks {
		found := false
		for _, line := range lines {
			if text, ok := strings.CutPrefix(line, "check "+c.name+": "); ok {
				found = true
				if text != "<nil>" {
					t.Errorf("%s: %s", c.name, text)
				}
			}
		}
		if !found {
			t.Errorf("%s: not run", c.name)
		}
	}
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "--- PASS: "+oldKernel+" ") }) {
		t.Errorf("%s: not passed", oldKernel)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("%s", screen)
	}
}

// inGuest runs the checks. Whatever they do, nothing may be left.
func inGuest() {
	for _, c := range checks {
		err := c.check()
		if left := leftovers(); left != "" {
			err = errors.Join(err, errors.New("left behind: "+left))
		}
		fmt.Printf("check %s: %s\n", c.name, strings.ReplaceAll(fmt.Sprint(err), "\n", "; "))
	}
}

func leftovers() string {
	left := loops("whichfs-")
	mapped, _ := filepath.Glob("/sys/block/dm-*")
	return strings.Join(append(left, mapped...), " ")
}

// ownModules are the modules of the guest's kernel.
func ownModules() (*workload.Modules, error) {
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		return nil, err
	}
	return workload.ReadModules("/", unix.ByteSliceToString(uname.Release[:]))
}

func checkModules() error {
	modules, err := ownModules()
	if err != nil {
		return err
	}
	err = workload.LoadFor(nil, "loop")
	for _, step := range []struct{ load, lacks string }{
		{"", "this kernel has no loop devices"},
		{"loop", "this kernel has no device mapper"},
		{"dm-mod", "this kernel has no device mapper target log-writes"},
		{"dm-log-writes", "this kernel has no device mapper target flakey"},
	} {
		var f *result.Failure
		if step.load != "" {
			err = errors.Join(err, workload.LoadFor(modules, step.load))
		}
		if l := blockdev.Missing(); !errors.As(l, &f) || f.Outcome != result.Unsupported || !strings.Contains(f.Reason, step.lacks) || f.Hint == "" {
			err = errors.Join(err, fmt.Errorf("with %s: %v, want %s", step.load, l, step.lacks))
		}
	}
	for range 2 { // what is loaded already is fine
		err = errors.Join(err, workload.LoadFor(modules, blockdev.Needs()...), blockdev.Missing())
	}
	return err
}
