package serve

import (
	_ "embed"
	"fmt"
	"net/http"
	"time"

	"whichfs/internal/result"
	"whichfs/internal/result/store"
)

//go:embed live.js
var liveScript []byte

func (s *Server) script(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, err := w.Write(liveScript)
	return err
}

// lookEvery is how often the store is asked whether a page has changed. Runs are carried out by other
// processes, which say so nowhere else.
const lookEvery = time.Second

// stream sends an event whenever what look returns changes, until it is the last, the browser leaves
// or the server ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, look func() (now string, last bool, err error)) error {
	before, last, err := look()
	if err != nil {
		return err
	}
	out := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	// The request has been read; its deadline would end the stream.
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	send := func(event string) error {
		if err := out.SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, before); err != nil {
			return err
		}
		return out.Flush()
	}
	// The page may be older than the first look.
	if send("change") != nil {
		return nil // the browser has left
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !last {
		select {
		case <-r.Context().Done():
			return nil
		case <-s.ends.Done():
			return nil
		case <-tick.C:
		}
		now, ended, err := look()
		if err != nil {
			return nil // the store is busy or gone: the browser asks again
		}
		last = ended
		if now == before {
			continue
		}
		before = now
		if send("change") != nil {
			return nil
		}
	}
	_ = send("end") // the browser may have left
	return nil
}

func (s *Server) runEvents(w http.ResponseWriter, r *http.Request) error {
	return s.withRun(w, r, func(st *store.Store, run result.Run) error {
		return s.stream(w, r, func() (string, bool, error) {
			p, err := st.Progress(run.ID)
			run.State = p.State
			state := st.StateOf(run)
			return fmt.Sprint(p, state), state != string(result.Running), err
		})
	})
}

func (s *Server) listEvents(w http.ResponseWriter, r *http.Request) error {
	st, err := s.App.ReadStore()
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // read only
	q := searched(r.URL.Query())
	return s.stream(w, r, func() (string, bool, error) {
		list, total, err := st.Find(q)
		text := fmt.Sprint(total)
		for _, one := range list {
			text += fmt.Sprint(" ", one.Run.ID, one.Done, one.Failed, st.StateOf(one.Run))
		}
		return result.DigestOfRuns([]string{text}), false, err
	})
}
