package powercut

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"whichfs/internal/host/machine"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
)

// journal has the cuts of an order that were made, so that an interrupted one goes on where it stopped: on
// a board each takes as long as the board needs to start. It is a file beside the contents that are kept,
// until the order is done. A cut's draws depend on its number alone, so it does not matter which are missing.
type journal struct {
	order string
	cuts  map[int]oneCut // by number

	mu sync.Mutex
	f  *os.File // nil: nothing is kept
}

// entry is a line of the file.
type entry struct {
	Order string
	Cut   oneCut
}

// longestEntry is the size of a line, in bytes: the notes of one cut are shorter.
const longestEntry = 1 << 20

// openJournal reads what an interrupted order has left.
func openJournal(order machine.Cut, under media.Storage) (*journal, error) {
	j := &journal{order: fmt.Sprintf("%s, %+v, seed %d, %g unsynced, on %s", order.Candidate, order.Variant, order.Seed, order.Unsynced, under), cuts: map[int]oneCut{}}
	if order.Keep == "" {
		return j, nil
	}
	path := filepath.Join(order.Keep, "cuts-"+fileName(order.Candidate.String())+".jsonl")
	err := os.MkdirAll(order.Keep, 0o755)
	if err == nil {
		j.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	}
	if err != nil {
		return nil, failed(err)
	}
	lines := bufio.NewScanner(j.f)
	lines.Buffer(nil, longestEntry)
	for lines.Scan() {
		var e entry
		// The last line may be torn; that cut is made again.
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Order == j.order && e.Cut.Number > 0 {
			j.cuts[e.Cut.Number] = e.Cut
		}
	}
	if err := lines.Err(); err != nil {
		return nil, errors.Join(failed(err), j.f.Close())
	}
	return j, nil
}

func failed(err error) error {
	return &result.Failure{Outcome: result.LabFailed, Reason: "the journal of power cuts", Err: err}
}

// add keeps a cut.
func (j *journal) add(one oneCut) error {
	if j.f == nil {
		return nil
	}
	line, err := json.Marshal(entry{j.order, one})
	if err != nil {
		return failed(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// A line that was torn must not spoil this one.
	if _, err = j.f.Write(append([]byte{'\n'}, append(line, '\n')...)); err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// close ends the journal, which is removed if the order is done.
func (j *journal) close(over bool) error {
	if j.f == nil {
		return nil
	}
	err := j.f.Close()
	if over {
		err = errors.Join(err, os.Remove(j.f.Name()))
		_ = os.Remove(filepath.Dir(j.f.Name())) // if nothing else is kept
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	return nil
}
