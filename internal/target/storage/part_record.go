package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"whichfs/internal/sys/owner"
)

// The kernel keeps a partition of its own making when the process that asked for
// it is killed, and nothing tells it from those of a partition table. So each is
// written down before it is made, in a file that is named for the process.

// partKind is what owner calls the records.
const partKind = "partition"

// partRecord is what is known of a partition.
type partRecord struct {
	Boot          string // identity of the kernel's run
	Disk          string // the kernel's name
	Sequence      uint64 // of the disk
	Number        int
	Start, Length int64  // B
	Node          uint64 `json:",omitempty"` // inode of its directory in sysfs; 0 where nobody lived to write it down
}

// recordDirs are where records may lie: of the system, which goes with the boot
// as partitions do, and of the user, where that cannot be had.
func (r Roots) recordDirs() []string {
	return []string{r.Run, filepath.Join(os.TempDir(), fmt.Sprintf("whichfs-%d", os.Geteuid()))}
}

// record writes down a partition that is about to be made, and throws away
// records that stand for nothing any more.
func (r Roots) record(p partRecord) (path string, err error) {
	for _, old := range r.deadRecords() {
		if _, spent := r.stalePart(old); spent {
			_ = os.Remove(old)
		}
	}
	name, err := owner.Name(partKind)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	var errs []error
	for _, dir := range r.recordDirs() {
		path := filepath.Join(dir, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil || errors.Is(err, os.ErrExist) {
			if err = own(dir); err == nil {
				if err = os.WriteFile(path, text, 0o644); err == nil { //nolint:gosec // anybody may see what was left
					return path, nil
				}
			}
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("a partition that cannot be written down could not be taken away after a crash: %w", errors.Join(errs...))
}

// own makes sure that nobody else writes in a directory, but root.
func own(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	uid := int(st.Sys().(*syscall.Stat_t).Uid)
	if !st.IsDir() || st.Mode().Perm()&0o022 != 0 || uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s is not a directory that only this user writes", dir)
	}
	return nil
}

// complete adds to a record what is known once the partition is made: its
// directory's inode, which one that comes later in its place does not have.
func (r Roots) complete(path, partition string) error {
	node, err := inode(filepath.Join(r.Sys, "class/block", partition))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "{\"Node\":%d}", node)
	return errors.Join(err, f.Close())
}

// forget removes a record.
func forget(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func inode(path string) (uint64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return st.Sys().(*syscall.Stat_t).Ino, nil
}

// parse reads a record's one or two objects; ok is false for one that its process
// did not come to write, so that it made no partition either.
func (p *partRecord) parse(text []byte) (ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	ok = d.Decode(p) == nil
	_ = d.Decode(p)
	return ok
}

func (r Roots) bootID() string { return read(r.Proc, "sys/kernel/random/boot_id") }

// deadRecords are the records of processes that have ended.
func (r Roots) deadRecords() []string {
	var out []string
	for _, dir := range r.recordDirs() {
		if own(dir) != nil {
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if kind, o, ok := owner.Of(e.Name()); ok && kind == partKind && e.Type().IsRegular() && o.Dead(r.Proc) {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	return out
}
