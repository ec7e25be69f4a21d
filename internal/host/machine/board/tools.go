package board

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/debian"
	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/toolset"
	"whichfs/internal/host/machine"
	"whichfs/internal/plan"
	"whichfs/internal/result"
	"whichfs/internal/wire"
)

const (
	// toolsName is the directory of sent programs in the one on the board; start knows it.
	toolsName = "tools"
	// archiveName is the file that they arrive in.
	archiveName = "tools.tar"
)

// lacking prints those of the programs that are in no directory of the PATH, or are there as applets of
// BusyBox, which do less than the programs whose names they have. (A shell of BusyBox counts its own
// applets as commands, which the agent cannot start.)
var lacking = oneLine(paths + `
	echo; echo "$1"; shift;
	IFS=:;
	for program in "$@"; do
		there=no;
		for dir in $PATH; do
			if [ -f "$dir/$program" ] && [ -x "$dir/$program" ]; then there=$(readlink -f "$dir/$program"); break; fi;
		done;
		case "$program:${there##*/}" in busybox:*) ;; *:busybox*|*:toybox*) there=no;; esac;
		if [ "$there" = no ]; then echo "$program"; fi;
	done;`)

// unfold has the agent $2 unpack archive $3 into directory $4.
var unfold = oneLine(paths + `
	umask 077;
	"$2" tools "$3" "$4" || exit 1;
	rm -f "$3";
	echo; echo "$1";`)

// kit is the programs that are sent to a board. The zero value has none.
type kit struct {
	path     string // of the archive on this host
	size     int64  // of the archive, in bytes
	programs []string
	packages map[string]packaged
}

// packaged is what was sent of a package.
type packaged struct {
	version  string
	programs []string
	whole    bool // the board's own programs of the package are not used
}

// room is what a kit takes on the board, in bytes, while it is unpacked.
func (k kit) room() int64 { return 2 * k.size }

func (k kit) remove() {
	if k.path != "" {
		_ = os.Remove(k.path) // a temporary file
	}
}

// gather collects the programs to send. The caller removes the kit.
func (s *session) gather(ctx context.Context, spec machine.Spec, goarch string) (kit, error) {
	l := s.line
	tools := wanted(spec.Programs)
	if spec.Tools == plan.ToolsLab || !l.place.serial() { // where each takes a minute
		tools = append(tools, spec.Spare...)
	}
	if len(tools) == 0 || spec.Tools == "" || spec.Tools == plan.ToolsBoard {
		return kit{}, nil
	}
	names := programNames(tools)
	if spec.Tools == plan.ToolsMissing {
		said, err := l.carry(ctx, nil, lacking, names...)
		if err != nil {
			return kit{}, l.failed("looking for programs", err)
		}
		names = strings.Fields(said)
	}
	if len(names) == 0 {
		return kit{}, nil
	}
	image, err := imageFor(goarch)
	if err != nil {
		// What a board lacks costs only the candidates that need it.
		if f := result.FailureOf(err); spec.Tools == plan.ToolsMissing && f != nil {
			l.o.Progress(fmt.Sprintf("%s lacks %s, and none can be sent: %s (%s)", l.place.Name, strings.Join(names, ", "), f.Reason, f.Hint))
			return kit{}, nil
		}
		return kit{}, err
	}
	k, err := pick(image, tools, names)
	if err != nil {
		k.remove()
		return kit{}, &result.Failure{Outcome: result.LabFailed, Reason: "cannot gather programs for " + l.place.Name, Err: err,
			Hint: "whichfs lab build --force" + archFlag(image.Arch()) + " makes the lab's image anew; --tools board sends none"}
	}
	return k, nil
}

// wanted are the tools that can be sent: Debian has packages of them.
func wanted(tools []filesystem.Tool) []filesystem.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t filesystem.Tool) bool { return t.From != "" })
}

