package serve

import (
	"net/http"

	"whichfs/internal/report/doc"
	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

// notesSection shows what people wrote about a run, and takes more.
func notesSection(st *store.Store, run result.Run) (doc.Section, error) {
	list, err := st.Remarks(run.ID)
	if err != nil {
		return doc.Section{}, err
	}
	var items []doc.Item
	for _, n := range list {
		items = append(items, doc.Item{Mark: "·", Lead: n.Written.Format("2006-01-02 15:04 UTC"), Text: n.Text})
	}
	return doc.Section{ID: "notes", Title: "Notes", Body: []doc.Block{doc.Items{List: items},
		doc.Form{Name: "New note", Action: base(run) + "notes", Post: true, Submit: "Keep the note", Fields: []doc.Field{
			{Name: "text", Label: "New note; a word that begins with # is a label, by which runs are found", Kind: doc.Area, Hint: "#before-the-fix the card was replaced"}}}}}, nil
}

func (s *Server) writeNote(w http.ResponseWriter, r *http.Request) error {
	if !s.authorised(r) {
		return needToken("write notes")
	}
	st, err := s.App.ExistingStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	run, err := st.Run(r.PathValue("run"))
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return refuse(http.StatusBadRequest, "", "the form cannot be read: %v", err)
	}
	if err := st.AddRemark(run.ID, r.PostForm.Get("text")); err != nil {
		return err
	}
	http.Redirect(w, r, "/runs/"+run.ID+"#notes", http.StatusSeeOther)
	return nil
}

// cancelSection ends a run that is being carried out.
func cancelSection(run result.Run, state string) doc.Section {
	if state != string(result.Running) {
		return doc.Section{In: doc.Brief}
	}
	return doc.Section{ID: "cancel", Title: "Cancel", Body: []doc.Block{
		doc.Para{Text: "The trial under way is abandoned, all others are stored; whichfs resume " + run.ID + " continues."},
		doc.Form{Name: "Cancel", Action: base(run) + "cancel", Post: true, Submit: "Cancel this run"}}}
}

func (s *Server) cancelRun(w http.ResponseWriter, r *http.Request) error {
	if !s.authorised(r) {
		return needToken("cancel runs")
	}
	st, err := s.App.ExistingStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // every write was synced
	run, err := st.Run(r.PathValue("run"))
	if err != nil {
		return err
	}
	if err := st.Cancel(run.ID); err != nil {
		return err
	}
	http.Redirect(w, r, "/runs/"+run.ID, http.StatusSeeOther)
	return nil
}
