package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Patience is how long a store waits for a database that went away.
const Patience = 10 * time.Minute

// Notify has f called with what a user should know while a call takes long.
func (s *Store) Notify(f func(text string)) { s.notify = f }

// persist calls f again while the connection or the transaction was lost for a
// passing reason.
func (s *Store) persist(f func() error) error {
	begun, said := time.Now(), false
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, 2*time.Second) {
		err := f()
		if err == nil || time.Since(begun) > s.patience || !passing(err) {
			return err
		}
		if !said && s.notify != nil && time.Since(begun) > time.Second {
			said = true
			s.notify(fmt.Sprintf("results store %s: %v; trying again for %s (interrupt twice to give up)", s.path, err, s.patience))
		}
		time.Sleep(delay)
	}
}

// errHeld: the mark of a run was lost with the connection, and the server does
// not know yet, or another process was faster.
type errHeld struct{ error }

// passing reports whether a connection or a transaction was lost for a reason
// that says nothing about what was asked.
func passing(err error) bool {
	var ours *errHeld
	var server *pgconn.PgError
	var connecting *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &ours):
		return true
	case errors.As(err, &server): // also while connecting
		return slices.Contains(passingCodes, server.Code) || server.Code[:2] == "08"
	case errors.As(err, &connecting), errors.As(err, &network):
		return true
	}
	for _, lost := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// passingCodes: https://www.postgresql.org/docs/15/errcodes-appendix.html
var passingCodes = []string{
	"57P01", "57P02", "57P03", // shut down, crashed, starting
	"57P05", "25P03", // idle for too long
	"53300",          // too many connections
	"40001", "40P01", // of two transactions at once this one lost
	"23P01", // another process has just added the same word
}
