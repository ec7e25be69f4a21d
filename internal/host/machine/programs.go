package machine

import (
	"os"
	"slices"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/lab/toolset"
	"whichfs/internal/plan"
	"whichfs/internal/result"
)

// PackPrograms makes archives of the user's programs (Spec.Given), one of each, for a machine whose
// programs are for arch (a GOARCH), and returns their paths. Errors are *result.Failure.
func PackPrograms(given []string, arch string) ([]string, error) {
	if err := CheckPrograms(given, arch); err != nil {
		return nil, err
	}
	var out []string
	for _, word := range given {
		name, path := plan.SplitProgram(word)
		archive, err := toolset.Pack(name, path, arch)
		if err != nil {
			return nil, result.Refuse("", "program %s: %v", name, err)
		}
		out = append(out, archive)
	}
	return out, nil
}

// CheckPrograms refuses programs that nothing would start, and files that are none for arch (a GOARCH; "":
// not known yet). Errors are *result.Failure.
func CheckPrograms(given []string, arch string) error {
	known := replaceable()
	paths := map[string]string{}
	for _, word := range given {
		name, path := plan.SplitProgram(word)
		if !slices.Contains(known, name) {
			return result.Refuse("say which program of a filesystem it stands for: mkfs.ext4="+path,
				"program %s: whichfs starts no program of this name", name)
		}
		if other := paths[name]; other != "" {
			return result.Refuse("give one of them", "%s and %s are both for program %s", other, path, name)
		}
		paths[name] = path
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return result.Refuse("", "program %s: %v", name, err)
		case !info.Mode().IsRegular():
			return result.Refuse("give the path of a file", "program %s: %s is no file", name, path)
		}
		if err := toolset.Fits(path, arch); err != nil {
			return result.Refuse("", "program %s: %v", name, err)
		}
	}
	return nil
}

// replaceable are the programs that a user's may stand for: those of the filesystems, and those that work
// is measured with.
func replaceable() []string {
	out := []string{"cp", "fio", "tar"}
	for _, fs := range filesystem.All {
		for _, t := range fs.Needs {
			out = append(out, t.Program)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
