package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/database"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/wait"
)

// Whatever a kernel or a tool writes is read back unchanged.
func TestAnyText(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, _ string) {
		var all strings.Builder
		for b := range 256 {
			all.WriteByte(byte(b))
		}
		texts := []string{all.String(), "\x1a00", "\x1a", "�", "half a \xe2\x82", strings.Repeat("longer than an index takes ", 200)}
		run := example("r")
		run.Notes = nil
		for i, text := range texts {
			run.Notes = append(run.Notes, result.Note{Level: result.Info, Text: text, Phase: fmt.Sprint(i)})
		}
		must.Do(t, s.CreateRun(run, 1))
		trial := exampleTrial()
		trial.Candidate, trial.Reason, trial.Options, trial.Console = texts[0], texts[0], nil, nil
		for _, text := range texts {
			trial.Options = append(trial.Options, result.Option{Text: text, State: result.InForce, Evidence: text})
		}
		var err error
		trial.ID, err = s.BeginTrial("r", trial)
		must.Do(t, err)
		must.Do(t, s.FinishTrial(trial))
		got, err := s.Run("r")
		must.Do(t, err)
		if d := cmp.Diff(run.Notes, got.Notes); d != "" {
			t.Error(d)
		}
		trials, err := s.Trials("r")
		must.Do(t, err)
		if d := diffTrials(trial, trials[0]); d != "" {
			t.Error(d)
		}
	})
}

func TestRunIsCarriedOutOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, path string) {
		other, err := store.Open(path)
		must.Do(t, err)
		defer func() { _ = other.Close() }()
		if s.Held("r") {
			t.Error("held from the start")
		}
		release, err := s.Hold("r", nil)
		must.Do(t, err)
		if !other.Held("r") || other.Held("q") {
			t.Errorf("held: %v, another run: %v", other.Held("r"), other.Held("q"))
		}
		_, err = other.Hold("r", nil)
		refused(t, err, nil, "another process is carrying out run r")
		release()
		if other.Held("r") {
			t.Error("still held")
		}
		_, err = other.Hold("r", nil)
		must.Do(t, err)
		must.Do(t, other.Close()) // as a process that ends
		if database := strings.HasPrefix(path, "postgres"); database {
			wait.Until(t, "the mark goes with its process", func() bool { return !s.Held("r") })
		}
	})
}

// work stores a run of one trial, and reads it back.
func work(t *testing.T, s *store.Store, id string) {
	t.Helper()
	run := example(id)
	must.Do(t, s.CreateRun(run, 2))
	release, err := s.Hold(id, nil)
	must.Do(t, err)
	defer release()
	must.Do(t, s.SetSupport(id, []result.Support{{Candidate: "xfs " + id, Outcome: result.Refused}}))
	trial := exampleTrial()
	trial.Options[0].Evidence = id // a new word
	trial.ID, err = s.BeginTrial(id, trial)
	must.Do(t, err)
	must.Do(t, s.FinishTrial(trial))
	run.Active++
	must.Do(t, s.UpdateRun(run))
	got, err := s.Run(id)
	must.Do(t, err)
	if d := cmp.Diff(run, got); d != "" {
		t.Error(d)
	}
	trials, err := s.Trials(id)
	must.Do(t, err)
	if len(trials) != 1 {
		t.Fatalf("%d trials", len(trials))
	}
	if d := diffTrials(trial, trials[0]); d != "" {
		t.Error(d)
	}
}

// The connection is cut at each statement, before the server gets it and after it was executed: every
// call succeeds, and every trial is there once.
func TestConnectionIsCutAtEveryStatement(t *testing.T) {
	server := database.Shared(t)
	proxy := database.NewProxy(t, server)
	path := server.At(proxy.Port, database.User, schemaOf(t, server.URL()))
	s, err := store.Open(path)
	must.Do(t, err)
	defer func() { _ = s.Close() }()
	cuts := 0
	// An answer that is lost is the harder case; what the server never got is like the answer before it.
	for executed, step := range map[bool]int{true: 1, false: 5} {
		for at := 1; ; at += step {
			proxy.CutAt(at, executed)
			work(t, s, fmt.Sprintf("run-%t-%d", executed, at))
			pending := proxy.Pending()
			proxy.CutAt(0, false)
			if pending {
				break
			}
			cuts++
		}
	}
	t.Logf("%d cuts", cuts)
	if cuts < 80 {
		t.Errorf("only %d cuts", cuts)
	}
}

