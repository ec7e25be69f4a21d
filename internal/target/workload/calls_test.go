package workload

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/target/kmod"
	"whichfs/internal/testing/golden"
)

// The requests of a filesystem's trial to a machine (module files, the tool's words, the arguments
// of mount(2)) are recorded for filesystems without a driver in any kernel here: through the
// study's own scenario, with the functions from which the work itself gets its arguments.
func TestCalls(t *testing.T) {
	for _, candidate := range []string{"yaffs2 -o no-cache,noatime", "logfs -c"} {
		c, err := filesystem.Parse(candidate)
		if err != nil {
			t.Fatal(err)
		}
		m := moduleTree(t)
		m.deps["mtdblock"] = []string{"kernel/drivers/mtd/mtdblock.ko", "kernel/drivers/mtd/mtd_blkdevs.ko"}
		m.deps["mtd_blkdevs"] = []string{"kernel/drivers/mtd/mtd_blkdevs.ko"}
		if err := m.Give(givenModule(c.FS, "mtd"), kmod.Kernel{Release: testRelease}, nil); err != nil {
			t.Fatal(err)
		}
		env := &Env{Candidate: c, FS: c.Filesystem(), Modules: m, Device: "/dev/mtd3", Name: "mtd3", Mount: "/run/mnt", Raw: true}
		env.Way, _ = c.OnFlash()
		st := study.Bootlin2010()
		scale := st.Scales["full"]
		var b strings.Builder
		for _, step := range st.Scenario(env.FS.ReadOnly, scale) {
			for _, call := range calls(t, env, step) {
				fmt.Fprintf(&b, "%s: %s\n", step.Work, call)
			}
		}
		golden.Check(t, c.FS+".calls", b.String())
	}
}

// calls are the requests of a step to the machine. Work with files is the same for every
// filesystem, and UBI is not below these.
func calls(t *testing.T, env *Env, step scenario.Step) []string {
	t.Helper()
	switch step.Work {
	case Discard.Name:
		return []string{"erase " + env.Device}
	case ModuleLoad.Name:
		var out []string
		for _, f := range env.driverFiles() {
			out = append(out, "finit_module "+strings.TrimPrefix(filepath.Join(env.Modules.Dir, f), env.Modules.Dir+"/"))
		}
		return out
	case Mkfs.Name:
		job, err := Mkfs.Setup(t.Context(), env, step)
		if err != nil {
			t.Fatal(err)
		}
		if job.Absent != "" {
			return []string{"nothing: " + job.Absent}
		}
		return []string{strings.Join(env.FS.Make(env.Candidate, env.node()), " ")}
	case Mount.Name:
		source, err := env.source()
		if err != nil {
			t.Fatal(err)
		}
		flags, data := filesystem.MountFlags(env.mountOptions())
		return []string{fmt.Sprintf("mount(%q, %q, %q, %#x, %q)", source, env.Mount, env.FS.Name, flags, data)}
	case Unmount.Name:
		return []string{fmt.Sprintf("umount2(%q, 0)", env.Mount)}
	case Space.Name:
		return []string{fmt.Sprintf("statfs(%q)", env.Mount)}
	case LayerLoad.Name:
		job, err := LayerLoad.Setup(t.Context(), env, step)
		if err != nil {
			t.Fatal(err)
		}
		return []string{"nothing: " + job.Absent}
	case LayerDown.Name:
		return []string{"delete_module of all that came"}
	}
	return nil
}
