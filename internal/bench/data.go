package bench

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"whichfs/internal/target/memory"
)

// data is the input of both sides: as an archive for ours, as files in memory for the tools.
type data struct {
	archive string // tar file
	dir     string // the tree
	stream  string // file
	entries int
	bytes   int64 // contents of the tree
}

var errEnough = errors.New("enough")

func makeData(work string, c Config) (data, error) {
	d := data{archive: work + "/tree.tar", dir: work + "/tree", stream: work + "/stream"}
	if err := d.pack(c.From, c.Tree); err != nil {
		return d, err
	}
	f, err := os.Open(d.archive)
	if err != nil {
		return d, err
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err != nil {
		return d, err
	}
	tree, err := memory.LoadTree("data", f, info.Size())
	if err != nil {
		return d, err
	}
	defer tree.Close() //nolint:errcheck // only memory
	d.entries, d.bytes = len(tree.Entries), tree.Bytes
	if d.bytes < c.Tree/2 {
		return d, unavailable("%v hold only %d bytes of files, %d are needed", c.From, d.bytes, c.Tree)
	}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		return d, err
	}
	if err := tree.Extract(d.dir); err != nil {
		return d, err
	}
	stream, err := memory.NewStream("data", streamSeed, c.Stream)
	if err != nil {
		return d, err
	}
	defer stream.Close() //nolint:errcheck // only memory
	return d, os.WriteFile(d.stream, stream.Data, 0o644)
}

// pack writes files of real directories into an archive until it holds limit bytes of them; each
// directory contributes an equal share.
func (d *data) pack(from []string, limit int64) error {
	f, err := os.Create(d.archive)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	for i, top := range from {
		left := limit / int64(len(from))
		prefix := fmt.Sprintf("%d", i)
		err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(top, path)
			if err != nil {
				return err
			}
			size, err := pack(w, path, filepath.Join(prefix, rel), e, left)
			left -= size
			if err == nil && left <= 0 {
				return errEnough
			}
			return err
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

// pack writes one entry, if it fits; it skips entries other than directories, files and symbolic
// links.
func pack(w *tar.Writer, path, name string, e fs.DirEntry, left int64) (int64, error) {
	info, err := e.Info()
	if err != nil {
		return 0, err
	}
	target := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err = os.Readlink(path); err != nil {
			return 0, err
		}
	case info.IsDir():
	case !info.Mode().IsRegular() || info.Size() > left:
		return 0, nil
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return 0, err
	}
	h.Name = name
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // read only
	return io.Copy(w, f)
}
