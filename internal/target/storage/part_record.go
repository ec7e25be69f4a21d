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

// The kernel keeps a partition added by ioctl when the process that asked for it is killed, and
// nothing distinguishes it from those of a partition table. So each is recorded before it is made,
// in a file named for the process.

// partKind is the kind of the records in package owner.
const partKind = "partition"

// partRecord describes a partition.
type partRecord struct {
	Boot          string // the kernel's boot ID
	Disk          string // the kernel's name
	Sequence      uint64 // of the disk
	Number        int
	Start, Length int64  // B
	Node          uint64 `json:",omitempty"` // inode of its directory in sysfs; 0 if the process was killed before it was recorded
}

// recordDirs are where records may be: a system directory, which is cleared at boot like the
// partitions, or the user's where that one is not writable.
func (r Roots) recordDirs() []string {
	return []string{r.Run, filepath.Join(os.TempDir(), fmt.Sprintf("whichfs-%d", os.Geteuid()))}
}

// record records a partition that is about to be made, and removes records that no longer apply.
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
				if err = os.WriteFile(path, text, 0o644); err == nil { //nolint:gosec // anyone may see what was left
					return path, nil
				}
			}
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("a partition that cannot be recorded could not be removed after a crash: %w", errors.Join(errs...))
}

// own checks that only this user and root can write to a directory.
func own(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	uid := int(st.Sys().(*syscall.Stat_t).Uid)
	if !st.IsDir() || st.Mode().Perm()&0o022 != 0 || uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s is not a directory that only this user can write to", dir)
	}
	return nil
}

// complete adds the inode of the partition's directory to a record once the partition exists; a
// later partition in its place has another inode.
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

// parse reads a record's one or two objects; ok is false if the process was killed before it wrote
// the record, and so made no partition either.
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
