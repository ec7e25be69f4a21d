package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"whichfs/internal/result"
)

// isURL reports whether a store's name is the URL of a database.
func isURL(path string) bool {
	return strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://")
}

// postgres is the engine of a database that several machines share. There is
// one connection, which is made again when it is lost.
type postgres struct {
	url    string // without its password
	schema string // namespace of our tables
	writer string // names this process in the table receipt

	config   pgx.ConnConfig
	db       *sql.DB
	mu       sync.Mutex
	marks    map[string]bool   // runs held by this process
	cancels  map[string]func() // what ends them, if anything does
	unlisten func()            // ends listening for cancels; nil: nobody listens
}

// oldest is the server's oldest major version that is supported: that of the tests.
const oldest = 15

func openPostgres(path string, set settings) (*Store, error) {
	s, p, err := connectPostgres(path, nil)
	if err != nil {
		return nil, err
	}
	if err = p.migrate(set.migrations); err == nil {
		// Processes that were killed cannot do it themselves.
		_, err = s.db.Exec("DELETE FROM receipt WHERE written < now() - interval '90 days'")
	}
	return s.opened(err)
}

func openPostgresReadOnly(path string, set settings) (*Store, error) {
	s, p, err := connectPostgres(path, map[string]string{"default_transaction_read_only": "on"})
	if err != nil {
		return nil, err
	}
	s.readOnly = true
	version, err := p.version(s.db, set.migrations)
	switch {
	case err != nil:
	case version == 0:
		err = missing(p.url)
	case version < newest(set.migrations):
		err = older(p.url, version, newest(set.migrations))
	}
	return s.opened(err)
}

