package lab

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"whichfs/internal/result"
	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/whole"
)

// An exported lab is a tar archive, compressed with zstd: a head, the files, and a foot with the
// checksum of each. A file without its foot is not whole.
const (
	headName = "whichfs-lab.json"
	footName = "SHA256.json"
)

// head says what a file holds, before anything is unpacked.
type head struct {
	Format  int      `json:"format"`
	Version string   `json:"version"` // of the whichfs that wrote it
	Parts   []string `json:"parts"`   // directories and files below the cache's directory
}

const format = 2

// Parts are the directories of the images and kernels that this whichfs uses.
func Parts() (all []string, err error) {
	images, err := Images()
	if err != nil {
		return nil, err
	}
	for _, i := range images {
		all = append(all, i.Dir)
	}
	for _, a := range Archs {
		kernels, err := keptKernels(a)
		if err != nil {
			return nil, err
		}
		for _, k := range kernels {
			all = append(all, k.Root)
		}
	}
	return all, nil
}

// Progress is called with how many bytes of all have been read; it may be nil.
type Progress func(done, all int64)

// counted is a reader that tells how much was read of all.
type counted struct {
	io.Reader
	done, all int64
	tell      Progress
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.done += int64(n); c.tell != nil {
		c.tell(c.done, c.all)
	}
	return n, err
}

// Export writes parts of the lab, and of the cache besides, to a file that must not exist: directories that are
// complete, and files. version is that of this whichfs.
func Export(ctx context.Context, file, version string, parts []string, tell Progress) error {
	home, err := cache.Dir()
	if err != nil {
		return err
	}
	h := head{Format: format, Version: version}
	for _, dir := range parts {
		name, err := filepath.Rel(home, dir)
		if err != nil || !filepath.IsLocal(name) {
			return fmt.Errorf("%s is not below %s", dir, home)
		}
		h.Parts = append(h.Parts, name)
	}
	if _, err := os.Lstat(file); err == nil {
		return result.Refuse("give another name, or remove it", "%s already exists", file)
	}
	return whole.Write(file, func(f *os.File) error {
		z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return err
		}
		if err := (&exporter{ctx: ctx, home: home, out: tar.NewWriter(z), sums: map[string]string{}, in: counted{tell: tell}}).write(h); err != nil {
			return errors.Join(err, z.Close())
		}
		return z.Close()
	})
}

type exporter struct {
	ctx  context.Context
	home string
	out  *tar.Writer
	sums map[string]string
	in   counted // the file that is read, and how much of all files was
}

// each calls do with the files of the parts, in order.
func (e *exporter) each(h head, do func(path string, d fs.DirEntry) error) error {
	for _, part := range h.Parts {
		err := filepath.WalkDir(filepath.Join(e.home, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err // links of a kernel's modules lead to its source
			}
			return errors.Join(e.ctx.Err(), do(path, d))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) write(h head) error {
	if err := e.json(headName, h); err != nil {
		return err
	}
	err := e.each(h, func(_ string, d fs.DirEntry) error {
		info, err := d.Info()
		if err == nil {
			e.in.all += info.Size()
		}
		return err
	})
	if err == nil {
		err = e.each(h, func(path string, _ fs.DirEntry) error { return e.file(path) })
	}
	if err != nil {
		return err
	}
	return errors.Join(e.json(footName, e.sums), e.out.Close())
}

func (e *exporter) json(name string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = e.out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatPAX})
	}
	if err == nil {
		_, err = e.out.Write(text)
	}
	return err
}

