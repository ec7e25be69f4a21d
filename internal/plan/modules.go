package plan

import (
	"path/filepath"
	"strings"
)

// setModules takes paths of kernel module files, relative to the plan file, and
// makes them absolute, because a resumed run may start in another directory.
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
