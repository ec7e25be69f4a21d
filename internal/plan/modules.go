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

// setModules takes names of kernel modules, and paths of their files relative to
// the plan file, which it makes absolute, because a resumed run may start in
// another directory.
func setModules(f *File, value any) error {
	list, ok := value.([]any)
	if !ok {
		return errKind
	}
	f.Modules = nil
	for _, element := range list {
		text, ok := element.(string)
		if !ok || strings.TrimSpace(text) == "" {
			return errKind
		}
		if IsModuleName(text) {
			f.Modules = append(f.Modules, text)
			continue
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(f.Path), text)
		}
		path, err := filepath.Abs(text)
		if err != nil {
			return err
		}
		f.Modules = append(f.Modules, path)
	}
	return nil
}
