// Package toolset gathers programs from the lab's root image for a machine that lacks them: each with
// its loader, the libraries that it needs and the configuration that it reads, and nothing else. The
// result runs from any directory of any Linux of that architecture, whatever C library it has.
package toolset

import (
	"archive/tar"
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/erofs/go-erofs"

	"whichfs/internal/host/lab"
	"whichfs/internal/target/toolbox"
)

// ErrNoProgram means that the image has no such program.
var ErrNoProgram = errors.New("the lab's image does not have it")

// Set is programs with everything that they need. The zero value is not usable: see New.
type Set struct {
	root    fs.FS
	machine elf.Machine
	entries []toolbox.Entry
	// stored are the names in the set of files of the root, by path.
	stored map[string]string
}

// machines are processors as ELF files name them, by GOARCH.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "riscv64": elf.EM_RISCV}

// New makes an empty set of programs from a root filesystem for a GOARCH.
func New(root fs.FS, goarch string) (*Set, error) {
	machine, ok := machines[goarch]
	if !ok {
		return nil, fmt.Errorf("programs for %s cannot be gathered", goarch)
	}
	return &Set{root: root, machine: machine, stored: map[string]string{}}, nil
}

// FromLab makes an empty set of programs from an image of the lab. The caller closes the image after
// the last Add.
func FromLab(image lab.Image) (*Set, io.Closer, error) {
	f, err := os.Open(image.Root)
	if err != nil {
		return nil, nil, err
	}
	root, err := erofs.Open(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", image.Root, err), f.Close())
	}
	s, err := New(root, image.Manifest.Arch)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return s, f, nil
}

// Size is that of all files, in bytes.

// configured are files that programs read, with the variable by which they find one elsewhere.
var configured = map[string]toolbox.Setting{
	"mke2fs": {Variable: "MKE2FS_CONFIG", File: "etc/mke2fs.conf"},
}

// Add adds a program. ErrNoProgram means that there is none of that name; the set is then as it was.
func (s *Set) Add(program string) error {
	for _, dir := range []string{"sbin", "usr/sbin", "bin", "usr/bin", "usr/local/sbin", "usr/local/bin"} {
		content, err := fs.ReadFile(s.root, path.Join(dir, program))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		return s.add(program, path.Join(dir, program), content)
	}
	return fmt.Errorf("%s: %w", program, ErrNoProgram)
}

func (s *Set) add(program, from string, content []byte) error {
	e := toolbox.Entry{Name: program}
	if bytes.HasPrefix(content, []byte("#!")) {
		e.File = s.keep("program/"+program, program, content)
		s.entries = append(s.entries, e)
		return nil
	}
	file, err := parse(from, content, s.machine)
	if err != nil {
		return err
	}
	loader := interpreter(file)
	if loader != "" {
		text, err := fs.ReadFile(s.root, cmp.Or(place(s.root, loader), strings.TrimPrefix(loader, "/")))
		if err != nil {
			return fmt.Errorf("%s: its loader: %w", program, err)
		}
		e.Loader = s.keep("lib/"+path.Base(loader), loader, text)
		if err := s.libraries(from, file, nil); err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
	}
	real := s.resolve(from)
	e.File = s.keep("program/"+path.Base(real), real, content)
	if set, ok := configured[path.Base(real)]; ok {
		text, err := fs.ReadFile(s.root, set.File)
		if err == nil {
			set.File = s.keep(set.File, set.File, text)
			e.Settings = append(e.Settings, set)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s.entries = append(s.entries, e)
	return nil
}

// resolve follows the symbolic links that a file's own name is.
func (s *Set) resolve(name string) string {
	for range 40 { // as many as the kernel follows
		to, err := fs.ReadLink(s.root, name)
		if err != nil {
			break
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(name), to)
		}
		name = strings.TrimPrefix(path.Clean(to), "/")
	}
	return name
}

// parse reads a program or library for a processor; elf.EM_NONE: any.
func parse(name string, content []byte, machine elf.Machine) (*elf.File, error) {
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s is neither a script nor a program: %w", name, err)
	}
	if machine != elf.EM_NONE && file.Machine != machine {
		return nil, fmt.Errorf("%s is for another processor: %v, not %v", name, file.Machine, machine)
	}
	return file, nil
}

