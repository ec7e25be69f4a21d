package board_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine/board"
	"whichfs/internal/host/machine/board/boardtest"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// client plays labgrid-client with one place, b1, and says what that of labgrid 26.0.1 says. The directory
// beside it has the state of the coordinator: holder, who has the place; env, its resources; gone, if there is no
// coordinator; calls, what was asked.
const client = `#!/bin/sh
dir=${0%/*}
me=${LG_HOSTNAME:-here}/${LG_USERNAME:-me}
[ "$1" = -p ] || exit 9
place=$2; shift 2
echo "$me $*" >>"$dir/calls"
fail() { echo "labgrid-client: Error: $1" >&2; exit 1; }
if [ -e "$dir/gone" ]; then
	echo "ERROR              root: coordinator is unavailable: failed to connect to all addresses" >&2
	echo "Server error: Error: Could not connect to coordinator" >&2
	exit 1
fi
[ "$place" = b1 ] || fail "place pattern $place matches nothing"
holder=$(cat "$dir/holder")
ours() {
	[ -n "$holder" ] || fail "place b1 is not acquired"
	[ "$holder" = "$me" ] || fail "place b1 is not acquired by your user, acquired by ${holder#*/}. To work simultaneously, ${holder#*/} can execute labgrid-client -p b1 allow $me"
}
case $1 in
acquire)
	[ -z "$holder" ] || fail "Place b1 is already acquired by $holder. To work simultaneously, ${holder#*/} can execute 'labgrid-client -p b1 allow $me' on ${holder%/*}."
	echo "$me" >"$dir/holder"; echo "acquired place b1";;
release-from)
	[ -n "$holder" ] || fail "place b1 is not acquired"
	[ "$holder" != "$2" ] || : >"$dir/holder"
	echo "$2 has released place b1";;
env) ours; cat "$dir/env"; echo;;
power)
	ours
	grep -q NetworkPowerPort "$dir/env" || fail "target has no compatible resource available";;
*) exit 9;;
esac
`

// office is a coordinator with its client.
type office struct {
	t   *testing.T
	dir string
}

// openOffice puts the client into PATH, so the test cannot be parallel.
func openOffice(t *testing.T, resources ...string) office {
	t.Helper()
	needs.Devices(t)
	o := office{t, t.TempDir()}
	o.write("env", "targets:\n  b1:\n    resources:\n"+strings.Join(resources, ""))
	o.write("holder", "")
	must.Do(t, os.WriteFile(filepath.Join(o.dir, "labgrid-client"), []byte(client), 0o755))
	t.Setenv("PATH", o.dir+":"+os.Getenv("PATH"))
	t.Setenv("LG_HOSTNAME", "here")
	t.Setenv("LG_USERNAME", "me")
	return o
}

const (
	overSSH = "    - NetworkService:\n        address: board\n        username: root\n        port: 22\n"
	relay   = "    - NetworkPowerPort:\n        index: 1\n        model: rest\n        host: http://127.0.0.1:18080/relay/{index}\n"
)

func (o office) write(name, text string) {
	o.t.Helper()
	must.Do(o.t, os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o644))
}

func (o office) read(name string) string {
	o.t.Helper()
	text, err := os.ReadFile(filepath.Join(o.dir, name))
	must.Do(o.t, err)
	return strings.TrimSpace(string(text))
}

// machine is that of the place.
func (o office) machine(say func(string)) *board.Machine {
	o.t.Helper()
	m, err := board.New("labgrid:b1", board.Options{Progress: say})
	must.Do(o.t, err)
	return m
}

// A place is acquired for all sessions under a name of its own, and given back; one that somebody else has is left
// alone, and one that the user has stays theirs.
func TestLabgrid(t *testing.T) {
	o := openOffice(t, relay, overSSH)
	var said []string
	say := func(text string) { said = append(said, text) }
	m := o.machine(say)
	for range 2 {
		must.Do(t, m.Acquire(t.Context()))
		if holder := o.read("holder"); !strings.HasPrefix(holder, "here/me.whichfs-") {
			t.Errorf("%q has the place during a run", holder)
		}
	}
	all := strings.Join(said, "\n")
	if strings.Count(all, "acquiring labgrid:b1") != 1 || !strings.Contains(all, "labgrid:b1 is reached by ssh root@board, its power is switched by labgrid (NetworkPowerPort)") {
		t.Error(all)
	}
	for range 2 {
		must.Do(t, m.GiveBack())
	}
	if holder := o.read("holder"); holder != "" {
		t.Errorf("%q has the place afterwards", holder)
	}
	for _, other := range []string{"there/other", "here/me.whichfs-abcdefgh"} {
		o.write("holder", other)
		wants(t, m.Acquire(t.Context()), result.Refused, "place b1 of labgrid is not free", "already acquired by "+other, "labgrid-client places")
		must.Do(t, m.GiveBack())
		if holder := o.read("holder"); holder != other {
			t.Errorf("%q has the place of %s", holder, other)
		}
	}
	o.write("holder", "here/me")
	said = nil
	m = o.machine(say)
	must.Do(t, m.Acquire(t.Context()))
	if all := strings.Join(said, "\n"); !strings.Contains(all, "it was acquired before, and stays so") {
		t.Error(all)
	}
	must.Do(t, m.GiveBack())
	if holder := o.read("holder"); holder != "here/me" {
		t.Errorf("%q has the place of the user", holder)
	}
}

