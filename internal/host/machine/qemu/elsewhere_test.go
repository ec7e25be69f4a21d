package qemu

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/lab/virtual"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/sys/cache"
	"whichfs/internal/testing/must"
)

var digestLine = regexp.MustCompile(`(?m)^digest +([0-9a-f]{16})\r?$`)

// The virtual lab has the same figures, also with the times of a processor, on a machine with another one, an old one without AVX,
// XSAVE and the rest, and with another kernel: whichfs runs there as it does here.
func TestVirtualLabElsewhere(t *testing.T) {
	t.Parallel()
	m := theLab(t, Options{})
	labtest.Counting(t)
	bin, err := filepath.Abs(cmp.Or(os.Getenv("WHICHFS_BIN"), "../../../../bin"))
	must.Do(t, err)
	run := []string{"run", "bootlin-2023", "--quick", "--clock", "virtual", "--rounds", "1", "--cpu", "600MIPS", "--candidates", "ext4; squashfs -comp lzo", "--data"}

	// Another machine has the programs, the lab and the data of this one.
	tree, image := t.TempDir(), filepath.Join(t.TempDir(), "machine.erofs")
	data := smallData(t)
	here, err := exec.Command(filepath.Join(bin, "whichfs"), append(run, data, "--store", filepath.Join(t.TempDir(), "runs.db"))...).Output()
	must.Do(t, err)
	copies := map[string]string{filepath.Join(bin, "whichfs"): "whichfs", filepath.Join(bin, "whichfs-agent"): "whichfs-agent", data: "data"}
	own, err := cache.Dir()
	must.Do(t, err)
	img, err := lab.Locate(lab.Native())
	must.Do(t, err)
	kernel, err := virtual.Locate(virtual.Choice{Counting: true})
	must.Do(t, err)
	for _, dir := range []string{img.Dir, kernel.Dir} {
		below, err := filepath.Rel(own, dir)
		must.Do(t, err)
		copies[dir] = filepath.Join("cache", below)
	}
	for from, to := range copies {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, to)), 0o755))
		must.Do(t, exec.Command("cp", "-r", from, filepath.Join(tree, to)).Run())
	}
	must.Do(t, lab.MakeErofs(t.Context(), tree, image))
	st, err := os.Stat(image)
	must.Do(t, err)

	h, err := m.host(t.Context(), lab.Native())
	must.Do(t, err)
	emulated := *h
	emulated.kvm = false
	script := `mkdir -p /dev/shm /dev/pts /tmp/machine /tmp/writes
mount -t tmpfs tmpfs /dev/shm; chmod 1777 /dev/shm; mount -t devpts devpts /dev/pts
mount -t erofs /dev/vdb /mnt && mount -t tmpfs tmpfs /tmp/writes && mkdir /tmp/writes/upper /tmp/writes/work
mount -t overlay -o lowerdir=/mnt,upperdir=/tmp/writes/upper,workdir=/tmp/writes/work overlay /tmp/machine
grep -m1 'model name' /proc/cpuinfo
WHICHFS_CACHE=/tmp/machine/cache /tmp/machine/whichfs '` + strings.Join(run, "' '") + "' /mnt/data --store /tmp/runs.db 2>&1 | grep -v '^\\['\n"
	var screen strings.Builder
	spec := machine.Spec{Storage: "ram:16M", Memory: 3 << 30, Work: t.TempDir(), Data: []scenario.Data{{Name: "machine", Kind: "tree", Path: image, Size: st.Size()}}}
	must.Do(t, m.shell(t.Context(), &emulated, strings.NewReader(script), &screen, spec, "-cpu", "Nehalem"))
	want, got := digestLine.FindSubmatch(here), digestLine.FindStringSubmatch(screen.String())
	if want == nil || got == nil || string(want[1]) != got[1] {
		t.Errorf("here\n%s\non another machine\n%s", here, screen.String())
	}
}

// smallData is a tree of a few files, since an emulated machine is slow.
func smallData(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for n := range 8 {
		must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), bytes.Repeat([]byte(fmt.Sprintln("line", n)), 1000*n), 0o644))
	}
	return dir
}
