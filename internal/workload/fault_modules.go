package workload

import (
	"fmt"
)

// LoadFor loads modules with all that they need. What is loaded already or built
// in is fine, and so is a kernel without a module tree: whoever needs a module
// says what is missing when it is not there.
func LoadFor(m *Modules, names ...string) error {
	if m == nil {
		return nil
	}
	for _, name := range names {
		for _, f := range m.Order(name) {
			if err := m.insert(f); err != nil {
				return fmt.Errorf("loading %s: %w", f, err)
			}
		}
	}
	return nil
}
