package workload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"whichfs/internal/fault"
	"whichfs/internal/fault/script"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/aftermath"
)

// faultFiles are files of the same size that are written one after the other. Every iteration
// writes the same bytes: no two pieces of 512 bytes are equal, and none begins with a zero, which
// is the byte that a corrupting device writes there.
type faultFiles struct {
	count int
	size  int // B, of one
	data  []byte
}

// piece is the unit in which contents are distinguished, in bytes: the least that a device writes
// at once.
const piece = 512

func newFaultFiles(step scenario.Step, size int64, count int) (*faultFiles, error) {
	if step.Size != 0 {
		size = step.Size
	}
	if step.Files != 0 {
		count = step.Files
	}
	if count < 1 || count > 100_000 || size/int64(max(count, 1)) < fault.BlockSize || size > 1<<30 {
		return nil, result.Refuse("", "step %q: %d files of %d bytes together (files of %d bytes at least)", step.Work, count, size, fault.BlockSize)
	}
	f := &faultFiles{count: count, size: int(size/int64(count)) &^ (fault.BlockSize - 1)}
	f.data = make([]byte, f.count*f.size)
	state := step.Seed
	for i := 0; i < len(f.data); i += 8 {
		word := splitMix(&state)
		if i%piece == 0 && byte(word) == 0 {
			word |= 0x5a
		}
		binary.LittleEndian.PutUint64(f.data[i:], word)
	}
	return f, nil
}

// splitMix draws a word and advances the state (SplitMix64: Steele, Lea, Flood,
// Fast splittable pseudorandom number generators, 2014).
func splitMix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	word := (*state ^ *state>>30) * 0xbf58476d1ce4e5b9
	word = (word ^ word>>27) * 0x94d049bb133111eb
	return word ^ word>>31
}

func (f *faultFiles) name(i int) string { return fmt.Sprintf("f%07d", i+1) }

func (f *faultFiles) contents(i int) []byte { return f.data[i*f.size : (i+1)*f.size] }

// faultWriter writes files from the first byte of the first to the last byte of the last. The
// directory is open from the start: syncfs reports errors that occurred since then.
type faultWriter struct {
	*faultFiles
	dir  *os.File
	file *os.File
	at   int // of data
}

// upTo writes the data before end and syncs the filesystem.
func (w *faultWriter) upTo(end int) error {
	for w.at < end {
		i := w.at / w.size
		if w.file == nil {
			var err error
			if w.file, err = os.OpenFile(filepath.Join(w.dir.Name(), w.name(i)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
				return fmt.Errorf("create %s: %w", w.name(i), cause(err))
			}
		}
		n := min(end, (i+1)*w.size, w.at+128<<10)
		if _, err := w.file.Write(w.data[w.at:n]); err != nil {
			return fmt.Errorf("write %s: %w", w.name(i), cause(err))
		}
		if w.at = n; n == (i+1)*w.size {
			if err := w.close(); err != nil {
				return fmt.Errorf("close %s: %w", w.name(i), cause(err))
			}
		}
	}
	if err := unix.Syncfs(int(w.dir.Fd())); err != nil {
		return fmt.Errorf("syncfs: %w", err)
	}
	return nil
}

func (w *faultWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

// judge compares the tree below root with what was written: the first promised bytes must be there.
// For the bytes from there to attempted, an error had been reported: their loss breaks no promise,
// and counts as fault.IOError.
func (f *faultFiles) judge(root string, promised, attempted int) aftermath.Found {
	var got aftermath.Found
	for i := range f.count {
		from := i * f.size
		if from >= attempted {
			break
		}
		must, may := min(max(promised-from, 0), f.size), min(attempted-from, f.size)
		path := filepath.Join(root, f.name(i))
		if must > 0 {
			got.Promises++
			if o, what := likeness(path, f.contents(i)[:must]); o != fault.Whole {
				got.Breaches = append(got.Breaches, fault.Breach{Promise: script.PromiseSync, Path: f.name(i), Outcome: o, What: f.name(i) + ": " + what})
				continue
			}
		}
		if may > must {
			if o, what := likeness(path, f.contents(i)[:may]); o != fault.Whole {
				got.Breaches = append(got.Breaches, fault.Breach{Promise: script.PromiseNone, Path: f.name(i), Outcome: fault.IOError,
					What: fmt.Sprintf("%s: an error had been reported: %s", f.name(i), what)})
			}
		}
	}
	got.ReadOnly = writable(root)
	return got
}

// likeness compares the beginning of a file with what must be there, and describes the difference.
// It reads on after errors: worse may follow.
func likeness(path string, want []byte) (fault.Outcome, string) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fault.Lost, "it is missing"
	}
	if err != nil {
		return fault.IOError, fmt.Sprintf("open: %v", cause(err))
	}
	defer file.Close() //nolint:errcheck // read only
	worst, what := fault.Whole, ""
	worse := func(o fault.Outcome, at int, text string) {
		if o > worst {
			worst, what = o, fmt.Sprintf("%s (byte %d of %d)", text, at, len(want))
		}
	}
	const chunk = 128 << 10
	buf := make([]byte, chunk)
	for at, step := 0, chunk; at < len(want); {
		n := min(step, len(want)-at)
		read, err := file.ReadAt(buf[:n], int64(at))
		if err != nil && !errors.Is(err, io.EOF) && step > fault.BlockSize && worst < fault.IOError {
			step = fault.BlockSize // the granularity of unreadable data
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			worse(fault.IOError, at, fmt.Sprintf("it cannot be read: %v", cause(err)))
		} else if o := unlikeness(want[at:at+n], buf[:read]); o != fault.Whole {
			same := 0
			for same < read && buf[same] == want[at+same] {
				same++
			}
			worse(o, at+same, "it is "+o.Key()+" from here")
		}
		if at += n; at%chunk == 0 {
			step = chunk
		}
	}
	return worst, what
}

// unlikeness classifies contents: whole; shorter but otherwise correct; zeros in place of other
// data, at least to the end of a piece; or wrong.
func unlikeness(want, got []byte) fault.Outcome {
	if bytes.Equal(want, got) {
		return fault.Whole
	}
	if len(got) > len(want) {
		return fault.Wrong
	}
	worst := fault.Whole
	if len(got) < len(want) {
		worst = fault.Truncated
	}
	for at := 0; at < len(got); at += piece {
		end := min(at+piece, len(got))
		a, b := want[at:end], got[at:end]
		same := 0
		for same < len(b) && a[same] == b[same] {
			same++
		}
		switch rest := b[same:]; {
		case len(rest) == 0:
		case len(bytes.Trim(rest, "\x00")) > 0:
			return fault.Wrong
		default:
			worst = fault.Zeroed
		}
	}
	return worst
}

// writable checks whether a directory still accepts a new file, and says why not.
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
