// Package boardtest runs the system's ssh server as a board's: on loopback, at a free port, with keys
// and a configuration of its own. Nothing of the user's or the system's ssh takes part.
package boardtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/host/machine/board/boardtest/parts"
	"whichfs/internal/sys/command"
	"whichfs/internal/sys/command/commandtest"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// Board is a running ssh server with a client's configuration for it.
type Board struct {
	// Name of the machine: "ssh:board".
	Name string
	// Config is the client's configuration, in which the host board is this server.
	Config string
	// Dir has its files: key and known_hosts of the client, log of the server.
	Dir  string
	Port int

	server int // its process
}

// Options of a board; the zero value is a usual one.
type Options struct {
	// Tools come first in the PATH of the board: scripts by name that take the place of its programs.
	Tools map[string]string
	// Only these programs of the board's are in its PATH besides; nil: all.
	Only []string
	// BusyBox lists applets of BusyBox: the board's PATH has these and Only, and nothing else.
	BusyBox []string
	// Server has further lines for the server's configuration, and Client for the client's.
	Server, Client string
	// Around is put before the server's command line.
	Around []string
}

// InMounts is a command that runs a program with mounts of its own, which a script has changed before: the
// program and its arguments are "$@". What other tests have mounted at that moment would stay mounted here.
func InMounts(script string) []string {
	const leave = `while read -r from at rest; do case $from in /dev/loop*) umount -l "$at" ;; esac; done </proc/mounts
`
	return []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", leave + script, "sh"}
}

// Start starts a server, which ends with the test.
func Start(t testing.TB, o Options) *Board {
	t.Helper()
	needs.Devices(t)
	b := &Board{Name: "ssh:board", Dir: t.TempDir(), Port: freePort(t)}
	var err error
	b.Config, err = parts.Client(t.Context(), b.Dir, b.Port, o.Client)
	must.Do(t, err)
	write(t, b.path("authorized"), read(t, b.path(parts.ClientKey+".pub")), 0o600)
	b.mount(t)
	// Privileges are separated in a directory that the system's service would make.
	must.Do(t, os.MkdirAll("/run/sshd", 0o755))
	write(t, b.path("sshd_config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\nUsePAM no\nPidFile none\nSetEnv PATH=%s\n%s\n",
		b.Port, b.path(parts.HostKey), b.path("authorized"), b.tools(t, o), o.Server), 0o600)
	b.serve(t, o.Around)
	return b
}

// serve starts the server and waits until it listens.
func (b *Board) serve(t testing.TB, around []string) {
	t.Helper()
	log, err := os.Create(b.path("log"))
	must.Do(t, err)
	argv := append(append([]string{}, around...), "/usr/sbin/sshd", "-D", "-e", "-f", b.path("sshd_config"))
	server, err := command.Start(command.Options{Stderr: log}, argv...)
	must.Do(t, err)
	b.server = server.Pid()
	t.Cleanup(func() {
		_ = server.Kill()
		_ = log.Close()
		if t.Failed() {
			t.Logf("the server said:\n%s", read(t, b.path("log")))
		}
	})
	wait.Until(t, "the ssh server listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.Port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// Cut cuts every connection, as a board does that loses its network or its server.
func (b *Board) Cut() { b.signal(unix.SIGKILL) }

// Restart ends everything on the board, which loses its memory.
func (b *Board) Restart() {
	for _, word := range commandtest.Processes(b.memory() + "/") {
		if pid, err := strconv.Atoi(word); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	b.Cut()
	for _, dir := range b.dirs() {
		_ = os.RemoveAll(dir)
	}
}

// Freeze stops the server's processes: connections stay open, and nothing arrives any more.
func (b *Board) Freeze() { b.signal(unix.SIGSTOP) }

// Thaw revives them.
func (b *Board) Thaw() { b.signal(unix.SIGCONT) }

func (b *Board) signal(s unix.Signal) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", b.server, b.server))
	for word := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil {
			_ = unix.Kill(pid, s)
		}
	}
}

// Left lists what sessions have on the board: directories in its memory, and processes.
func (b *Board) Left() []string {
	return append(b.dirs(), commandtest.Processes(b.memory()+"/")...)
}

// Agents counts those that work on the board, in directories of their own; -1: a directory is without.
func (b *Board) Agents() int {
	for _, dir := range b.dirs() {
		if len(commandtest.Processes(dir+"/agent\x00serve")) != 1 {
			return -1
		}
	}
	return len(b.dirs())
}

func (b *Board) dirs() []string {
	all, _ := filepath.Glob(filepath.Join(b.memory(), "*")) // the pattern is valid
	return all
}

// memory is the board's only filesystem in memory with room: boards of other tests are on the same
// kernel.
func (b *Board) memory() string { return b.path("memory") }

func (b *Board) mount(t testing.TB) {
	t.Helper()
	must.Do(t, os.Mkdir(b.memory(), 0o755))
	must.Do(t, unix.Mount("whichfs-test", b.memory(), "tmpfs", 0, "size=512m"))
	t.Cleanup(func() { _ = unix.Unmount(b.memory(), unix.MNT_DETACH) })
}

// tools makes the directory of the board's own programs, and returns its PATH.
func (b *Board) tools(t testing.TB, o Options) string {
	dir := b.path("tools")
	must.Do(t, os.Mkdir(dir, 0o755))
	write(t, filepath.Join(dir, "df"), fmt.Sprintf("#!/bin/sh\nfree=0\nif [ \"$2\" = %s ]; then free=500000; fi\necho tmpfs 524288 0 $free 0%% $2\n", b.memory()), 0o755)
	for name, script := range o.Tools {
		write(t, filepath.Join(dir, name), script, 0o755)
	}
	if o.Only == nil && o.BusyBox == nil {
		return dir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	for _, applet := range o.BusyBox {
		path, err := command.Look("busybox")
		must.Do(t, err)
		must.Do(t, os.Symlink(path, filepath.Join(dir, applet)))
	}
	for _, name := range o.Only {
		path, err := command.Look(name)
		must.Do(t, err)
		must.Do(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

func (b *Board) path(name string) string { return filepath.Join(b.Dir, name) }

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close() //nolint:errcheck // a test's
	return l.Addr().(*net.TCPAddr).Port
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), mode))
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must.Do(t, err)
	return string(text)
}