func (e *exporter) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	name, err := filepath.Rel(e.home, path)
	if err != nil {
		return err
	}
	if err := e.out.WriteHeader(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: info.Size(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	sum := sha256.New()
	e.in.Reader = f
	if _, err := io.Copy(io.MultiWriter(e.out, sum), &e.in); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	e.sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// Import makes the parts of an exported lab, all or none, and returns their directories and those that
// were there already. fits says whether a part that was unpacked into a directory, which has its
// final name, is one that this whichfs uses.
func Import(ctx context.Context, file, version string, fits func(part, dir string) error, tell Progress) (made, there []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, result.Refuse("name a file that whichfs lab export has written", "%v", err)
	}
	defer f.Close() //nolint:errcheck // read only
	own, unlock, err := Locked(ctx, ".", func(string) {})
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	temp, err := os.MkdirTemp(own, UnfinishedPrefix)
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(temp)
	in := counted{Reader: f, tell: tell}
	if info, err := f.Stat(); err == nil {
		in.all = info.Size()
	}
	h, err := unpackLab(ctx, &in, temp)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, result.Refuse("copy it again, or write it again with whichfs lab export", "%s: %v", file, err)
	}
	for _, part := range h.Parts {
		if err := fits(part, filepath.Join(temp, part)); err != nil {
			return nil, nil, result.Refuse("export the lab with this version of whichfs, or import it with that one",
				"%s was written by whichfs %s, and its part %s is not one of whichfs %s: %v", file, h.Version, part, version, err)
		}
	}
	if err := Sync(temp); err != nil {
		return nil, nil, err
	}
	for _, part := range h.Parts {
		to := filepath.Join(filepath.Dir(own), part)
		if _, err := os.Lstat(to); err == nil {
			there = append(there, to)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return made, there, err
		}
		if err := os.Rename(filepath.Join(temp, part), to); err != nil {
			return made, there, err
		}
		made = append(made, to)
	}
	return made, there, nil
}

// unpackLab unpacks an exported lab into an empty directory, and checks that it is whole.
func unpackLab(ctx context.Context, from io.Reader, to string) (h head, err error) {
	z, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return h, err
	}
	defer z.Close()
	root, err := os.OpenRoot(to)
	if err != nil {
		return h, err
	}
	defer root.Close() //nolint:errcheck // a directory
	in := tar.NewReader(z)
	first, err := in.Next()
	if err != nil || first.Name != headName {
		return h, errors.New("it is not a lab that whichfs has exported")
	}
	if err := decode(in, &h); err != nil {
		return h, err
	}
	if h.Format != format {
		return h, fmt.Errorf("its format is %d, of whichfs %s; this whichfs reads format %d", h.Format, h.Version, format)
	}
	sums := map[string]string{}
	for {
		entry, err := in.Next()
		switch {
		case err != nil:
			return h, fmt.Errorf("it is not whole: %w", err)
		case entry.Name == footName:
			var want map[string]string
			if err := decode(in, &want); err != nil {
				return h, err
			}
			return h, compareSums(sums, want)
		case entry.Typeflag != tar.TypeReg || !h.has(entry.Name):
			return h, fmt.Errorf("it has %q, which belongs to none of its parts", entry.Name)
		}
		sum := sha256.New()
		if err := errors.Join(ctx.Err(), unpackFile(root, entry, in, sum)); err != nil {
			return h, err
		}
		sums[entry.Name] = hex.EncodeToString(sum.Sum(nil))
	}
}

func decode(from io.Reader, v any) error {
	const longest = 16 << 20
	if err := json.NewDecoder(io.LimitReader(from, longest)).Decode(v); err != nil {
		return fmt.Errorf("its list of parts or checksums: %w", err)
	}
	return nil
}

// has reports whether a file belongs to one of the parts, whose names are local.
func (h head) has(name string) bool {
	return filepath.IsLocal(name) && slices.ContainsFunc(h.Parts, func(part string) bool {
		return filepath.IsLocal(part) && filepath.Clean(part) == part && part != "." && (name == part || strings.HasPrefix(filepath.Clean(name), part+"/"))
	})
}

func unpackFile(root *os.Root, entry *tar.Header, from io.Reader, sum hash.Hash) error {
	if err := root.MkdirAll(filepath.Dir(entry.Name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(entry.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, entry.FileInfo().Mode().Perm()&0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(f, sum), from)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", entry.Name, err)
	}
	return nil
}

func compareSums(got, want map[string]string) error {
	for name, sum := range want {
		switch got[name] {
		case sum:
		case "":
			return fmt.Errorf("%s is missing", name)
		default:
			return fmt.Errorf("%s has another checksum than when it was written", name)
		}
	}
	if len(got) != len(want) {
		return errors.New("it has files without checksums")
	}
	return nil
}

// PartOf is the name of a part in the lab; ok is false if it is one of something else.
func PartOf(part string) (name string, ok bool) { return strings.CutPrefix(part, folder+"/") }

// Fits returns an error unless a directory is a complete image of a current recipe, or a complete kernel. part is its
// name in the lab.
func Fits(part, dir string) error {
	if filepath.Dir(part) == kernelsFolder {
		_, err := openKernel(dir)
		return err
	}
	img, err := open(dir)
	if err != nil {
		return err
	}
	if want := current(img.Arch()).digest(); want != part {
		return fmt.Errorf("the image for %s has to be %s", img.Arch().Name, want)
	}
	return nil
}