// interpreter is the loader that a program asks for; "" if it is static.
func interpreter(file *elf.File) string {
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			text, err := io.ReadAll(p.Open())
			if err == nil {
				return strings.TrimRight(string(text), "\x00")
			}
		}
	}
	return ""
}

// place is where a root filesystem has a loader; "" if it has none. A system that was unpacked from packages
// may lack the links of /lib to /usr/lib.
func place(root fs.FS, loader string) string {
	for _, name := range []string{loader, "/usr" + loader} {
		if _, err := fs.Stat(root, strings.TrimPrefix(name, "/")); err == nil {
			return strings.TrimPrefix(name, "/")
		}
	}
	return ""
}

// libraries adds what a program or library needs, in the loader's order: directories that are named in
// the file and those of the users before it, then the system's.
func (s *Set) libraries(of string, file *elf.File, inherited []string) error {
	needed, err := file.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", of, err)
	}
	needed = append(needed, s.unwinder(file)...)
	var named []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		text, err := file.DynString(tag)
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
		for _, one := range text {
			for dir := range strings.SplitSeq(one, ":") {
				dir = strings.NewReplacer("${ORIGIN}", "/"+path.Dir(of), "$ORIGIN", "/"+path.Dir(of)).Replace(dir)
				named = append(named, strings.TrimPrefix(path.Clean(dir), "/"))
			}
		}
	}
	named = append(named, inherited...)
	for _, name := range needed {
		if _, ok := s.stored["library "+name]; ok {
			continue
		}
		from, content, err := s.find(name, named)
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
		s.keep("lib/"+name, "library "+name, content)
		library, err := parse(from, content, s.machine)
		if err != nil {
			return err
		}
		if err := s.libraries(from, library, named); err != nil {
			return err
		}
	}
	return nil
}

// unwinder is the library that glibc loads when a thread ends itself or another, and that no program names: without
// it, glibc aborts the program (sysdeps/nptl/pthread_exit.c, "must be installed for pthread_exit to work").
func (s *Set) unwinder(file *elf.File) []string {
	symbols, err := file.ImportedSymbols() // an error: it has none
	ends := func(one elf.ImportedSymbol) bool { return one.Name == "pthread_exit" || one.Name == "pthread_cancel" }
	if err != nil || !slices.ContainsFunc(symbols, ends) {
		return nil
	}
	const library = "libgcc_s.so.1"
	if _, _, err := s.find(library, nil); err != nil {
		return nil // another C library's
	}
	return []string{library}
}

// triplets are Debian's directories of libraries.
var triplets = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu", elf.EM_ARM: "arm-linux-gnueabihf", elf.EM_RISCV: "riscv64-linux-gnu"}

func (s *Set) find(name string, named []string) (from string, content []byte, err error) {
	triplet := triplets[s.machine]
	for _, dir := range append(slices.Clone(named), "lib/"+triplet, "usr/lib/"+triplet, "lib", "usr/lib", "lib64", "usr/lib64") {
		from = path.Join(dir, name)
		if content, err = fs.ReadFile(s.root, from); err == nil {
			return from, content, nil
		}
	}
	return "", nil, fmt.Errorf("library %s is nowhere", name)
}

// keep stores a file once, and returns its name in the set.
func (s *Set) keep(name, from string, content []byte) string {
	if has, ok := s.stored[from]; ok {
		return has
	}
	s.stored[from] = name
	// The loader is a library, too: the C library needs it by the same name.
	if i := slices.IndexFunc(s.entries, func(e toolbox.Entry) bool { return e.Content != nil && e.File == name }); i >= 0 {
		return name
	}
	s.entries = append(s.entries, toolbox.Entry{File: name, Content: content})
	return name
}

// Write writes the set as toolbox.Unpack reads it. The same set gives the same bytes.
func (s *Set) Write(w io.Writer) error {
	t := tar.NewWriter(w)
	put := func(name string, mode int64, content []byte) error {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err := t.Write(content)
		return err
	}
	var programs []toolbox.Entry
	for _, e := range s.entries {
		if e.Content == nil {
			programs = append(programs, e)
			continue
		}
		if err := put(e.File, 0o700, e.Content); err != nil {
			return err
		}
	}
	text, err := toolbox.List(programs)
	if err == nil {
		err = put(toolbox.ListName, 0o600, text)
	}
	if err != nil {
		return err
	}
	return t.Close()
}
