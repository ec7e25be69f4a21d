package script

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"whichfs/internal/sys/command"
)

// Programs are the values of Script.Program: SQLite's command-line program, which
// commits transactions one after the other.
//
// In rollback mode SQLite promises durability only with synchronous=EXTRA: FULL
// does not sync the directory after it removes the journal, so a journal that
// reappears may roll back an acknowledged transaction
// (https://www.sqlite.org/pragma.html#pragma_synchronous). A program that relies on
// FULL there is therefore careless.
var Programs = map[string]struct {
	journal, synchronous string
}{
	"sqlite-rollback":      {"DELETE", "EXTRA"},
	"sqlite-rollback-full": {"DELETE", "FULL"},
	"sqlite-wal":           {"WAL", "FULL"},
}

const (
	databaseFile = "data.db"
	databaseRows = 4 // per transaction
	// databaseLimit is the time limit for one answer of sqlite3, which is slow
	// under emulation.
	databaseLimit = 2 * time.Minute
)

func databases() []Script {
	return []Script{
		{Name: "sqlite-rollback", About: "SQLite commits transactions with a rollback journal, synchronous=EXTRA", Program: "sqlite-rollback", Turns: 6},
		{Name: "sqlite-wal", About: "SQLite commits transactions with a write-ahead log, synchronous=FULL, with checkpoints in between", Program: "sqlite-wal", Turns: 8},
		{Name: "sqlite-rollback-full", About: "SQLite commits with a rollback journal and synchronous=FULL; the author overlooks that the removal of the journal is not synced", Program: "sqlite-rollback-full", Turns: 4, Careless: true},
	}
}

// databaseText is the text of one row. Rows are long enough to fill a few pages per
// transaction.
func databaseText(turn, row int) string {
	return strings.Repeat(fmt.Sprintf("turn %d row %d;", turn, row), 70)
}

// transaction is the SQL of one transaction: its rows and its number.
func transaction(turn int) string {
	var b strings.Builder
	b.WriteString("BEGIN;")
	for row := range databaseRows {
		fmt.Fprintf(&b, "INSERT INTO rows VALUES(%d,%d,'%s');", turn*databaseRows+row, turn, databaseText(turn, row))
	}
	fmt.Fprintf(&b, "UPDATE last SET turn=%d;COMMIT;", turn)
	return b.String()
}

// settings are the pragmas with which each connection begins.
func settings(s Script) (string, error) {
	p, ok := Programs[s.Program]
	if !ok {
		return "", fmt.Errorf("script %s: no such program %q", s.Name, s.Program)
	}
	return fmt.Sprintf("PRAGMA journal_mode=%s;PRAGMA synchronous=%s;PRAGMA wal_autocheckpoint=12;", p.journal, p.synchronous), nil
}

// sqlite finds the program.
func sqlite(s Script) (string, error) {
	path, err := command.Look("sqlite3")
	if err != nil {
		return "", fmt.Errorf("script %s: program sqlite3 is not installed: %w", s.Name, ErrAbsent)
	}
	return path, nil
}

// prepareDatabase creates the database.
func prepareDatabase(ctx context.Context, s Script, dir string) error {
	set, err := settings(s)
	if err != nil {
		return err
	}
	program, err := sqlite(s)
	if err != nil {
		return err
	}
	make := set + "CREATE TABLE rows(id INTEGER PRIMARY KEY, turn INTEGER, text TEXT);CREATE TABLE last(turn INTEGER);INSERT INTO last VALUES(0);"
	if _, err := command.Run(ctx, command.Options{}, program, "-batch", "-bail", filepath.Join(dir, databaseFile), make); err != nil {
		return fmt.Errorf("script %s: make the database: %w", s.Name, err)
	}
	return nil
}

// runDatabase commits transactions through one sqlite3 process, and marks each as
// returned when the program has answered after its commit.
func runDatabase(ctx context.Context, s Script, dir string, mark func(string) error) error {
	set, err := settings(s)
	if err != nil {
		return err
	}
	program, err := sqlite(s)
	if err != nil {
		return err
	}
	c, err := connect(program, filepath.Join(dir, databaseFile))
	if err != nil {
		return fmt.Errorf("script %s: %w", s.Name, err)
	}
	defer c.close()
	if err := c.ask(ctx, set, 0); err != nil {
		return fmt.Errorf("script %s: settings: %w", s.Name, err)
	}
	for turn := 1; turn <= s.Turns; turn++ {
		number := strconv.Itoa(turn)
		if err := mark(Begin + " " + number); err != nil {
			return fmt.Errorf("script %s: mark: %w", s.Name, err)
		}
		if err := c.ask(ctx, transaction(turn), turn); err != nil {
			return fmt.Errorf("script %s, transaction %d: %w", s.Name, turn, err)
		}
		if err := mark(End + " " + number); err != nil {
			return fmt.Errorf("script %s: mark: %w", s.Name, err)
		}
	}
	return nil
}

// connection is a running sqlite3 that reads SQL from a pipe line by line.
type connection struct {
	process *command.Process
	in      *os.File
	out     *os.File
	answers chan string // lines; closed at the end of the output
}

func connect(program, file string) (*connection, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	p, err := command.Start(command.Options{Stdin: inRead, Stdout: outWrite}, program, "-batch", "-bail", file)
	err = errors.Join(err, inRead.Close(), outWrite.Close())
	if err != nil {
		if p != nil {
			_ = p.Kill() // the error above matters more
		}
		return nil, errors.Join(err, inWrite.Close(), outRead.Close())
	}
	c := &connection{process: p, in: inWrite, out: outRead, answers: make(chan string, 16)}
	go func() {
		defer close(c.answers)
		for lines := bufio.NewScanner(outRead); lines.Scan(); {
			c.answers <- lines.Text()
		}
	}()
	return c, nil
}

// ask sends SQL, followed by a SELECT of a marker with the number, and waits for
// the marker. A statement that fails ends the program before that (-bail).
func (c *connection) ask(ctx context.Context, sql string, number int) error {
	echo := fmt.Sprintf("done %d", number)
	if _, err := io.WriteString(c.in, sql+"SELECT '"+echo+"';\n"); err != nil {
		return fmt.Errorf("sqlite3 does not accept input: %w", errors.Join(err, c.ended()))
	}
	limit := time.NewTimer(databaseLimit)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-c.answers:
			if !ok {
				soon, cancel := context.WithTimeout(ctx, databaseLimit)
				defer cancel()
				return fmt.Errorf("sqlite3 ended without an answer: %w", errors.Join(io.ErrUnexpectedEOF, c.process.Wait(soon)))
			}
			if line == echo {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("sqlite3 did not answer within %v", databaseLimit)
		}
	}
}

// ended returns the error with which the program ended, if it has.
func (c *connection) ended() error {
	select {
	case <-c.process.Done():
		return c.process.Err()
	default:
		return nil
	}
}

// close kills the program at once, as a power loss would: the work of an orderly
// exit (a checkpoint) is not part of the script.
func (c *connection) close() {
	_ = c.process.Kill() // a process that survives loses its pipes
	_ = c.in.Close()     // the process is gone
	_ = c.out.Close()    // read to its end, or no longer needed
	for range c.answers {
	}
}
