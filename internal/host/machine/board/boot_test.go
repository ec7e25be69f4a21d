package board_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
	"whichfs/internal/wire"
)

// loader plays a boot loader that counts down, and the console of what it starts. The file $1/starts says
// how often it was started so far, and $1/stops at which starts it waits for a key.
const loader = `
	echo x >>"$1/starts"; n=$(wc -l <"$1/starts"); stty -echo
	printf 'Hit any key to stop autoboot:  2 '
	if grep -qx $n "$1/stops" && read -r -s -n 1 key; then
		printf '\n=> '
		while read -r line; do
			printf '%s\n' "$line" | tee -a "$1/typed"
			case "$line" in
			go) echo 'Starting kernel ...'; echo '[    0.000000] Linux version 6.1.99 (a board)'; cat "$1/started"; exec sleep 1000;;
			esac
			printf '=> '
		done
	fi
	stty echo; exec busybox sh -i`

// loop is a device of 64 MiB, which ends with the test.
func loop(t *testing.T) (path string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	must.Do(t, os.Truncate(file, 64<<20))
	r, err := command.Run(t.Context(), command.Options{}, "losetup", "--find", "--show", file)
	must.Do(t, err)
	path = strings.TrimSpace(r.Stdout)
	t.Cleanup(func() { _, _ = command.Run(context.Background(), command.Options{}, "losetup", "-d", path) })
	return path
}

// A board boots from the filesystem under test as its boot loader is told to, and then its own system.
func TestBoots(t *testing.T) {
	t.Parallel()
	testBoots(t, nil)
}

// So does one that is reached by ssh, and has its boot loader on a console.
func TestBootsBesideSSH(t *testing.T) {
	t.Parallel()
	testBoots(t, boardtest.Start(t, boardtest.Options{}))
}

// testBoots boots a board with a console, of which beside is the way by ssh; nil: there is none.
func testBoots(t *testing.T, beside *boardtest.Board) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("stops", "2\n3\n")
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{Shell: []string{"bash", "-c", loader, "bash", dir}})
	disk := loop(t)
	connect := fmt.Sprintf("connect = %q\n", c.Name)
	o := installed(t)
	o.Agent = o.Installed
	if beside != nil {
		connect = fmt.Sprintf("connect = %q\nconsole = %q\n", beside.Name, c.Name)
		o.Config = beside.Config
	}
	file := connect + fmt.Sprintf("off_seconds = 0\nstorage = %q\npower = [", disk)
	for _, word := range c.Switch() {
		file += fmt.Sprintf("%q,", word)
	}
	write("board.toml", file+"]\n[boot_loader]\nprompt = \"=> \"\nboot_from = [\"setenv bootargs {root}\", \"go\"]\n")
	m, err := board.New(filepath.Join(dir, "board.toml"), o)
	must.Do(t, err)
	list, err := m.List(t.Context())
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	i := slices.IndexFunc(list, func(d wire.Device) bool { return d.Path == disk })
	s, err := m.Start(t.Context(), machine.Spec{Storage: disk, Destroy: list[i].ID, Data: machinetest.Data(t)})
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	write("started", "init\r\nlab\r\n\r\nlab login: ")
	var f wire.Figures
	boot := func(repeats int) wire.Done {
		t.Helper()
		d, err := s.(machine.Booter).Boot(t.Context(), machine.Boot{Candidate: parsed.Candidate("ext4 -o commit=9"), Repeats: repeats}, machine.Events{Figures: func(all wire.Figures) { f = all }})
		if err != nil {
			t.Fatal(machinetest.Explain(err))
		}
		return d
	}
	if d := boot(2); d.Outcome != result.Done || !strings.HasPrefix(f.Phase, "login ") {
		t.Fatalf("%+v, %+v", d, f)
	}
	got := map[string]float64{}
	for _, one := range f.Measurements {
		got[one.Metric] = one.Value
	}
	if got[result.BootInit] <= 0 || got[result.BootLogin] < got[result.BootInit] || got[result.BootRepeats] != 2 || !strings.Contains(f.Notes[0].Text, "kernel 6.1.99") {
		t.Errorf("%v, %+v", got, f.Notes)
	}
	typed, err := os.ReadFile(filepath.Join(dir, "typed"))
	must.Do(t, err)
	each := "setenv bootargs root=" + disk + " rootfstype=ext4 rootflags=commit=9 ro rootwait init=/busybox -- init\ngo\n"
	if string(typed) != each+each {
		t.Errorf("%s was typed, and not\n%s", typed, each+each)
	}
	if _, err := s.Support(t.Context(), parsed.Candidates("ext4")); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
	if beside != nil {
		must.Do(t, s.Close())
		nothingLeft(t, beside)
		return
	}
	write("stops", "5\n")
	write("started", "[    1.000000] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(7,0)\r\n")
	if d := boot(1); d.Outcome != result.Unsupported || !strings.Contains(d.Reason, "cannot mount it: ") || d.Hint == "" {
		t.Errorf("%+v", d)
	}
	must.Do(t, s.Close())
	nothingLeft(t, c)
}
