package workload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/filesystem"
	"whichfs/internal/kmsg"
)

// found is what a directory holds of what was promised.
type found struct {
	promises, broken int
	losses           []fault.Breach // broken ones, and losses that had been reported
	readOnly         string         // why nothing can be written any more
}

// sight is what was seen of a filesystem after a fault.
type sight struct {
	mounted bool
	why     string        // it was not mounted
	took    time.Duration // to mount
	hung    string        // the call that did not return
	died    string        // what the kernel said when it gave up
	said    filesystem.Said
	found
}

// deaths are in what the kernel says when it gives up on a thread or on itself.
var deaths = []string{"kernel BUG at ", "BUG: unable to handle", "BUG: kernel NULL", "Oops: ", "general protection fault"}

var aboveDisk = regexp.MustCompile(`\((device )?dm-\d+`)

// read takes in what the kernel has said. What it says of a device above the disk
// is late news of how the data was written.
func (s *sight) read(fs filesystem.Filesystem, lines []string) {
	lines = slices.DeleteFunc(lines, func(line string) bool { return aboveDisk.MatchString(line) })
	s.said = fs.ReadKernel(lines)
	for _, line := range lines {
		if s.died == "" && slices.ContainsFunc(deaths, func(mark string) bool { return strings.Contains(line, mark) }) {
			s.died = line
		}
	}
}

// outcome is the worst of what was seen.
func (s *sight) outcome() fault.Outcome {
	switch {
	case s.died != "":
		return fault.Died
	case s.hung != "":
		return fault.Hang
	case !s.mounted:
		return fault.Unmountable
	}
	worst := fault.Whole
	switch {
	case s.readOnly != "":
		worst = fault.ReadOnly
	case len(s.said.Errors) > 0:
		worst = fault.Reported
	case len(s.said.Replay) > 0:
		worst = fault.Recovered
	}
	for _, l := range s.losses {
		worst = max(worst, l.Outcome)
	}
	return worst
}

// words tell what was lost, of the first losses alone.
func (s *sight) words() string {
	const told = 2
	var out []string
	switch {
	case s.died != "":
		out = append(out, "the kernel: "+s.died)
	case s.hung != "":
		out = append(out, s.hung)
	case !s.mounted:
		out = append(out, s.why)
	}
	for i, l := range s.losses {
		if i == told {
			out = append(out, fmt.Sprintf("and %d more", len(s.losses)-i))
			break
		}
		out = append(out, l.What)
	}
	if s.readOnly != "" {
		out = append(out, "it takes no more writes: "+s.readOnly)
	}
	if len(s.said.Errors) > 0 {
		out = append(out, "kernel: "+s.said.Errors[0])
	}
	return strings.Join(out, "; ")
}

// look mounts the disk, has its contents judged and unmounts it. The judge is
// given a directory that it may write to; where it hangs, it is left alone.
func (b *bed) look(judge func(root string) found) (s sight) {
	log := kmsg.SinceNow()
	defer log.Close()
	defer func() { s.read(b.env.FS, log.Lines()) }()
	root, took, err := b.mount(b.disk.Path())
	s.took = took
	var hung errHung
	if err != nil {
		if s.why = err.Error(); errors.As(err, &hung) {
			s.hung = hung.Error()
		}
		return s
	}
	s.mounted = true
	got, ended := patiently(callPatience, func() found { return judge(root) })
	if !ended {
		b.abandon()
		s.hung = errHung{"reading back what was written"}.Error()
		return s
	}
	s.found = got
	if err := b.unmount(root); err != nil {
		if errors.As(err, &hung) {
			s.hung = hung.Error()
		} else { // nobody else knows of it, so that it is the filesystem's
			b.abandon()
			s.hung = err.Error()
		}
	}
	return s
}

// writable tries whether a directory still takes a file, and says why not.
func writable(dir string) string {
	path := filepath.Join(dir, "after")
	f, err := os.Create(path)
	if err != nil {
		return fmt.Sprintf("create: %v", cause(err))
	}
	_, err = f.Write(make([]byte, 4096))
	if err == nil {
		err = f.Sync()
	}
	if end := f.Close(); err == nil {
		err = end
	}
	if err == nil {
		err = unix.Unlink(path)
	}
	if err != nil {
		return cause(err).Error()
	}
	return ""
}
