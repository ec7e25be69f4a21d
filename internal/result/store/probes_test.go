package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result/store"
	"whichfs/internal/result/store/storetest"
	"whichfs/internal/testing/must"
)

func TestProbes(t *testing.T) {
	everywhere(t, func(t *testing.T, s *store.Store, path string) {
		if _, _, err := s.Probe("last"); !errors.Is(err, store.ErrNoProbe) {
			t.Errorf("a probe of an empty store: %v", err)
		}
		if list, err := s.Probes(); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		for i, of := range []struct{ id, identity, storage string }{
			{"20260101-000001-aaaa", "Card-1", "/dev/sdb"}, {"20260101-000002-aaab", "lab", "sim:sd-basic"},
			{"20260101-000003-aaac", "lab", "disk:1G"}, {"20260102-000004-aaad", "Card-1", "/dev/sdc"},
		} {
			r := storetest.Probe(uint64(i))
			r.Identity, r.Storage = of.identity, of.storage
			must.Do(t, s.SaveProbe(of.id, r))
			if id, got, err := s.Probe(of.id); err != nil || id != of.id || cmp.Diff(r, got) != "" {
				t.Errorf("%s %v\n%s", id, err, cmp.Diff(r, got))
			}
		}
		refused(t, s.SaveProbe("20260101-000001-aaaa", storetest.Probe(9)), nil, "already")
		for _, id := range []string{"", "last", "latest"} {
			refused(t, s.SaveProbe(id, storetest.Probe(9)), nil, "cannot be called")
		}
		for asked, want := range map[string]string{"last": "20260102-000004-aaad", "latest": "20260102-000004-aaad",
			"20260102": "20260102-000004-aaad", "20260101-000002": "20260101-000002-aaab"} {
			if id, _, err := s.Probe(asked); err != nil || id != want {
				t.Errorf("%s: %s, %v", asked, id, err)
			}
		}
		_, _, err := s.Probe("20260101")
		refused(t, err, store.ErrNoProbe, "20260101-000003-aaac", "20260101-000001-aaaa", "give more of the name")
		_, _, err = s.Probe("porridge")
		refused(t, err, store.ErrNoProbe, path, "whichfs probes")
		for _, c := range []struct{ identity, storage, want string }{
			{"Card-1", "", "20260102-000004-aaad"}, {"Card-1", "/dev/sdb", "20260101-000001-aaaa"},
			{"lab", "sim:sd-basic", "20260101-000002-aaab"}, {"lab", "disk:1G", "20260101-000003-aaac"},
			{"", "sim:sd-basic", "20260101-000002-aaab"}, {"lab", "disk:2G", ""}, {"Card-2", "", ""},
		} {
			id, _, err := s.LatestProbe(c.identity, c.storage)
			if id != c.want || (c.want == "") != errors.Is(err, store.ErrNoProbe) {
				t.Errorf("%+v: %s, %v", c, id, err)
			}
		}
		list, err := s.Probes()
		must.Do(t, err)
		if len(list) != 4 || list[0].ID != "20260102-000004-aaad" || list[0].Identity != "Card-1" || list[0].Storage != "/dev/sdc" ||
			list[0].Started.IsZero() || list[1].Wrote == list[2].Wrote {
			t.Errorf("%+v", list)
		}
		must.Do(t, s.DeleteProbe("20260102-000004-aaad"))
		refused(t, s.DeleteProbe("20260102-000004-aaad"), store.ErrNoProbe)
		if id, _, err := s.LatestProbe("Card-1", ""); err != nil || id != "20260101-000001-aaaa" {
			t.Errorf("%s, %v", id, err)
		}
		must.Do(t, s.Close())
		// Stored probes are available to the next process, which may have only read
		// permission.
		r, err := store.OpenReadOnly(path)
		must.Do(t, err)
		defer r.Close() //nolint:errcheck // read only
		if list, err := r.Probes(); err != nil || len(list) != 3 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// A store from before there were probes opens, keeps its runs, and takes
// probes. It is created by the first migration alone, as in that release.
func TestStoreWithoutProbes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	first, err := os.ReadFile("migrations/0001_first.sql")
	must.Do(t, err)
	db, err := sql.Open("sqlite", "file:"+path)
	must.Do(t, err)
	_, err = db.Exec(string(first) + "; PRAGMA application_id = 2003202930; PRAGMA user_version = 1;" +
		`INSERT INTO run (id, study, scale, machine, storage, seed, rounds, planned, candidates, margin, version, emulated, state, active)
		VALUES ('old', 's', 'quick', 'lab', 'disk:1G', '1', 1, 1, '["ext4"]', 0.1, '1', 0, 'finished', 1)`)
	must.Do(t, err)
	must.Do(t, db.Close())
	// A reader without write permission must report that the store is too old.
	_, err = store.OpenReadOnly(path)
	refused(t, err, store.ErrVersion, "older whichfs")
	s, err := store.Open(path)
	must.Do(t, err)
	defer s.Close() //nolint:errcheck // every write was synced
	if r, err := s.Run("old"); err != nil || r.Candidates[0] != "ext4" {
		t.Errorf("%+v, %v", r, err)
	}
	must.Do(t, s.SaveProbe("new", storetest.Probe(1)))
	if _, _, err := s.LatestProbe(storetest.Probe(1).Identity, ""); err != nil {
		t.Error(err)
	}
}
