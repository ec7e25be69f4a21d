package toolset

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"

	"whichfs/internal/host/lab"
	"whichfs/internal/sys/whole"
)

// Pack makes an archive of the program in a file, as toolbox.Unpack reads it, for machines of a GOARCH,
// where it is called name. What it needs is taken from the system that the file is in: the nearest
// directory above it that has its loader, which for installed programs is /. The same content gives the
// same archive, which stays in the lab's directory.
func Pack(name, file, goarch string) (archive string, err error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(real)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := pack(&b, name, real, content, goarch); err != nil {
		return "", err
	}
	home, err := lab.Home()
	if err != nil {
		return "", err
	}
	archive = filepath.Join(home, "programs", fmt.Sprintf("%.16x.tar", sha256.Sum256(b.Bytes())))
	if info, err := os.Stat(archive); err == nil && info.Size() == int64(b.Len()) {
		return archive, nil
	}
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return "", err
	}
	return archive, whole.Write(archive, func(f *os.File) error {
		_, err := f.Write(b.Bytes())
		return err
	})
}

// Fits says what a file is, if it is no program for machines of a GOARCH ("": any).
func Fits(file, goarch string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(content, []byte("#!")) {
		return nil
	}
	_, err = parse(file, content, machines[goarch])
	return err
}

// pack writes the archive of a program. file is its path without symbolic links.
func pack(to *bytes.Buffer, name, file string, content []byte, goarch string) error {
	base := "/"
	if program, err := elf.NewFile(bytes.NewReader(content)); err == nil {
		base = system(file, interpreter(program))
	}
	root := os.DirFS(base)
	if base != "/" { // links of another system are not followed into this one
		r, err := os.OpenRoot(base)
		if err != nil {
			return err
		}
		defer r.Close() //nolint:errcheck // read only
		root = r.FS()
	}
	s, err := New(root, goarch)
	if err != nil {
		return err
	}
	from, err := filepath.Rel(base, file)
	if err != nil {
		return err
	}
	if err := s.add(name, from, content); err != nil {
		return err
	}
	return s.Write(to)
}

// system is the nearest directory above a program that has its loader. /usr, where nearly everything is, is
// none itself.
func system(file, loader string) string {
	if loader == "" {
		return "/"
	}
	for dir := filepath.Dir(file); dir != "/"; dir = filepath.Dir(dir) {
		if filepath.Base(dir) != "usr" && place(os.DirFS(dir), loader) != "" {
			return dir
		}
	}
	return "/"
}
