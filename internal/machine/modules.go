package machine

import (
	"errors"

	"whichfs/internal/kmod"
	"whichfs/internal/result"
)

// CheckModules reads the kernel module files that a session is to have, for a
// machine whose programs are for arch (a GOARCH; "": not known yet), and says
// what nobody could load. What a kernel in particular would refuse is for the
// agent to find. Errors are *Error.
func CheckModules(paths []string, arch string) ([]kmod.File, error) {
	var out []kmod.File
	names := map[string]string{}
	for _, path := range paths {
		f, err := kmod.Open(path)
		var unfit *kmod.Unfit
		switch {
		case errors.As(err, &unfit):
		case err != nil:
			return nil, &Error{Outcome: result.Refused, Reason: path, Err: err}
		case names[f.Name] != "":
			unfit = &kmod.Unfit{Reason: names[f.Name] + " and " + path + " are both module " + f.Name, Hint: "give one of them"}
		case arch != "":
			unfit = f.FitsProcessor(arch)
		}
		if unfit != nil {
			return nil, &Error{Outcome: result.Refused, Reason: unfit.Reason, Hint: unfit.Hint}
		}
		names[f.Name] = path
		out = append(out, f)
	}
	return out, nil
}
