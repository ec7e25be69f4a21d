// Package parts has what every board for tests needs: a switch for its power, and an ssh client that knows it.
package parts

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Relay switches a board's power as the program in the board's file asks for.
type Relay struct {
	dir  string
	do   *os.File // what the power is to be, and
	done *os.File // the answer
	work sync.WaitGroup
}

// NewRelay makes a relay whose files are in a directory. It calls to, never twice at once.
func NewRelay(dir string, to func(on bool) error) (r *Relay, err error) {
	r = &Relay{dir: dir}
	for name, f := range map[string]**os.File{"do": &r.do, "done": &r.done} {
		path := filepath.Join(dir, name)
		if err = unix.Mkfifo(path, 0o600); err == nil {
			*f, err = os.OpenFile(path, os.O_RDWR, 0) // open for as long as others come and go
		}
		if err != nil {
			r.Close()
			return nil, err
		}
	}
	r.work.Go(func() {
		for orders := bufio.NewScanner(r.do); orders.Scan(); {
			var err error
			switch order := orders.Text(); order {
			case "on", "off":
				err = to(order == "on")
			default:
				err = fmt.Errorf("what is %q?", order)
			}
			answer := "done"
			if err != nil {
				answer = strings.ReplaceAll(err.Error(), "\n", "; ")
			}
			if _, err := r.done.WriteString(answer + "\n"); err != nil {
				return
			}
		}
	})
	return r, nil
}

// Power is the line of a board's file.
func (r *Relay) Power() string {
	return fmt.Sprintf("power = [\"sh\", \"-c\", 'echo $1 >\"$2/do\" && read -r x <\"$2/done\" && [ \"$x\" = done ]', \"sh\", \"{action}\", %q]\n", r.dir)
}

// Close ends it.
func (r *Relay) Close() {
	for _, f := range []*os.File{r.do, r.done} {
		if f != nil {
			_ = f.Close()
		}
	}
	r.work.Wait()
}