func programNames(tools []filesystem.Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Program)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// imageFor is the lab's image with programs for a processor. Errors are *result.Failure.
func imageFor(goarch string) (lab.Image, error) {
	i := slices.IndexFunc(lab.Archs, func(a lab.Arch) bool { return a.GOARCH == goarch })
	if i < 0 {
		return lab.Image{}, result.Refuse("install them on the board, and use --tools board", "the lab has no programs for %s", debian.Architecture(goarch))
	}
	image, err := lab.Locate(lab.Archs[i])
	if errors.Is(err, lab.ErrNotBuilt) {
		return image, result.Refuse("whichfs lab build"+archFlag(lab.Archs[i]), "the programs for %s are in a lab image that is not built", lab.Archs[i].Name)
	}
	if err != nil {
		return image, &result.Failure{Outcome: result.LabFailed, Reason: "cannot read the lab's image", Err: err}
	}
	return image, nil
}

func archFlag(a lab.Arch) string {
	if a.Foreign() {
		return " --arch " + a.Name
	}
	return ""
}

// pick packs those of the named programs that the image has.
func pick(image lab.Image, tools []filesystem.Tool, names []string) (k kit, err error) {
	set, closer, err := toolset.FromLab(image)
	if err != nil {
		return k, err
	}
	defer closer.Close() //nolint:errcheck // read only
	for _, name := range names {
		err := set.Add(name)
		if errors.Is(err, toolset.ErrNoProgram) {
			continue // the agent says what it lacks
		}
		if err != nil {
			return k, err
		}
		k.programs = append(k.programs, name)
	}
	if len(k.programs) == 0 {
		return k, nil
	}
	k.packages = sentOf(tools, k.programs, image.Manifest.Packages)
	f, err := os.CreateTemp("", "whichfs-tools-")
	if err != nil {
		return k, err
	}
	k.path = f.Name()
	if err = errors.Join(set.Write(f), f.Close()); err != nil {
		return k, err
	}
	info, err := os.Stat(k.path)
	if err != nil {
		return k, err
	}
	k.size = info.Size()
	return k, nil
}

// sentOf says what is sent of each package.
func sentOf(tools []filesystem.Tool, sent []string, versions map[string]string) map[string]packaged {
	out := map[string]packaged{}
	for _, t := range tools {
		p, known := out[t.Package]
		p.whole = p.whole || !known
		p.version = versions[t.Package]
		switch {
		case !slices.Contains(sent, t.Program):
			p.whole = false
		case !slices.Contains(p.programs, t.Program):
			p.programs = append(p.programs, t.Program)
		}
		out[t.Package] = p
	}
	for name, p := range out {
		if len(p.programs) == 0 {
			delete(out, name)
		}
	}
	return out
}

// equip sends a kit.
func (s *session) equip(ctx context.Context, k kit) error {
	if k.path == "" {
		return nil
	}
	l := s.line
	_, _, err := s.bring(ctx, item{k.path, k.size, archiveName, ".tools", "the programs", strings.Join(k.programs, ", ")})
	if err != nil {
		return err
	}
	if _, err := l.carry(ctx, nil, unfold, in(l.dir, agentName), in(l.dir, archiveName), in(l.dir, toolsName)); err != nil {
		return l.unsent("the archive of programs", err)
	}
	s.kit = k
	return nil
}

// Support implements machine.Session. The board's packages are not where sent programs come from.
func (s *session) Support(ctx context.Context, candidates []filesystem.Candidate) (wire.Support, error) {
	support, err := s.Client.Support(ctx, candidates)
	if err == nil {
		support.Conditions = s.kit.conditions(support.Conditions)
	}
	return support, err
}

// conditions corrects the versions of tools, and says which programs were sent.
func (k kit) conditions(had []result.Condition) []result.Condition {
	if len(k.packages) == 0 {
		return had
	}
	out := slices.Clone(had)
	var names []string
	for name := range k.packages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p := k.packages[name]
		i := slices.IndexFunc(out, func(c result.Condition) bool { return c.Group == "tools" && c.Name == name })
		switch {
		case i < 0:
			out = append(out, result.Condition{Group: "tools", Name: name, Value: p.version, Matters: true})
		case p.whole:
			out[i].Value = p.version
		case out[i].Value != p.version:
			out[i].Value += "; " + p.version + ": " + strings.Join(p.programs, ", ")
		}
	}
	return append(out, result.Condition{Group: "tools", Name: "sent to the board", Value: strings.Join(k.programs, ", ")})
}