// opened is the store, patient from now on, unless there was an error.
func (s *Store) opened(err error) (*Store, error) {
	if err != nil {
		err = s.wrap(err, "opening")
		_ = s.db.Close()
		return nil, err
	}
	s.patience = Patience
	return s, nil
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// connectPostgres prepares the connection; nothing is opened before its first use.
func connectPostgres(path string, parameters map[string]string) (*Store, *postgres, error) {
	config, err := pgx.ParseConfig(path)
	if err != nil {
		return nil, nil, refuseURL(path, err)
	}
	p := &postgres{url: withoutPassword(path), writer: rand.Text(), marks: map[string]bool{}, cancels: map[string]func(){}}
	for name, value := range map[string]string{
		"search_path": "whichfs", "application_name": "whichfs",
		// The server must notice that we are gone within a minute: it keeps our locks until then.
		"idle_in_transaction_session_timeout": "60s", "tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3",
	} {
		if _, given := config.RuntimeParams[name]; !given {
			config.RuntimeParams[name] = value
		}
	}
	for name, value := range parameters {
		config.RuntimeParams[name] = value
	}
	if p.schema = config.RuntimeParams["search_path"]; !schemaName.MatchString(p.schema) {
		return nil, nil, result.Refuse("search_path is one name of small letters", "results store %s: search_path is %q", p.url, p.schema)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	p.config = *config
	p.db = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(p.mark))
	p.db.SetMaxOpenConns(1) // the marks are the connection's
	return &Store{path: p.url, db: p.db, engine: p, marker: p, words: map[string]int64{}}, p, nil
}

func refuseURL(path string, err error) error {
	return &result.Failure{Outcome: result.Refused, Reason: "results store " + withoutPassword(path) + ": this is not the URL of a database",
		Hint: "it has the form postgres://USER@HOST/DATABASE; passwords belong in ~/.pgpass", Err: errors.Unwrap(err)}
}

// withoutPassword is a URL for messages.
func withoutPassword(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		scheme, _, _ := strings.Cut(path, "://")
		return scheme + "://…"
	}
	if query := u.Query(); query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

const initHint = "whichfs store init prints what the owner of the database grants workers and viewers"

// begin leaves a receipt in the transaction: after a connection that was lost
// during a commit, it says whether the server has carried the commit out. It
// waits for a lost attempt that the server has not ended yet.
func (p *postgres) begin(tx *sql.Tx, number int64) (done bool, err error) {
	left, err := tx.Exec(`INSERT INTO receipt (writer, number) VALUES ($1, $2)
		ON CONFLICT (writer) DO UPDATE SET number = excluded.number, written = now() WHERE receipt.number < excluded.number`, p.writer, number)
	if err != nil {
		return false, err
	}
	n, err := left.RowsAffected()
	return n == 0, err
}

// end removes the receipt. One that stays goes after 90 days.
func (p *postgres) end(db *sql.DB) { _, _ = db.Exec("DELETE FROM receipt WHERE writer = $1", p.writer) }

func (p *postgres) check(db *sql.DB) error {
	_, err := p.version(db, all)
	return err
}

// migrationLock is an advisory lock's number: of two processes that open a
// store at the same time only one migrates it.
const migrationLock = applicationID

// migrate updates the schema, each step in its own transaction.
func (p *postgres) migrate(steps []migration) error {
	for {
		version, err := p.version(p.db, steps)
		if err != nil || version == newest(steps) {
			return err // most users may not change tables, and need not
		}
		if version == fleetVersion-1 {
			if err := p.migrateRiver(); err != nil {
				return err
			}
		}
		if err := p.migrateOnce(steps); err != nil {
			return err
		}
	}
}

func (p *postgres) migrateOnce(steps []migration) error {
	tx, err := p.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if _, err := tx.Exec("SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		return err
	}
	version, err := p.version(tx, steps)
	if err != nil || version == newest(steps) {
		return err
	}
	if version == 0 {
		if _, err := tx.Exec("CREATE SCHEMA IF NOT EXISTS " + p.schema + `;
			CREATE TABLE whichfs_schema (version BIGINT NOT NULL);
			INSERT INTO whichfs_schema VALUES (0);
			CREATE TABLE receipt (writer TEXT PRIMARY KEY, number BIGINT NOT NULL, written TIMESTAMPTZ NOT NULL DEFAULT now())`); err != nil {
			return fmt.Errorf("creating the schema: %w", err)
		}
	}
	step := steps[version]
	if _, err := tx.Exec(types.Replace(step.sql)); err != nil {
		return fmt.Errorf("bringing the schema from version %d to %d: %w", version, step.version, err)
	}
	if step.version == fleetVersion {
		if _, err := tx.Exec(fleetTables); err != nil {
			return fmt.Errorf("making the tables of fleets: %w", err)
		}
	}
	if _, err := tx.Exec("UPDATE whichfs_schema SET version = $1", step.version); err != nil {
		return err
	}
	return tx.Commit()
}

// version returns the version of the schema, 0 if there is none. Tables that are
// not ours, or from a newer whichfs, are an error.
func (p *postgres) version(q querier, steps []migration) (int, error) {
	var ours, admitted bool
	var server, tables, version int
	err := q.QueryRow(`SELECT to_regclass('whichfs_schema') IS NOT NULL, current_setting('server_version_num')::int / 10000,
		(SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1)),
		coalesce(has_schema_privilege(to_regnamespace($1), 'USAGE'), true)`, p.schema).Scan(&ours, &server, &tables, &admitted)
	switch {
	case err != nil:
		return 0, err
	case server < oldest:
		return 0, trouble(ErrVersion, result.Refused, p.url, fmt.Sprintf("the server is PostgreSQL %d", server), fmt.Sprintf("use PostgreSQL %d or newer", oldest), nil)
	case !admitted:
		return 0, trouble(ErrNotReadable, result.Refused, p.url, "this user may not use the schema "+p.schema, initHint, nil)
	case !ours && tables > 0:
		return 0, trouble(ErrForeign, result.Refused, p.url, "the schema "+p.schema+" has tables of another program", "they were left unchanged; name another schema with ?search_path=NAME in the URL", nil)
	case !ours:
		return 0, nil
	}
	if err := q.QueryRow("SELECT version FROM whichfs_schema").Scan(&version); err != nil {
		return 0, err
	}
	if version > newest(steps) {
		return 0, newer(p.url, version, newest(steps))
	}
	return version, nil
}

func (p *postgres) wrap(err error, doing string) error {
	var server *pgconn.PgError
	var held *errHeld
	switch {
	case errors.As(err, &held):
		return held.error
	case errors.As(err, &server):
		return p.classify(server, err, doing)
	case passing(err):
		return trouble(ErrUnreachable, result.LabFailed, p.url, "the database cannot be reached", "check that the server runs and the URL is right; what was stored before is kept", err)
	}
	return fmt.Errorf("results store %s: %s: %w", p.url, doing, err)
}

// classify is for what the server says.
func (p *postgres) classify(server *pgconn.PgError, err error, doing string) error {
	kind := func(kind error, o result.Outcome, reason, hint string) error {
		return trouble(kind, o, p.url, reason, hint, server)
	}
	switch server.Code {
	case "28000", "28P01":
		return kind(ErrNotReadable, result.Refused, "the server does not admit this user", "put user and password into the URL, or into ~/.pgpass")
	case "3D000":
		return kind(ErrUnreachable, result.Refused, "the server has no such database", "its owner makes one with createdb NAME")
	case "42501":
		return kind(ErrNotWritable, result.Refused, "this user may not do that ("+doing+")", initHint)
	case "25006":
		return kind(ErrNotWritable, result.Refused, "it cannot be written", "open it as a user that may write")
	case "53100":
		return kind(ErrFull, result.LabFailed, "the server's disk is full: the latest data was not stored, everything before it was", "free space there and resume")
	case "XX001", "XX002":
		return kind(ErrDamaged, result.LabFailed, "the database is damaged", "the server's log says more; restore its backup")
	case "55P03", "57014", "53300":
		return kind(ErrBusy, result.LabFailed, "the server is too busy", "wait and try again")
	}
	if passing(err) {
		return kind(ErrUnreachable, result.LabFailed, "the server ended the connection", "check that it runs; what was stored before is kept")
	}
	return fmt.Errorf("results store %s: %s: %w", p.url, doing, err)
}

// A run is marked by an advisory lock, which the server removes with the
// connection.

// key is the number of a run's lock.
func (p *postgres) key(id string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "whichfs %s %s", p.schema, id)
	return int64(h.Sum64()) //nolint:gosec // any number will do
}

