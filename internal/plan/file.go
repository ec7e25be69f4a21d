package plan

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/processor"
	"whichfs/internal/result"
	"whichfs/internal/sys/tomlfile"
)

// File is the content of a user's plan file. Missing keys are nil. It cannot permit the destruction
// of a device: that is required again for every run.
type File struct {
	Path       string
	Study      *string
	Scale      *string
	Machine    *string
	Storage    *string
	Clock      *string
	Processor  *processor.Profile
	Candidates []filesystem.Candidate
	Modules    []string // paths, absolute
	Programs   []string // NAME=PATH, absolute
	Arch       *string  // Debian's name
	Rounds     *int
	Seed       *uint64
	Budget     *time.Duration
	Margin     *float64
	Until      *string

	Precondition *bool

	lines map[string]int // of keys, and "candidates.N" of its N-th element
}

// Key is one key of a plan file.
type Key struct {
	Name string
	Help string // the allowed values, with an example
	set  func(*File, any) error
}

// Keys are all keys of a plan file, for reading and for the manual. (The fake machine is for tests
// and undocumented.)
var Keys = []Key{
	{"study", `the name of a study in quotes, "bootlin-2023"`, text(func(f *File) **string { return &f.Study })},
	{"scale", `"quick", "claims" or "full"`, text(func(f *File) **string { return &f.Scale }, "quick", "claims", "full")},
	{"machine", `"lab", "local", "ssh:[USER@]HOST[:PORT]", "serial:DEVICE[@BAUD]" or "labgrid:PLACE"`, setMachine},
	{"storage", `what to measure on, in quotes: "disk:1G", "loop:2G", "/dev/sdX"`, text(func(f *File) **string { return &f.Storage })},
	{"clock", `"wall", "instructions" or "virtual"`, text(func(f *File) **string { return &f.Clock }, result.Clocks...)},
	{"cpu", `the processor that guests with the virtual clock are charged for, in quotes: "600MIPS", "bbb", "host", or the path of a profile relative to the plan file, "./board.toml"`, setProcessor},
	{"precondition", "true or false", setPrecondition},
	{"candidates", `a list of candidates in quotes, ["ext4", "btrfs -m single -o compress=lzo"]`, setCandidates},
	{"arch", `"amd64", "arm64" or "armhf": the architecture of the lab's guests`, text(func(f *File) **string { return &f.Arch }, "amd64", "arm64", "armhf")},
	{"modules", `a list of kernel modules in quotes, by name or as files relative to the plan file: ["yaffs2", "other.ko"]`, setModules},
	{"programs", `a list of programs in quotes, as files relative to the plan file: ["./mkfs.erofs", "mkfs.ext4=build/mke2fs"]`, setPrograms},
	{"rounds", fmt.Sprintf("a whole number from 1 to %d", MaxRounds), setRounds},
	{"seed", "a whole number, 0 or more", setSeed},
	{"budget", `a time in quotes, "10m" or "1h30m"`, setBudget},
	{"until", `"settled"`, text(func(f *File) **string { return &f.Until }, UntilSettled)},
	{"margin", "a number above 0 and below 1; 0.10 is 10 %", setMargin},
}

// maxFile is the size of a plan file, in bytes, above which it is a mistake.
const maxFile = 64 << 10

// Load reads a plan file. Errors begin with the file and, if a line is at
// fault, its number.
func Load(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("plan file: %w", err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("plan file: %w", err)
	}
	if len(content) > maxFile {
		return File{}, fmt.Errorf("plan file %s is larger than %d KiB: is it a plan file?", path, maxFile>>10)
	}
	return parse(path, content)
}

// Where names the line of a key for messages about its value: "plan.toml:3".
func (f File) Where(key string) string {
	if line := f.lines[key]; line > 0 {
		return fmt.Sprintf("%s:%d", f.Path, line)
	}
	return f.Path
}

func parse(path string, content []byte) (File, error) {
	f := File{Path: path}
	var values map[string]any
	if err := toml.Unmarshal(content, &values); err != nil {
		return File{}, tomlfile.Of(path, err)
	}
	f.lines = lines(content)
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	// Report the first mistake in the file.
	sort.Slice(names, func(i, j int) bool {
		a, b := f.lines[names[i]], f.lines[names[j]]
		return a < b || a == b && names[i] < names[j]
	})
	for _, name := range names {
		key, known := keyNamed(name)
		if !known {
			return File{}, fmt.Errorf("%s: unknown key %q%s", f.Where(name), name, knownKeys(name))
		}
		err := key.set(&f, values[name])
		if errors.Is(err, errKind) {
			err = fmt.Errorf("%s must be %s; not %s", name, key.Help, kindOf(values[name]))
		}
		if err != nil {
			where := f.Where(name)
			var one *candidateError
			if errors.As(err, &one) {
				if element := fmt.Sprintf("%s.%d", name, one.index); f.lines[element] > 0 {
					where = f.Where(element)
				}
			}
			return File{}, fmt.Errorf("%s: %w", where, err)
		}
	}
	return f, nil
}

func keyNamed(name string) (Key, bool) {
	for _, k := range Keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// knownKeys lists the keys that an unknown key could have been.
func knownKeys(name string) string {
	if name == "destroy" {
		return ": permission to destroy a device can be given only on the command line, with --destroy"
	}
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = k.Name
	}
	return "; the keys are " + strings.Join(names, ", ")
}

// lines finds the line of every key, which decoding does not provide. The
// content is known to be valid.
func lines(content []byte) map[string]int {
	found := map[string]int{}
	var ends []int // of lines; the parser's own search for them begins at the top for every key
	for i, c := range content {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	note := func(name string, at unstable.Range) {
		if _, there := found[name]; !there && at.Length > 0 {
			found[name] = 1 + sort.SearchInts(ends, int(at.Offset))
		}
	}
	var p unstable.Parser
	p.Reset(content)
	top := true // before the first [table]
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind != unstable.KeyValue {
			top = false
		} else if !top {
			continue // a table's keys: the table itself is unknown
		}
		keys := node.Key()
		if !keys.Next() {
			continue
		}
		name := string(keys.Node().Data)
		note(name, keys.Node().Raw)
		if node.Kind != unstable.KeyValue || node.Value().Kind != unstable.Array {
			continue
		}
		index := 0
		for element := node.Value().Child(); element != nil; element = element.Next() {
			if element.Kind == unstable.Comment {
				continue
			}
			note(fmt.Sprintf("%s.%d", name, index), element.Raw)
			index++
		}
	}
	return found
}

// setMachine reads a plan file's machine.
func setMachine(f *File, v any) error {
	if name, ok := v.(string); ok && OnBoard(name) {
		f.Machine = &name
		return nil
	}
	return text(func(f *File) **string { return &f.Machine }, "lab", "local", "fake")(f, v)
}
