package memory

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Limits of a tree, those of the kernel.
const (
	maxName = 255
	maxPath = 4095
)

// LoadTree reads a tar archive of exactly size bytes into memory: entries with
// NUL-terminated paths, parents first, and the contents of all files
// consecutively in one mapping. r may contain more than the archive, as the
// block device that carries it does; LoadTree leaves the rest unread.
//
// An archive that is truncated, names a path outside the tree or twice, or
// contains anything but directories, files, symbolic and hard links is an
// error that names the entry. The caller compares Digest with the expected one
// and calls Close.
func LoadTree(name string, r io.Reader, size int64) (*Tree, error) {
	t, err := loadTree(r, size)
	if err != nil {
		return nil, fmt.Errorf("tree %q: %w", name, err)
	}
	t.Name = name
	return t, nil
}

func loadTree(r io.Reader, size int64) (*Tree, error) {
	if size <= 0 {
		return nil, fmt.Errorf("an archive of %d bytes", size)
	}
	// An archive is longer than its contents, so its length suffices.
	arena, err := reserve(size)
	if err != nil {
		return nil, err
	}
	l := loader{tree: &Tree{arena: arena}, kinds: map[string]int{}}
	hash := sha256.New()
	read := &counter{r: io.TeeReader(bufio.NewReaderSize(io.LimitReader(r, size), 1<<20), hash)}
	if err := l.entries(tar.NewReader(read)); err != nil {
		_ = l.tree.Close()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the archive ends after %d of %d bytes: %w", read.n, size, err)
		}
		return nil, err
	}
	if _, err := io.Copy(io.Discard, read); err != nil {
		_ = l.tree.Close()
		return nil, err
	}
	if read.n != size {
		_ = l.tree.Close()
		return nil, fmt.Errorf("the archive ends after %d of %d bytes", read.n, size)
	}
	l.tree.Digest = hex.EncodeToString(hash.Sum(nil))
	return l.tree, nil
}

// counter counts the bytes read. It must not be a WriterTo: that would bypass
// the tee.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type loader struct {
	tree  *Tree
	used  int            // bytes of the arena
	kinds map[string]int // path → index of the entry
}

func (l *loader) entries(archive *tar.Reader) error {
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.entry(archive, h); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
}

func (l *loader) entry(archive io.Reader, h *tar.Header) error {
	name, err := cleanPath(h.Name, h.Typeflag == tar.TypeDir)
	if err != nil {
		return err
	}
	if name == "." {
		if h.Typeflag != tar.TypeDir {
			return errors.New("the top of the tree is not a directory")
		}
		return nil
	}
	if _, ok := l.kinds[name]; ok {
		return errors.New("it occurs twice")
	}
	if parent := path.Dir(name); parent != "." {
		i, ok := l.kinds[parent]
		if !ok {
			return errors.New("it precedes its directory")
		}
		if l.tree.Entries[i].Kind != Dir {
			return fmt.Errorf("%q is not a directory", parent)
		}
	}
	e := Entry{Path: terminated(name), Mode: uint32(h.Mode) & 0o7777, UID: uint32(h.Uid), GID: uint32(h.Gid), Time: h.ModTime.UnixNano()}
	if e.Attributes, err = attributes(h.PAXRecords); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		e.Kind = Dir
	case tar.TypeReg:
		e.Kind = File
		if e.Data, err = l.contents(archive, h.Size); err != nil {
			return err
		}
		l.tree.Files++
		l.tree.Bytes += h.Size
	case tar.TypeSymlink:
		e.Kind = Symlink
		if h.Linkname == "" || len(h.Linkname) > maxPath || strings.IndexByte(h.Linkname, 0) >= 0 {
			return fmt.Errorf("a symbolic link to %q", h.Linkname)
		}
		e.Target = terminated(h.Linkname)
	case tar.TypeLink:
		e.Kind = Hardlink
		if e.Target, err = l.linked(h.Linkname); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown entry type %q", h.Typeflag)
	}
	l.kinds[name] = len(l.tree.Entries)
	l.tree.Entries = append(l.tree.Entries, e)
	return nil
}

// attributeRecord is the prefix of an archive's key for an extended attribute,
// as introduced by star and used by GNU tar and libarchive.
const attributeRecord = "SCHILY.xattr."

// Limits of extended attributes, those of the kernel (xattr(7)).
const (
	maxAttributeName  = 255
	maxAttributeValue = 64 << 10
)

// attributes returns an entry's extended attributes, by name.
func attributes(records map[string]string) ([]Attribute, error) {
	var list []Attribute
	for key, value := range records {
		name, ok := strings.CutPrefix(key, attributeRecord)
		if !ok {
			continue
		}
		if name == "" || len(name) > maxAttributeName || strings.IndexByte(name, 0) >= 0 || len(value) > maxAttributeValue {
			return nil, fmt.Errorf("an extended attribute %.40q of %d bytes", name, len(value))
		}
		list = append(list, Attribute{Name: terminated(name), Value: []byte(value)})
	}
	slices.SortFunc(list, func(a, b Attribute) int { return bytes.Compare(a.Name, b.Name) })
	return list, nil
}

// contents reads a file into the arena.
func (l *loader) contents(archive io.Reader, size int64) ([]byte, error) {
	if size > int64(len(l.tree.arena)-l.used) {
		return nil, fmt.Errorf("its %d bytes are more than the archive can contain (sparse files must be written out)", size)
	}
	data := l.tree.arena[l.used : l.used+int(size) : l.used+int(size)]
	if _, err := io.ReadFull(archive, data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	l.used += int(size)
	return data, nil
}

// linked returns the path of a hard link's target; a link to a link resolves
// to the latter's target.
func (l *loader) linked(target string) ([]byte, error) {
	name, err := cleanPath(target, false)
	if err != nil {
		return nil, fmt.Errorf("hard link to %q: %w", target, err)
	}
	i, ok := l.kinds[name]
	if !ok {
		return nil, fmt.Errorf("hard link to %q, which does not precede it", target)
	}
	switch e := l.tree.Entries[i]; e.Kind {
	case Hardlink:
		return e.Target, nil
	case Dir:
		return nil, fmt.Errorf("hard link to %q, a directory", target)
	default:
		return e.Path, nil
	}
}

// cleanPath checks a name of the archive and returns it without a leading "./"
// and, for a directory, without the trailing slash.
func cleanPath(name string, dir bool) (string, error) {
	if dir && len(name) > 1 {
		name = strings.TrimSuffix(name, "/")
	}
	name = strings.TrimPrefix(name, "./")
	switch {
	case name == "":
		if dir {
			return ".", nil // "./", the top
		}
		return "", errors.New("it has no name")
	case strings.IndexByte(name, 0) >= 0:
		return "", errors.New("a NUL byte in the name")
	case strings.HasPrefix(name, "/"):
		return "", errors.New("an absolute path")
	case len(name) > maxPath:
		return "", fmt.Errorf("a path of %d bytes, %d are allowed", len(name), maxPath)
	}
	if name == "." {
		return name, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return "", errors.New("a path that leaves the tree")
		case part == "" || part == ".":
			return "", errors.New("a path that is not in its shortest form")
		case len(part) > maxName:
			return "", fmt.Errorf("a name of %d bytes, %d are allowed", len(part), maxName)
		}
	}
	return name, nil
}

func terminated(s string) []byte { return append([]byte(s), 0) }
