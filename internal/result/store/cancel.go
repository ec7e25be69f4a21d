package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A run that a fleet carries out ends in the database. Another one is cancelled by a note in its row, which
// whoever may change the run may write. A notification has the process that carries it out read the note at
// once, on whatever machine it is; it reads it as well after its connection was lost.

// cancelChannel is that of the notifications.
const cancelChannel = "whichfs_cancel"

func (p *postgres) cancel(id string) error {
	if p.shared(id) {
		return p.cancelShared(id)
	}
	if !p.held(id) {
		return heldNowhere(id)
	}
	tx, err := p.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	noted, err := tx.Exec("UPDATE run SET cancelled = 1 WHERE id = $1", id)
	if err != nil {
		return err
	}
	if n, err := noted.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, notOwned(p.url, "run", id))
	}
	if _, err := tx.Exec("SELECT pg_notify($1, '')", cancelChannel); err != nil {
		return err
	}
	return tx.Commit()
}

// heed has cancel called when somebody cancels a run; nil ends that.
func (p *postgres) heed(id string, cancel func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel == nil {
		delete(p.cancels, id)
	} else {
		p.cancels[id] = cancel
	}
	switch {
	case len(p.cancels) == 0 && p.unlisten != nil:
		p.unlisten()
		p.unlisten = nil
	case len(p.cancels) > 0 && p.unlisten == nil:
		ctx, end := context.WithCancel(context.Background())
		p.unlisten = end
		go p.listen(ctx)
	}
}

// listen waits for notifications on a connection of its own until ctx ends. A lost connection is made
// again, and so is the store's, which marks the runs: that must not wait for a trial's end.
func (p *postgres) listen(ctx context.Context) {
	for ctx.Err() == nil {
		c, err := pgx.ConnectConfig(ctx, &p.config)
		if err == nil {
			if _, err = c.Exec(ctx, "LISTEN "+cancelChannel); err == nil {
				err = p.db.PingContext(ctx)
			}
			for err == nil {
				if err = p.callCancelled(ctx, c); err == nil {
					_, err = c.WaitForNotification(ctx)
				}
			}
			_ = c.Close(context.WithoutCancel(ctx)) // it may be lost
		}
		select {
		case <-ctx.Done():
		case <-time.After(relisten):
		}
	}
}

// relisten is the pause before a lost connection is made again.
const relisten = time.Second

// callCancelled ends the runs of this process that somebody has cancelled.
func (p *postgres) callCancelled(ctx context.Context, c *pgx.Conn) error {
	p.mu.Lock()
	mine := slices.Collect(maps.Keys(p.cancels))
	p.mu.Unlock()
	rows, err := c.Query(ctx, "SELECT id FROM run WHERE cancelled <> 0 AND id = ANY ($1)", mine)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, id := range ids {
		p.mu.Lock()
		cancel := p.cancels[id]
		p.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
	return err
}
