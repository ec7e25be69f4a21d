package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"whichfs/internal/report"
	"whichfs/internal/report/doc"
	"whichfs/internal/sys/harmless"
)

// exportSection leads to the runs of a search in the formats of programs.
func exportSection(v url.Values, total int) doc.Section {
	if total == 0 {
		return doc.Section{In: doc.Brief}
	}
	links := doc.Links{Name: "Data"}
	for _, f := range report.All {
		if f.Export != nil {
			links.List = append(links.List, doc.Link{Text: f.Name, Href: query("/export/"+f.Name, changed(v, "before", ""))})
		}
	}
	line := "whichfs export"
	for _, name := range searchWords {
		if x := v.Get(name); x != "" {
			line += " --" + name + " " + harmless.Word(x)
		}
	}
	return doc.Section{ID: "data", Title: "Data", Body: []doc.Block{doc.Para{Text: "All runs of this search in one file, for other programs."}, links,
		doc.Commands{List: []doc.Command{{Line: line + " --format csv --output runs.csv", About: "writes the same in a terminal", Whole: true}}}}}
}

// export sends all runs of a search as one file. It is complete, or an error.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	f, ok := report.ByName(r.PathValue("format"))
	if !ok || f.Export == nil {
		return refuse(http.StatusNotFound, "the list of runs leads to all of them", "there is no format %q of several runs", r.PathValue("format"))
	}
	ids, err := s.App.Exported(searched(r.URL.Query()), nil)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "whichfs-export-")
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is removed
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(s.ends, stop)()
	out := http.NewResponseController(w)
	if err := out.SetWriteDeadline(time.Time{}); err != nil { // many runs take their time to judge
		return err
	}
	e := f.Export(file)
	if err := s.App.Export(ctx, f, e, ids, func(int) {}); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	attach(w, fmt.Sprintf("whichfs-runs.%s", f.Extension), types[f.Extension], size)
	for err == nil {
		if err = out.SetWriteDeadline(time.Now().Add(answerTime)); err == nil {
			_, err = io.CopyN(w, file, 1<<20)
		}
	}
	return nil // all is sent, or the browser is gone
}