// mark marks again, on a new connection, what was marked on the lost one.
func (p *postgres) mark(ctx context.Context, c *pgx.Conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.marks {
		var ok bool
		if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", p.key(id)).Scan(&ok); err != nil {
			return err
		}
		if !ok {
			return &errHeld{heldElsewhere(id)}
		}
	}
	return nil
}

func (p *postgres) hold(id string, lost bool, cancel func()) (release func(), err error) {
	var ok bool
	if err := p.db.QueryRow("SELECT pg_try_advisory_lock($1)", p.key(id)).Scan(&ok); err != nil {
		return nil, err
	}
	if !ok && lost {
		return nil, &errHeld{heldElsewhere(id)}
	}
	if !ok {
		return nil, heldElsewhere(id)
	}
	if p.shared(id) {
		_, _ = p.db.Exec("SELECT pg_advisory_unlock($1)", p.key(id))
		return nil, result.Refuse("wait for its end, or end it with whichfs cancel "+id, "workers of the fleet are carrying out run %s", id)
	}
	p.mu.Lock()
	p.marks[id] = true
	p.mu.Unlock()
	if cancel != nil {
		// That somebody wanted an earlier process to end says nothing about this one.
		if _, err := p.db.Exec("UPDATE run SET cancelled = 0 WHERE id = $1 AND cancelled <> 0", id); err != nil {
			p.release(id)
			return nil, err
		}
		p.heed(id, cancel)
	}
	return func() { p.release(id) }, nil
}

func (p *postgres) release(id string) {
	p.heed(id, nil)
	p.mu.Lock()
	delete(p.marks, id)
	p.mu.Unlock()
	_, _ = p.db.Exec("SELECT pg_advisory_unlock($1)", p.key(id)) // or the connection's end does it
}

func (p *postgres) held(id string) bool {
	if p.shared(id) {
		return true
	}
	key := uint64(p.key(id)) //nolint:gosec // its halves, as the server shows them
	var held bool
	err := p.db.QueryRow(`SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND classid::bigint = $1
		AND objid::bigint = $2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`,
		int64(key>>32), int64(key&0xffffffff)).Scan(&held)
	return err == nil && held
}

//go:embed roles.sql
var roles string

// Roles is the SQL by which the owner of a database lets others use the store.
func (s *Store) Roles() (string, error) {
	p, ok := s.engine.(*postgres)
	if !ok {
		return "", result.Refuse("name a database: --store postgres://OWNER@HOST/DATABASE", "results store %s is a file: its permissions say who may use it", s.path)
	}
	return strings.ReplaceAll(roles, "@schema@", p.schema), nil
}
