package machine

import (
	"whichfs/internal/result"
	"whichfs/internal/target/kmod"
)

// CheckModules reads the kernel module files for a session on a machine whose programs are for arch
// (a GOARCH; "": not known yet), and refuses those that no kernel could load. Whether a particular
// kernel accepts them is for the agent to find out. Errors are *result.Failure.
func CheckModules(paths []string, arch string) ([]kmod.File, error) {
	var out []kmod.File
	names := map[string]string{}
	for _, path := range paths {
		f, err := kmod.Open(path)
		if err != nil {
			return nil, err
		}
		if other := names[f.Name]; other != "" {
			return nil, result.Refuse("give one of them", "%s and %s are both module %s", other, path, f.Name)
		}
		if arch != "" {
			if unfit := f.FitsProcessor(arch); unfit != nil {
				return nil, unfit
			}
		}
		names[f.Name] = path
		out = append(out, f)
	}
	return out, nil
}
