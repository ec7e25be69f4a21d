// Package database has tests use a PostgreSQL server of their own, on loopback,
// which an ordinary user starts: one per test binary.
package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"whichfs/internal/sys/command"
	"whichfs/internal/sys/owner"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/needs"
	"whichfs/internal/testing/wait"
)

// Server is a running server.
type Server struct {
	Port    int
	dir     string
	home    string   // above it
	lock    *os.File // held on home while this process lives
	process *command.Process
	restart sync.Mutex
}

// kind names the directories of servers among those of whichfs.
const kind = "database"

// Connections is how many a server has.
var Connections = 40

var (
	shared  *Server
	one     sync.Mutex
	schemas atomic.Int64
)

// Main is a package's TestMain: it runs the tests, and removes the server.
func Main(m *testing.M) { os.Exit(Cleaning{m}.Run()) }

// Cleaning is a package's tests, after which the server is removed.
type Cleaning struct{ Tests *testing.M }

// Run runs them and returns an exit status.
func (c Cleaning) Run() int {
	status := c.Tests.Run()
	if shared != nil {
		if err := shared.remove(); err != nil {
			fmt.Fprintln(os.Stderr, "removing the database:", err)
			status = 1
		}
	}
	return status
}

// Shared is the server of all tests of a package, which must have Main.
func Shared(t testing.TB) *Server {
	t.Helper()
	needs.Programs(t)
	one.Lock()
	defer one.Unlock()
	if shared == nil {
		shared = create(t)
	}
	return shared
}

// Own is a server of one test, which may restart it, and with which it is removed.
func Own(t testing.TB) *Server {
	t.Helper()
	needs.Programs(t)
	s := create(t)
	t.Cleanup(func() { must.Do(t, s.remove()) })
	return s
}

func (s *Server) remove() error {
	return errors.Join(s.process.Kill(), os.RemoveAll(s.home), s.lock.Close())
}

// Analyze has the server count what is in its tables, as it does by itself elsewhere.
func Analyze(t testing.TB) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), shared.At(shared.Port, User, "public"))
	must.Do(t, err)
	defer func() { _ = c.Close(context.Background()) }()
	_, err = c.Exec(context.Background(), "VACUUM ANALYZE")
	must.Do(t, err)
}

// User is the superuser.
const User = "whichfs"

// URL is that of a store that does not exist yet.
func (s *Server) URL() string {
	return s.At(s.Port, User, fmt.Sprintf("s%d", schemas.Add(1)))
}

// At is the URL of a schema's store for a user, through a port.
func (s *Server) At(port int, user, schema string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres?search_path=%s&sslmode=disable", user, port, schema)
}

// password is that of all servers of this process.
var password = rand.Text()

// create makes and starts a server. Its password is the environment's, where programs look for it.
func create(t testing.TB) *Server {
	t.Helper()
	for _, left := range owner.Abandoned(os.TempDir(), kind) { // by tests that were killed
		must.Do(t, os.RemoveAll(left))
	}
	home, lock, err := owner.Dir(os.TempDir(), kind)
	must.Do(t, err)
	dir := filepath.Join(home, "server")
	must.Do(t, os.Chmod(home, 0o711)) // the server's user goes through it
	must.Do(t, os.Mkdir(dir, 0o700))
	s := &Server{dir: dir, home: home, lock: lock}
	must.Do(t, os.Setenv("PGPASSWORD", password))
	must.Do(t, os.WriteFile(s.path("password"), []byte(password), 0o600))
	if os.Geteuid() == 0 {
		for _, path := range []string{dir, s.path("password")} {
			must.Do(t, os.Chown(path, nobody, nobody))
		}
	}
	_, err = command.Run(t.Context(), command.Options{Dir: dir}, s.program(t, "initdb", "--pgdata", s.path("data"), "--username", User, "--pwfile", s.path("password"),
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")...)
	must.Do(t, err)
	s.Port = free(t)
	s.Start(t)
	return s
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

const nobody = 65534

// program is a program of the server's: it refuses to be root's.
func (s *Server) program(t testing.TB, name string, args ...string) []string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	must.Do(t, err)
	if len(found) == 0 {
		t.Fatalf("there is no %s: make packages-test installs it", name)
	}
	slices.Sort(found)
	argv := append([]string{found[len(found)-1]}, args...)
	if os.Geteuid() == 0 {
		id := strconv.Itoa(nobody)
		argv = append([]string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--pdeathsig", "KILL"}, argv...)
	}
	return argv
}

// free is a port that nobody listens on.
func free(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	port := l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // tcp
	must.Do(t, l.Close())
	return port
}

// Start starts the server, again after Kill. What survives a killed process
// does not depend on fsync.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	log, err := os.Create(s.path("log"))
	must.Do(t, err)
	defer func() { _ = log.Close() }()
	argv := s.program(t, "postgres", "-D", s.path("data"), "-p", strconv.Itoa(s.Port), "-k", "")
	for _, setting := range []string{"listen_addresses=127.0.0.1", "fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=" + strconv.Itoa(Connections), "autovacuum=off"} {
		argv = append(argv, "-c", setting)
	}
	s.process, err = command.Start(command.Options{Dir: s.dir, Stderr: log}, argv...)
	must.Do(t, err)
	wait.While(t, func() string {
		select {
		case <-s.process.Done():
			text, _ := os.ReadFile(s.path("log"))
			t.Fatalf("the server ended: %v\n%s", s.process.Err(), text)
		default:
		}
		c, err := pgx.Connect(context.Background(), s.At(s.Port, User, "public"))
		if err != nil {
			return fmt.Sprintf("the server does not answer: %v", err)
		}
		_ = c.Close(context.Background())
		return ""
	})
}

// Restart kills the server and starts it again; several tests may do so.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.restart.Lock()
	defer s.restart.Unlock()
	s.Kill(t)
	s.Start(t)
}

// Kill kills the server with all its processes.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	must.Do(t, s.process.Kill())
}
