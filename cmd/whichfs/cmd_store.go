package main

import (
	"fmt"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

type storeCmd struct {
	Copy storeCopyCmd `cmd:"" help:"Copy all runs and probes from one store to another."`
	Init storeInitCmd `cmd:"" help:"Make the tables of a store in PostgreSQL, and print the SQL that lets workers and viewers use it."`
}

type storeCopyCmd struct {
	From string `arg:"" help:"A file, or the URL of a database." placeholder:"FROM"`
	To   string `arg:"" help:"A file, or the URL of a database; made if it is missing." placeholder:"TO"`
}

func (c *storeCopyCmd) Run(a *shell) error {
	from, err := store.OpenReadOnly(c.From)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // read only
	to, err := store.Open(c.To)
	if err != nil {
		return err
	}
	defer to.Close() //nolint:errcheck // every write was synced
	if from.Path() == to.Path() {
		return result.Refuse("name two", "%s is one store", from.Path())
	}
	for _, st := range []*store.Store{from, to} {
		st.Notify(a.note)
	}
	var failed error
	err = store.Copy(from, to, func(one store.Copied) {
		switch {
		case one.Err != nil:
			if failed != nil {
				a.note(failed.Error())
			}
			failed = one.Err
		case one.Was:
			fmt.Fprintln(a.stdout, "there   ", one.ID, one.Digest)
		default:
			fmt.Fprintln(a.stdout, "copied  ", one.ID, one.Digest)
		}
	})
	if err != nil {
		return err
	}
	return failed
}

type storeInitCmd struct{}

func (*storeInitCmd) Run(a *shell) error {
	st, err := a.Store()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	text, err := st.Roles()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.stdout, text)
	return err
}
