package memory

import (
	"fmt"
	"os"
	"path/filepath"
)

// Extract writes the tree below dir, which must exist, for image makers that
// read a directory. Modes are those of the tree whatever the umask; owners are
// set if root runs it, and hard links stay hard links.
func (t *Tree) Extract(dir string) error {
	root := os.Geteuid() == 0
	for i := range t.Entries {
		e := &t.Entries[i]
		if err := e.extract(dir, root); err != nil {
			return fmt.Errorf("tree %q: %w", t.Name, err)
		}
	}
	// Last, because a directory may be unwritable.
	for i := len(t.Entries) - 1; i >= 0; i-- {
		if e := &t.Entries[i]; e.Kind == Dir {
			if err := os.Chmod(filepath.Join(dir, text(e.Path)), fileMode(e.Mode)); err != nil {
				return fmt.Errorf("tree %q: %w", t.Name, err)
			}
		}
	}
	return nil
}

func (e *Entry) extract(dir string, root bool) error {
	path := filepath.Join(dir, text(e.Path))
	var err error
	switch e.Kind {
	case Dir:
		err = os.Mkdir(path, 0o700)
	case File:
		// O_EXCL does not follow a symbolic link at that path.
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = f.Write(e.Data)
			if e := f.Close(); err == nil {
				err = e
			}
		}
	case Symlink:
		err = os.Symlink(text(e.Target), path)
	case Hardlink:
		return os.Link(filepath.Join(dir, text(e.Target)), path)
	default:
		return fmt.Errorf("%s: unknown kind %d of entry", path, e.Kind)
	}
	if err == nil && root {
		err = os.Lchown(path, int(e.UID), int(e.GID))
	}
	if err == nil && e.Kind == File {
		// After the owner: changing that clears the set-user-ID bit.
		err = os.Chmod(path, fileMode(e.Mode))
	}
	return err
}

// fileMode converts the kernel's mode bits to Go's.
func fileMode(mode uint32) os.FileMode {
	m := os.FileMode(mode & 0o777)
	if mode&0o4000 != 0 {
		m |= os.ModeSetuid
	}
	if mode&0o2000 != 0 {
		m |= os.ModeSetgid
	}
	if mode&0o1000 != 0 {
		m |= os.ModeSticky
	}
	return m
}

// text is a path without its NUL.
func text(path []byte) string { return string(path[:len(path)-1]) }