// A coordinator that goes away, forgets or gives the place to another is noticed when it is next needed.
func TestLabgridLost(t *testing.T) {
	o := openOffice(t, overSSH, relay)
	m := o.machine(nil)
	gone := filepath.Join(o.dir, "gone")
	o.write("gone", "")
	wants(t, m.Acquire(t.Context()), result.LabFailed, "the coordinator of labgrid cannot be reached", "export LG_COORDINATOR=HOST:PORT")
	must.Do(t, os.Remove(gone))
	must.Do(t, m.Acquire(t.Context()))
	first := o.read("holder")
	o.write("holder", "")
	must.Do(t, m.Acquire(t.Context()))
	if again := o.read("holder"); again == first || !strings.HasPrefix(again, "here/me.whichfs-") {
		t.Errorf("%q has the place that the coordinator had forgotten", again)
	}
	must.Do(t, m.Off(t.Context()))
	o.write("gone", "")
	wants(t, m.Acquire(t.Context()), result.LabFailed, "the coordinator of labgrid cannot be reached")
	wants(t, m.Off(t.Context()), result.LabFailed, "the power could not be switched off", "Could not connect to coordinator")
	wants(t, m.GiveBack(), result.LabFailed, "place b1 of labgrid could not be given back", "Could not connect to coordinator", "labgrid-client -p b1 release-from here/me.whichfs-")
	must.Do(t, os.Remove(gone))
	o.write("holder", "")
	must.Do(t, m.Acquire(t.Context()))
	o.write("holder", "there/other")
	wants(t, m.Acquire(t.Context()), result.Refused, "place b1 is not acquired by your user, acquired by other")
	must.Do(t, m.GiveBack())
	if holder := o.read("holder"); holder != "there/other" {
		t.Errorf("%q has the place that another has taken over", holder)
	}
}

// What cannot be used is said with what helps, and nothing stays acquired.
func TestLabgridUnfit(t *testing.T) {
	o := openOffice(t, "    - NetworkUSBFlash:\n        host: x\n")
	acquire := func() error { return o.machine(nil).Acquire(t.Context()) }
	wants(t, acquire(), result.Unsupported, "neither ssh nor a console; it has: NetworkUSBFlash", "NetworkService")
	o.write("env", "targets:\n  b1:\n    resources:\n    - NetworkSerialPort:\n        port: none\n")
	wants(t, acquire(), result.LabFailed, "makes no sense", "NetworkSerialPort")
	o.write("env", "targets:\n  b1:\n    resources:\n"+overSSH)
	m := o.machine(nil)
	_, err := m.Examine(t.Context(), true)
	wants(t, err, result.Refused, "nothing is known that switches the power of machine labgrid:b1")
	must.Do(t, m.GiveBack())
	if holder := o.read("holder"); holder != "" {
		t.Errorf("%q has the place", holder)
	}
	m, err = board.New("labgrid:b2", board.Options{})
	must.Do(t, err)
	wants(t, m.Acquire(t.Context()), result.Refused, "labgrid has no place b2", "labgrid-client places")
	t.Setenv("PATH", t.TempDir())
	wants(t, acquire(), result.LabFailed, "needs the program labgrid-client", "pipx install labgrid")
}

// A whichfs that is killed gives the place back.
func TestLabgridOfKilledHost(t *testing.T) {
	o := openOffice(t, overSSH)
	b := boardtest.Start(t, boardtest.Options{})
	play := exec.Command(os.Args[0])
	play.Env = append(os.Environ(), hostVariable+"="+strings.Join([]string{"labgrid:b1", b.Config, labtest.Agent(t, runtime.GOARCH), t.TempDir()}, " "))
	out, err := play.StdoutPipe()
	must.Do(t, err)
	must.Do(t, play.Start())
	seen := ""
	for buffer := make([]byte, 100); !strings.Contains(seen, "fio"); {
		n, err := out.Read(buffer)
		if seen += string(buffer[:n]); err != nil {
			t.Fatalf("%v: %s", err, seen)
		}
	}
	if holder := o.read("holder"); !strings.HasPrefix(holder, "here/me.whichfs-") {
		t.Errorf("%q has the place", holder)
	}
	must.Do(t, play.Process.Kill())
	_ = play.Wait()
	wait.Until(t, "the place is given back", func() bool { return o.read("holder") == "" })
	nothingLeft(t, b)
}

// A console behind a network is one as that of a port.
func TestLabgridConsole(t *testing.T) {
	c := boardtest.StartConsole(t, boardtest.ConsoleOptions{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			device, err := os.OpenFile(c.Device, os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(conn, device) }()
			go func() { _, _ = io.Copy(device, conn); _, _ = conn.Close(), device.Close() }()
		}
	}()
	o := openOffice(t, fmt.Sprintf("    - NetworkSerialPort:\n        speed: 115200\n        port: %d\n        protocol: raw\n        host: 127.0.0.1\n", l.Addr().(*net.TCPAddr).Port))
	with := installed(t)
	with.Agent = with.Installed
	m, err := board.New("labgrid:b1", with)
	must.Do(t, err)
	s := carriedBy(t, c, m)
	for _, one := range s.Facts().Conditions {
		if one.Name == "transport" && one.Value != "serial, 115200 baud" {
			t.Errorf("%+v", one)
		}
	}
	must.Do(t, m.GiveBack())
	if holder := o.read("holder"); holder != "" {
		t.Errorf("%q has the place", holder)
	}
}
