package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"whichfs/internal/fault/finding"
	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// Findings of crash states are files beside the store, in a directory for each exploration.

// mostFindings is the number of findings in the list, the latest.
const mostFindings = 500

// findings opens the directory that has them; nil if there is none. No name in it leads out of it.
func (s *Server) findings() (*os.Root, error) {
	dir, err := s.App.Evidence("")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return root, err
}

// crashPrefix is that of explorations' directories.
const crashPrefix = "crash-"

func (s *Server) listFindings(w http.ResponseWriter, r *http.Request) error {
	d := doc.Doc{Title: "Crash states that break promises", Kicker: "whichfs serve", Version: s.App.Version}
	t := doc.Table{Name: "Findings", Merge: true, Columns: []doc.Column{{Head: "Finding", Kind: doc.Names}, {Head: "Exploration"}}}
	root, err := s.findings()
	if err != nil {
		return err
	}
	if root != nil {
		defer root.Close() //nolint:errcheck // read only
		files, err := fs.Glob(root.FS(), crashPrefix+"*/*.json")
		if err != nil {
			return err
		}
		slices.Sort(files)
		slices.Reverse(files) // their directories are named by time
		for _, f := range files[:min(len(files), mostFindings)] {
			dir, name := path.Split(f)
			t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{{Text: strings.TrimSuffix(name, ".json"), Href: "/findings/" + url.PathEscape(strings.TrimSuffix(dir, "/")) + "/" + url.PathEscape(name)},
				doc.T(strings.TrimPrefix(strings.TrimSuffix(dir, "/"), crashPrefix))}})
		}
	}
	body := []doc.Block{doc.Para{Text: "Each is a state that a power loss can leave and that breaks a promise: whichfs crash explore finds them."}, t}
	d.Sections = []doc.Section{{ID: "findings", Title: units.Count(len(t.Rows), "finding"), Body: body}}
	return s.show(w, r, d, doc.Site{})
}

func (s *Server) showFinding(w http.ResponseWriter, r *http.Request) error {
	dir, name := r.PathValue("exploration"), r.PathValue("file")
	none := refuse(http.StatusNotFound, "the list has all", "there is no finding %s of %s", name, dir)
	root, err := s.findings()
	if err != nil {
		return err
	}
	if root == nil || !strings.HasPrefix(dir, crashPrefix) {
		return none
	}
	defer root.Close() //nolint:errcheck // read only
	file, err := root.Open(dir + "/" + name)
	if err != nil {
		return none
	}
	defer file.Close() //nolint:errcheck // read only
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return none
	}
	f, err := finding.Decode(file)
	if err != nil {
		return result.Refuse("", "%s of %s: %v", name, dir, err)
	}
	d := report.FindingDoc(f, false)
	d.Version = s.App.Version
	d.Sections = append(d.Sections, doc.Section{ID: "more", Title: "More", Body: []doc.Block{
		doc.Commands{List: []doc.Command{{Line: fmt.Sprintf("whichfs crash replay %s", name), About: "tries this state again; the file is in " + dir + " beside the store"}}},
		doc.Links{Name: "Related", List: []doc.Link{{Text: "All findings", Href: "/findings"}}}}})
	return s.show(w, r, d, doc.Site{})
}
