package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// depmod's lists of a kernel's modules: files and built-in ones.
const (
	depFile     = "modules.dep"
	builtinFile = "modules.builtin"
)

// BootModules copies the modules that the boot archive needs out of a kernel's
// module tree to the folder of modules below dir, with depmod's lists, and
// returns their file names in the order in which they must be inserted. wanted
// modules that are built in need no file.
func BootModules(wanted []string, base, dir string) ([]string, error) {
	depends, builtin, err := moduleLists(base)
	if err != nil {
		return nil, err
	}
	files, err := insertionOrder(wanted, depends, builtin)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(BootModule(dir, ""), 0o755); err != nil {
		return nil, err
	}
	var names []string
	for _, file := range append(files, depFile, builtinFile) {
		text, err := os.ReadFile(filepath.Join(base, file))
		if err != nil {
			return nil, err
		}
		name := path.Base(file)
		if err := os.WriteFile(BootModule(dir, name), text, 0o644); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names[:len(files)], nil
}

// moduleLists are depmod's lists of a kernel's module tree.
func moduleLists(base string) (depends, builtin map[string][]string, err error) {
	if depends, err = readList(filepath.Join(base, depFile), parseDep); err != nil {
		return nil, nil, err
	}
	builtin, err = readList(filepath.Join(base, builtinFile), parseBuiltin)
	return depends, builtin, err
}

// BootModule is the path of a file that BootModules copied below dir.
func BootModule(dir, name string) string { return filepath.Join(dir, "modules", name) }

// HasModule reports whether the image's kernel has a module, in a file or
// built in, according to the lists made with the image. known is false for
// images of older versions, which have none.
func (i Image) HasModule(name string) (has, known bool) { return HasModule(i.Dir, name) }

// HasModule is Image.HasModule for a kernel whose lists BootModules copied
// below dir.
func HasModule(dir, name string) (has, known bool) {
	for file, parse := range map[string]func(io.Reader) (map[string][]string, error){depFile: parseDep, builtinFile: parseBuiltin} {
		list, err := readList(BootModule(dir, file), parse)
		if err != nil {
			return false, false
		}
		if _, ok := list[ModuleName(name)]; ok {
			has = true
		}
	}
	return has, true
}

// insertionOrder lists the files of the wanted modules once each, after their
// dependencies. depends maps a module's name to its own file and then those it
// needs, nearest first, as depmod writes them.
func insertionOrder(wanted []string, depends, builtin map[string][]string) ([]string, error) {
	var order []string
	seen := map[string]bool{}
	for _, name := range wanted {
		files, ok := depends[name]
		if !ok {
			if _, ok := builtin[name]; ok {
				continue
			}
			return nil, fmt.Errorf("the kernel has no module %s", name)
		}
		for i := len(files) - 1; i >= 0; i-- {
			if !seen[files[i]] {
				seen[files[i]] = true
				order = append(order, files[i])
			}
		}
	}
	return order, nil
}

// parseDep parses modules.dep: "kernel/a/b.ko: kernel/c.ko kernel/d.ko".
func parseDep(r io.Reader) (map[string][]string, error) {
	out := map[string][]string{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		file, needs, ok := strings.Cut(scan.Text(), ":")
		if !ok {
			return nil, fmt.Errorf("modules.dep: no colon in %q", scan.Text())
		}
		out[ModuleName(file)] = append([]string{file}, strings.Fields(needs)...)
	}
	return out, scan.Err()
}

// parseBuiltin parses modules.builtin: one path per line.
func parseBuiltin(r io.Reader) (map[string][]string, error) {
	out := map[string][]string{}
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		out[ModuleName(scan.Text())] = nil
	}
	return out, scan.Err()
}

// ModuleName is the kernel's name of the module in a file: without directory
// and suffix, with underscores for dashes.
func ModuleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

func readList(file string, parse func(io.Reader) (map[string][]string, error)) (map[string][]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f)
}

// Sync makes what is in dir durable before its name marks it as complete.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