// The server keeps a lost connection, with its locks: what is done again waits until it notices.
func TestServerNoticesLate(t *testing.T) {
	server := database.Shared(t)
	proxy := database.NewProxy(t, server)
	path := server.At(proxy.Port, database.User, schemaOf(t, server.URL()))
	s, err := store.Open(path)
	must.Do(t, err)
	defer func() { _ = s.Close() }()
	must.Do(t, s.CreateRun(example("r"), 1))
	late := func(query string, do func() error, again string, sessions int) {
		t.Helper()
		done := make(chan error, 1)
		proxy.CutLate(query)
		go func() { done <- do() }()
		wait.Until(t, "it is tried again", func() bool { return count(t, server, again) >= sessions || len(done) > 0 })
		if len(done) > 0 {
			t.Errorf("%s: it did not wait", query)
		}
		proxy.Notice()
		must.Do(t, wait.For(t, query, done))
	}
	var release func()
	late("pg_try_advisory_lock", func() (err error) {
		release, err = s.Hold("r", nil)
		return err
	}, `SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_try_advisory_lock%'`, 2)
	if !s.Held("r") {
		t.Error("it is not marked")
	}
	release()
	late("INSERT INTO receipt", func() error { return s.CreateRun(example("q"), 1) }, `SELECT count(*) FROM pg_locks WHERE NOT granted`, 1)
	if runs, err := s.Runs(); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// Another process adds a word, and is not done when this one needs it.
func TestSameWordAtOnce(t *testing.T) {
	server := database.Shared(t)
	path := server.URL()
	s, err := store.Open(path)
	must.Do(t, err)
	defer func() { _ = s.Close() }()
	must.Do(t, s.CreateRun(example("r"), 1))
	db, err := sql.Open("pgx", path)
	must.Do(t, err)
	defer func() { _ = db.Close() }()
	tx, err := db.Begin()
	must.Do(t, err)
	_, err = tx.Exec("INSERT INTO word (text) VALUES ('new to both')")
	must.Do(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := s.BeginTrial("r", result.Trial{Round: 1, Place: 1, Candidate: "new to both", Attempt: 1})
		done <- err
	}()
	wait.Until(t, "it waits", func() bool { return count(t, server, `SELECT count(*) FROM pg_locks WHERE NOT granted`) > 0 })
	must.Do(t, tx.Commit())
	must.Do(t, wait.For(t, "the trial begins", done))
	if n, err := s.Count("word WHERE text = 'new to both'"); n != 1 || err != nil {
		t.Errorf("the word is there %d times, %v", n, err)
	}
}

// count is a number that the server's owner sees.
func count(t *testing.T, server *database.Server, query string) (n int) {
	t.Helper()
	db, err := sql.Open("pgx", server.At(server.Port, database.User, "public"))
	must.Do(t, err)
	defer func() { _ = db.Close() }()
	must.Do(t, db.QueryRow(query+" AND pid <> pg_backend_pid()").Scan(&n))
	return n
}

// A cut while the store is opened is an error, and leaves nothing that stops the
// next attempt.
func TestConnectionIsCutWhileOpening(t *testing.T) {
	server := database.Shared(t)
	proxy := database.NewProxy(t, server)
	for at := 1; ; at += 3 { // each makes all tables
		path := server.At(proxy.Port, database.User, schemaOf(t, server.URL()))
		proxy.CutAt(at, at%2 == 0)
		s, err := store.Open(path)
		pending := proxy.Pending()
		proxy.CutAt(0, false)
		if err != nil {
			refused(t, err, store.ErrUnreachable, "cannot be reached")
			s, err = store.Open(path)
		}
		must.Do(t, err)
		must.Do(t, s.CreateRun(example("r"), 1))
		must.Do(t, s.Close())
		if pending {
			break
		}
	}
}

// The server is killed and started again while two processes store trials.
func TestServerIsKilled(t *testing.T) {
	server := database.Shared(t)
	path := server.URL()
	const count, kills = 30, 2
	var under sync.WaitGroup
	stored := make(chan bool) // none goes on unseen: a run that is over would not be marked again
	for i := range 2 {
		s, err := store.Open(path)
		must.Do(t, err)
		defer func() { _ = s.Close() }()
		id := fmt.Sprint("run", i)
		must.Do(t, s.CreateRun(example(id), count))
		_, err = s.Hold(id, nil)
		must.Do(t, err)
		under.Go(func() {
			for place := 1; place <= count; place++ {
				trial := numbered(place)
				id, err := s.BeginTrial(id, result.Trial{Round: 1, Place: place, Candidate: "ext4", Attempt: 1})
				if trial.ID = id; err == nil {
					err = s.FinishTrial(trial)
				}
				if err != nil {
					t.Error(err)
					return
				}
				stored <- true
			}
		})
	}
	for range kills {
		for range count / kills / 2 {
			wait.For(t, "a trial is stored", stored)
		}
		server.Kill(t)
		server.Start(t)
	}
	go func() {
		under.Wait()
		close(stored)
	}()
	for range stored { // until all are
	}
	s, err := store.OpenReadOnly(path)
	must.Do(t, err)
	defer func() { _ = s.Close() }()
	for i := range 2 {
		id := fmt.Sprint("run", i)
		trials, err := s.Trials(id)
		must.Do(t, err)
		if len(trials) != count {
			t.Errorf("run %d has %d trials", i, len(trials))
		}
		for place, trial := range trials {
			if trial.Place != place+1 {
				t.Errorf("place %d instead of %d", trial.Place, place+1)
			}
			whole(t, trial, 1)
		}
		if !s.Held(id) {
			t.Errorf("%s is no longer marked", id)
		}
	}
}

// A run is marked again after the server was killed, while its process has nothing to store.
func TestServerIsKilledDuringATrial(t *testing.T) {
	server := database.Shared(t)
	path := server.URL()
	s, err := store.Open(path)
	must.Do(t, err)
	defer func() { _ = s.Close() }()
	must.Do(t, s.CreateRun(example("r"), 1))
	release, err := s.Hold("r", func() {})
	must.Do(t, err)
	defer release()
	server.Kill(t)
	server.Start(t)
	other, err := store.OpenReadOnly(path)
	must.Do(t, err)
	defer func() { _ = other.Close() }()
	wait.Until(t, "the run is marked again", func() bool { return other.Held("r") })
}

func TestManyProcessesMigrateAtOnce(t *testing.T) {
	path := database.Shared(t).URL()
	var under sync.WaitGroup
	for i := range 4 {
		under.Go(func() {
			s, err := store.Open(path)
			if err == nil {
				err = errors.Join(s.CreateRun(example(fmt.Sprint(i)), 1), s.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	under.Wait()
	s, err := store.OpenReadOnly(path)
	must.Do(t, err)
	defer func() { _ = s.Close() }()
	if runs, err := s.Runs(); len(runs) != 4 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

func TestUnsuitableDatabases(t *testing.T) {
	server := database.Shared(t)
	good := server.URL()
	other := strings.Replace(good, "search_path=", "search_path=other_", 1)
	execute(t, server, `CREATE SCHEMA `+schemaOf(t, other)+` CREATE TABLE theirs (a INTEGER)`)
	secret := strings.Replace(strings.Replace(good, "@", ":geheim@", 1), "?", "?password=secret&", 1)
	for name, c := range map[string]struct {
		path  string
		kind  error
		words []string
	}{
		"none yet":       {good, store.ErrMissing, []string{"none yet", "whichfs run"}},
		"wrong password": {secret, store.ErrNotReadable, []string{"does not admit", ".pgpass"}},
		"no database":    {strings.Replace(good, "/postgres?", "/nowhere?", 1), store.ErrUnreachable, []string{"no such database", "createdb"}},
		"no server":      {strings.Replace(good, fmt.Sprint(server.Port), "1", 1), store.ErrUnreachable, []string{"cannot be reached", "refused"}},
		"other tables":   {other, store.ErrForeign, []string{"another program", "search_path", "unchanged"}},
		"odd schema":     {strings.Replace(good, "search_path=s", "search_path=%22a%22,b", 1), nil, []string{"search_path"}},
		"no URL":         {"postgres://whichfs:geheim@127.0.0.1:x/postgres", nil, []string{"not the URL", "postgres://USER@HOST/DATABASE"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, open := range []func(string) (*store.Store, error){store.OpenReadOnly, store.Open} {
				s, err := open(c.path)
				if err == nil && name == "none yet" && c.path == good {
					must.Do(t, s.Close())
					return
				}
				refused(t, err, c.kind, c.words...)
				if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "secret") {
					t.Errorf("it shows the password: %v", err)
				}
			}
		})
	}
}

func schemaOf(t *testing.T, path string) string {
	t.Helper()
	u, err := url.Parse(path)
	must.Do(t, err)
	return u.Query().Get("search_path")
}

// execute has the server's owner execute SQL.
func execute(t *testing.T, server *database.Server, text string) {
	t.Helper()
	db, err := sql.Open("pgx", server.At(server.Port, database.User, "public"))
	must.Do(t, err)
	defer func() { _ = db.Close() }()
	_, err = db.Exec(text)
	must.Do(t, err)
}

// silently is execute, and the server has nothing to say about it.
func silently(t *testing.T, server *database.Server, text string) {
	t.Helper()
	config, err := pgx.ParseConfig(server.At(server.Port, database.User, "public"))
	must.Do(t, err)
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { t.Errorf("%s: %s", n.Severity, n.Message) }
	c, err := pgx.ConnectConfig(t.Context(), config)
	must.Do(t, err)
	defer func() { _ = c.Close(context.Background()) }()
	_, err = c.Exec(t.Context(), text)
	must.Do(t, err)
}

// The SQL of the roles lets workers add, and viewers read.
func TestRoles(t *testing.T) {
	server := database.Shared(t)
	path := server.URL()
	owner, err := store.Open(path)
	must.Do(t, err)
	defer func() { _ = owner.Close() }()
	must.Do(t, storetest.Fill(path, 1, storetest.Shape{Candidates: 1, Rounds: 2, Phases: 1, Metrics: 1}))
	text, err := owner.Roles()
	must.Do(t, err)
	for range 2 { // it can be run again
		silently(t, server, text)
	}
	as := func(user, role string) *store.Store {
		t.Helper()
		execute(t, server, fmt.Sprintf("DROP USER IF EXISTS %[1]s; CREATE USER %[1]s PASSWORD '%[2]s' IN ROLE whichfs_%[3]s", user, os.Getenv("PGPASSWORD"), role))
		s, err := store.Open(server.At(server.Port, user, schemaOf(t, path)))
		if role == "viewer" {
			refused(t, err, store.ErrNotWritable)
			s, err = store.OpenReadOnly(server.At(server.Port, user, schemaOf(t, path)))
		}
		must.Do(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	alice, bob, eve := as("alice", "worker"), as("bob", "worker"), as("eve", "viewer")
	work(t, alice, "hers")
	must.Do(t, alice.SaveProbe("probe", storetest.Probe(1)))
	trial := exampleTrial()
	trial.Place = 3
	trial.ID, err = alice.BeginTrial("hers", trial)
	must.Do(t, err)

	release, err := alice.Hold("hers", func() { t.Error("somebody else cancelled the run") })
	must.Do(t, err)
	refused(t, bob.Cancel("hers"), store.ErrNotWritable, "another user")
	refused(t, eve.Cancel("hers"), store.ErrNotWritable)
	release()
	ended := make(chan bool, 1)
	release, err = alice.Hold("hers", func() { ended <- true })
	must.Do(t, err)
	must.Do(t, owner.Cancel("hers"))
	wait.For(t, "the owner cancels the run", ended)
	release()
	must.Do(t, bob.AddRemark("hers", "#looks-odd"))
	refused(t, eve.AddRemark("hers", "#hers"), store.ErrNotWritable)
	if list, _, err := eve.Find(store.Query{Label: "looks-odd"}); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}

	refused(t, bob.FinishTrial(trial), nil, "another user")
	refused(t, bob.UpdateRun(example("hers")), store.ErrNotWritable, "another user")
	refused(t, bob.DeleteRun("hers"), store.ErrNotWritable, "another user")
	refused(t, bob.DeleteRun("fill-0001"), store.ErrNotWritable, "another user")
	refused(t, bob.DeleteProbe("probe"), store.ErrNotWritable, "another user")
	refused(t, bob.SetSupport("hers", []result.Support{{Candidate: "ext4", Outcome: result.Refused}}), store.ErrNotWritable)
	own, err := bob.BeginTrial("hers", trial) // never concluded: he takes its place
	must.Do(t, err)
	refused(t, alice.FinishTrial(trial), nil, "gone")
	trial.ID = own
	must.Do(t, bob.FinishTrial(trial))
	for _, s := range []*store.Store{alice, bob, eve, owner} {
		trials, err := s.Trials("hers")
		must.Do(t, err)
		if len(trials) != 2 || trials[1].Outcome == "" || len(trials[1].Measurements) == 0 {
			t.Errorf("%+v", trials)
		}
	}
	execute(t, server, fmt.Sprintf("DROP USER IF EXISTS mallory; CREATE USER mallory PASSWORD '%s'", os.Getenv("PGPASSWORD")))
	_, err = store.OpenReadOnly(server.At(server.Port, "mallory", schemaOf(t, path)))
	refused(t, err, store.ErrNotReadable, "may not use the schema", "whichfs store init")
	refused(t, eve.CreateRun(example("mine"), 1), store.ErrNotWritable)
	fleetOfOthers(t, path, alice, bob)
	must.Do(t, alice.DeleteRun("hers"))
	must.Do(t, owner.DeleteProbe("probe"))
}

// A store that goes to a database and back is the same, and what is there stays.
func TestCopy(t *testing.T) {
	places(t, func(t *testing.T, path string) {
		dir := t.TempDir()
		first := filepath.Join(dir, "first.db")
		must.Do(t, storetest.Fill(first, 2, storetest.Shape{Candidates: 2, Rounds: 2, Phases: 3, Metrics: 4}))
		s, err := store.Open(first)
		must.Do(t, err)
		defer func() { _ = s.Close() }()
		must.Do(t, s.CreateRun(example("open"), 9))
		must.Do(t, s.SetSupport("open", []result.Support{{Candidate: "xfs", Outcome: result.Refused, Reason: "no"}}))
		trial := exampleTrial()
		trial.Artifacts = []result.Artifact{{Phase: "read", Name: "fio.json", Text: strings.Repeat("{}\n", 100_000)}}
		trial.ID, err = s.BeginTrial("open", trial)
		must.Do(t, err)
		must.Do(t, s.FinishTrial(trial))
		_, err = s.BeginTrial("open", result.Trial{Round: 9, Place: 1, Candidate: "xfs", Attempt: 1})
		must.Do(t, err)
		must.Do(t, s.SaveProbe("probe", storetest.Probe(7)))
		copyAll := func(from, to *store.Store) (copied, were int, failed error) {
			must.Do(t, store.Copy(from, to, func(c store.Copied) {
				switch {
				case c.Err != nil:
					failed = c.Err
				case c.Was:
					were++
				default:
					copied++
				}
			}))
			return copied, were, failed
		}
		second, err := store.Open(path)
		must.Do(t, err)
		defer func() { _ = second.Close() }()
		third, err := store.Open(filepath.Join(dir, "third.db"))
		must.Do(t, err)
		defer func() { _ = third.Close() }()
		for _, pair := range [][2]*store.Store{{s, second}, {second, third}} {
			for _, want := range [][2]int{{4, 0}, {0, 4}} {
				if copied, were, err := copyAll(pair[0], pair[1]); copied != want[0] || were != want[1] || err != nil {
					t.Errorf("%d copied, %d there, %v; want %v", copied, were, err, want)
				}
			}
		}
		for _, id := range []string{"fill-0001", "fill-0002", "open"} {
			want, err := s.Whole(id)
			must.Do(t, err)
			got, err := third.Whole(id)
			must.Do(t, err)
			for i := range got.Trials {
				got.Trials[i].ID = want.Trials[i].ID
				got.Trials[i].Measurements, want.Trials[i].Measurements = sorted(got.Trials[i].Measurements), sorted(want.Trials[i].Measurements)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", id, d)
			}
		}
		if run, err := third.Run("last"); err != nil || run.ID != "open" {
			t.Errorf("the last is %s, %v", run.ID, err)
		}
		// Other content is noticed, and left.
		must.Do(t, third.DeleteRun("fill-0001"))
		must.Do(t, third.CreateRun(example("fill-0001"), 1))
		_, _, err = copyAll(second, third)
		refused(t, err, nil, "fill-0001", "other content", "whichfs runs --delete fill-0001 --store")
		// A run that is going on is left out.
		release, err := second.Hold("open", nil)
		must.Do(t, err)
		defer release()
		must.Do(t, third.DeleteRun("open"))
		_, _, err = copyAll(second, third)
		refused(t, err, nil, "open", "being carried out")
	})
}
