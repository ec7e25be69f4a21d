package store

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"whichfs/internal/result"
	"whichfs/internal/sys/bounded"
)

// maxArtifact is the maximum length of a text that is read back, in bytes: no
// message of an agent exceeds 16 MiB, so a longer one was not written by us.
const maxArtifact = 64 << 20

func (t *tx) artifacts(trial int64, all []result.Artifact) error {
	for i, a := range all {
		var body bytes.Buffer
		w := zlib.NewWriter(&body)
		_, err := io.WriteString(w, a.Text)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
		if _, err := t.Exec("INSERT INTO artifact VALUES (?, ?, ?, ?, ?)", trial, i, a.Phase, a.Name, body.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// Artifacts returns the complete output of other programs during a trial, by
// the trial's number.
func (s *Store) Artifacts(trial int64) (out []result.Artifact, err error) {
	err = s.read(fmt.Sprintf("reading the stored output of trial %d", trial), func(c *conn) error {
		out = nil
		return each(c, func(scan func(...any) error) error {
			var a result.Artifact
			var body []byte
			if err := scan(&a.Phase, &a.Name, &body); err != nil {
				return err
			}
			r, err := zlib.NewReader(bytes.NewReader(body))
			if err != nil {
				return fmt.Errorf("%s: %w", a.Name, err)
			}
			text, err := bounded.ReadAll(r, maxArtifact, "the stored output")
			if err != nil {
				return fmt.Errorf("%s: %w", a.Name, err)
			}
			a.Text = string(text)
			out = append(out, a)
			return nil
		}, "SELECT phase, name, body FROM artifact WHERE trial = ? ORDER BY place", trial)
	})
	return out, err
}

// Series returns the IDs of the runs of a series, oldest first; for a single
// run, its own ID.
func (s *Store) Series(run result.Run) (ids []string, err error) {
	if run.Series == "" {
		return []string{run.ID}, nil
	}
	err = s.read("reading series "+run.Series, func(c *conn) error {
		ids = nil
		return each(c, func(scan func(...any) error) error {
			var id string
			if err := scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
			return nil
		}, "SELECT id FROM run WHERE series = ? ORDER BY number", run.Series)
	})
	return ids, err
}
