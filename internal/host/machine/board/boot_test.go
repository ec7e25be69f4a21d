package board_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
			load*) version=${line#*-};;
			go) echo 'Starting kernel ...'; echo "[    0.000000] Linux version ${version:-6.1}.99 (a board)"; cat "$1/started"; exec sleep 1000;;
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

// With several kernels it boots each of them in turn, and refuses one that is not what the file says.
func TestBootsKernels(t *testing.T) {
	t.Parallel()
	b := newBooted(t, nil, `boot_from = ["load {kernel}", "setenv bootargs {root}", "go"]
kernels = { "6.12" = "zImage-6.12", "6.1" = "zImage-6.1" }
`)
	b.write("stops", "2\n3\n4\n5\n")
	if d := b.boot(2); d.Outcome != result.Done || len(b.figures) != 2 || b.figures[0].Phase != "login 6.1" || b.figures[1].Phase != "login 6.12" {
		t.Fatalf("%+v, %+v", d, b.figures)
	}
	for _, f := range b.figures {
		for _, one := range f.Measurements {
			if one.Metric == result.BootRepeats && one.Value != 2 {
				t.Errorf("%+v", one)
			}
		}
	}
	if got := regexp.MustCompile(`zImage\S+`).FindAllString(b.typed(), -1); strings.Join(got, " ") != "zImage-6.1 zImage-6.12 zImage-6.1 zImage-6.12" {
		t.Errorf("%q", got)
	}
	must.Do(t, b.session.Close())
	b = newBooted(t, nil, `boot_from = ["load {kernel}", "setenv bootargs {root}", "go"]
kernels = { "5.10" = "zImage-6.1" }
`)
	b.write("stops", "2\n")
	if d := b.boot(1); d.Outcome != result.Refused || !strings.Contains(d.Reason, "calls kernel 5.10 says that it is 6.1.99") {
		t.Errorf("%+v", d)
	}
	must.Do(t, b.session.Close())
}

// So does one that is reached by ssh, and has its boot loader on a console.
func TestBootsBesideSSH(t *testing.T) {
	t.Parallel()
	testBoots(t, boardtest.Start(t, boardtest.Options{}))
}

// toBoot is a board that plays its boots.
type toBoot struct {
	t       *testing.T
	dir     string
	console *boardtest.Console
	disk    string
	session machine.Session
	figures []wire.Figures // of the last boots
}

// newBooted starts a session of a board with a console, of which beside is the way by ssh; nil: there is none. The lines are in
// its section boot_loader.
func newBooted(t *testing.T, beside *boardtest.Board, lines string) *toBoot {
	t.Helper()
	b := &toBoot{t: t, dir: t.TempDir(), disk: loop(t)}
	b.console = boardtest.StartConsole(t, boardtest.ConsoleOptions{Shell: []string{"bash", "-c", loader, "bash", b.dir}})
	connect := fmt.Sprintf("connect = %q\n", b.console.Name)
	o := installed(t)
	o.Agent = o.Installed
	if beside != nil {
		connect = fmt.Sprintf("connect = %q\nconsole = %q\n", beside.Name, b.console.Name)
		o.Config = beside.Config
	}
	b.write("stops", "")
	b.write("started", "init\r\nlab\r\n\r\nlab login: ")
	b.write("board.toml", fmt.Sprintf("%soff_seconds = 0\nstorage = %q\n%s[boot_loader]\nprompt = \"=> \"\n%s", connect, b.disk, b.console.Power(), lines))
	m, err := board.New(filepath.Join(b.dir, "board.toml"), o)
	must.Do(t, err)
	list, err := m.List(t.Context())
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	i := slices.IndexFunc(list, func(d wire.Device) bool { return d.Path == b.disk })
	if b.session, err = m.Start(t.Context(), machine.Spec{Storage: b.disk, Destroy: list[i].ID, Data: machinetest.Data(t)}); err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	t.Cleanup(func() { _ = b.session.Close() })
	return b
}

func (b *toBoot) write(name, text string) {
	b.t.Helper()
	must.Do(b.t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644))
}

func (b *toBoot) typed() string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "typed"))
	must.Do(b.t, err)
	return string(text)
}

func (b *toBoot) boot(repeats int) wire.Done {
	b.t.Helper()
	b.figures = nil
	d, err := b.session.(machine.Booter).Boot(b.t.Context(), machine.Boot{Candidate: parsed.Candidate("ext4 -o commit=9"), Repeats: repeats},
		machine.Events{Figures: func(f wire.Figures) { b.figures = append(b.figures, f) }})
	if err != nil {
		b.t.Fatal(machinetest.Explain(err))
	}
	return d
}

// testBoots boots a board with a console, of which beside is the way by ssh; nil: there is none.
func testBoots(t *testing.T, beside *boardtest.Board) {
	b := newBooted(t, beside, "boot_from = [\"setenv bootargs {root}\", \"go\"]\n")
	b.write("stops", "2\n3\n")
	if d := b.boot(2); d.Outcome != result.Done || len(b.figures) != 1 || !strings.HasPrefix(b.figures[0].Phase, "login ") {
		t.Fatalf("%+v, %+v", d, b.figures)
	}
	got := map[string]float64{}
	for _, one := range b.figures[0].Measurements {
		got[one.Metric] = one.Value
	}
	if notes := b.figures[0].Notes; got[result.BootInit] <= 0 || got[result.BootLogin] < got[result.BootInit] || got[result.BootRepeats] != 2 || !strings.Contains(notes[0].Text, "kernel 6.1.99") {
		t.Errorf("%v, %+v", got, notes)
	}
	each := "setenv bootargs root=" + b.disk + " rootfstype=ext4 rootflags=commit=9 ro rootwait init=/busybox -- init\ngo\n"
	if typed := b.typed(); typed != each+each {
		t.Errorf("%s was typed, and not\n%s", typed, each+each)
	}
	if _, err := b.session.Support(t.Context(), parsed.Candidates("ext4")); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
	if beside != nil {
		must.Do(t, b.session.Close())
		nothingLeft(t, beside)
		return
	}
	b.write("stops", "5\n")
	b.write("started", "[    1.000000] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(7,0)\r\n")
	if d := b.boot(1); d.Outcome != result.Unsupported || !strings.Contains(d.Reason, "cannot mount it: ") || d.Hint == "" {
		t.Errorf("%+v", d)
	}
	must.Do(t, b.session.Close())
	nothingLeft(t, b.console)
}
