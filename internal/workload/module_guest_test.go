package workload_test

import (
	"bytes"
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

	"whichfs/internal/command"
	"whichfs/internal/filesystem"
	"whichfs/internal/lab"
	"whichfs/internal/machine"
	"whichfs/internal/machine/qemu"
	"whichfs/internal/scenario"
	"whichfs/internal/workload"
)

const guestVariable = "WHICHFS_TEST_GUEST"

func TestMain(m *testing.M) {
	if os.Getenv(guestVariable) == "" {
		os.Exit(m.Run())
	}
	fmt.Println("others' modules:", strings.ReplaceAll(fmt.Sprint(othersStay()), "\n", "; "))
}

// In a kernel with modules (a guest's) trials load and unload theirs, and what
// others load at the same time stays.
func TestModulesOfOthersStay(t *testing.T) {
	if _, err := lab.Build(t.Context(), lab.Native(), nil); err != nil {
		t.Fatalf("%v\nthe same by hand: whichfs lab build", err)
	}
	dir := t.TempDir()
	agent, program := filepath.Join(dir, "whichfs-agent"), filepath.Join(dir, "workload.test")
	for _, words := range [][]string{{"build", "-o", agent, "whichfs/cmd/whichfs-agent"}, {"test", "-c", "-o", program, "whichfs/internal/workload"}} {
		if _, err := command.Run(t.Context(), command.Options{Env: []string{"CGO_ENABLED=0"}}, append([]string{"go"}, words...)...); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(machine.AgentVariable, agent)
	st, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	// The disk with the program is /dev/vdb, that of the storage comes behind it.
	script := fmt.Sprintf("head -c %d /dev/vdb > /tmp/t; chmod +x /tmp/t; %s=1 /tmp/t </dev/null\n", st.Size(), guestVariable)
	var screen bytes.Buffer
	spec := machine.Spec{Storage: "disk:256M", Work: dir, Data: []scenario.Data{{Name: "program", Kind: "tree", Path: program, Size: st.Size()}}}
	if err := qemu.Shell(t.Context(), strings.NewReader(script), &screen, spec); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ReplaceAll(screen.String(), "\r", ""), "\nothers' modules: <nil>\n") {
		t.Errorf("the same by hand: whichfs lab shell\n%s", screen.String())
	}
}

// othersStay is two trials of btrfs, in which somebody else loads a module now
// and then.
func othersStay() error {
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
	somebody := func(words ...string) error {
		_, err := command.Run(ctx, command.Options{}, words...)
		return err
	}
	during := [][]string{{"modprobe", "mtdram", "total_size=1024"}, {"modprobe", "zram"}, nil, nil, nil}
	start, err := workload.LoadedModules()
	if err != nil {
		return err
	}
	for trial := range 2 {
		env := &workload.Env{Candidate: c, FS: c.Filesystem(), Device: "/dev/vdc", Name: "vdc", Mount: work, Work: work, Modules: modules}
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
					err = somebody(words...)
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
		if trial == 1 { // somebody has come to use the trial's module, too
			if err := errors.Join(somebody("mount", "/dev/vdc", work), modules.Unload()); err != nil {
				return err
			}
			if now, err := workload.LoadedModules(); err != nil || now["btrfs"] == 0 {
				return fmt.Errorf("a module in use: %v, %w", now, err)
			}
			if err := somebody("umount", work); err != nil {
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
	if got, want := slices.Sorted(maps.Keys(now)), []string{"mtd", "mtdram", "zram", "zsmalloc"}; !slices.Equal(got, want) {
		return fmt.Errorf("loaded after the trials are %v, and should be %v", got, want)
	}
	return nil
}
