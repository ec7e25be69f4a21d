package plan

import (
	"path/filepath"
	"regexp"
	"strings"
)

// moduleName is a name of a module that the lab has built, and no path of a file.
var moduleName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// IsModuleName reports whether a word for a kernel module is the name of one that
// the lab has built; otherwise it is the path of a file.
func IsModuleName(word string) bool { return moduleName.MatchString(word) }

// setModules takes names of kernel modules, and paths of their files.
func setModules(f *File, value any) (err error) {
	f.Modules, err = words(value, func(text string) (string, error) {
		if IsModuleName(text) {
			return text, nil
		}
		return f.beside(text)
	})
	return err
}

// SplitProgram is the name of the machine's program that a word for a program of the user's, NAME=FILE or
// FILE, stands for, and the path of the file.
func SplitProgram(word string) (name, path string) {
	name, path, found := strings.Cut(word, "=")
	if !found || strings.Contains(name, "/") {
		return filepath.Base(word), word
	}
	return name, path
}

// setPrograms takes files of programs.
func setPrograms(f *File, value any) (err error) {
	f.Programs, err = words(value, func(text string) (string, error) {
		name, path := SplitProgram(text)
		path, err := f.beside(path)
		return name + "=" + path, err
	})
	return err
}

// words takes a list of words, each of which is changed by a function.
func words(value any, change func(string) (string, error)) (out []string, err error) {
	list, ok := value.([]any)
	if !ok {
		return nil, errKind
	}
	for _, element := range list {
		text, ok := element.(string)
		if !ok || strings.TrimSpace(text) == "" {
			return nil, errKind
		}
		if text, err = change(text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// beside makes a path that is relative to the plan file absolute, because a resumed run may start in
// another directory.
func (f *File) beside(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(f.Path), path)
	}
	return filepath.Abs(path)
}
