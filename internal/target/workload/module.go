package workload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/kmod"
)

// ModuleLoad loads the filesystem's kernel module and everything it depends on, in the order of
// modules.dep. The module files are read into memory before the clock starts, so the figure is the
// kernel's own work (linking, init functions) and not the speed of the root filesystem or of a
// modprobe process. What the machine had loaded to start itself was timed then, and is added.
var ModuleLoad = Kind{Name: "module-load", Setup: setupModuleLoad}

// Modules is the kernel's module tree of one machine.
type Modules struct {
	Dir     string              // /lib/modules/6.1.0-56-amd64
	deps    map[string][]string // name → its own file, then files it needs
	builtin map[string]bool
	soft    map[string][]string // name → modules to load before it, if they exist
	post    map[string][]string // the same, after it
	given   map[string]Given    // name → the user's module in place of the tree's
	proc    string              // where the kernel shows what it has loaded
	brought map[string]bool     // see Watch
}

// ReadModules reads the module tree of a kernel release below root. A machine without a module tree
// (everything built in) gets an empty one.
func ReadModules(root, release string) (*Modules, error) {
	m := &Modules{
		Dir:  filepath.Join(root, "lib/modules", release),
		deps: map[string][]string{}, builtin: map[string]bool{}, soft: map[string][]string{}, post: map[string][]string{},
		proc: filepath.Join(root, "proc"), brought: map[string]bool{},
	}
	text, err := os.ReadFile(filepath.Join(m.Dir, "modules.dep"))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return m, nil
		}
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		file, needs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			m.deps[moduleName(file)] = append([]string{file}, strings.Fields(needs)...)
		}
	}
	if text, err := os.ReadFile(filepath.Join(m.Dir, "modules.builtin")); err == nil {
		for line := range strings.Lines(string(text)) {
			m.builtin[moduleName(strings.TrimSpace(line))] = true
		}
	}
	if text, err := os.ReadFile(filepath.Join(m.Dir, "modules.softdep")); err == nil {
		m.readSoft(text)
	}
	return m, nil
}

// readSoft reads lines such as "softdep ext4 pre: crc32c post: x".
func (m *Modules) readSoft(text []byte) {
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "softdep" {
			continue
		}
		var to map[string][]string
		for _, w := range words[2:] {
			switch {
			case w == "pre:":
				to = m.soft
			case w == "post:":
				to = m.post
			case strings.HasSuffix(w, ":"):
				to = nil
			case to != nil:
				to[moduleName(words[1])] = append(to[moduleName(words[1])], moduleName(w))
			}
		}
	}
}

// Has reports whether there is a file of the module, in the tree or from the user, and whether it
// is built in.
func (m *Modules) Has(name string) (file, builtin bool) {
	name = moduleName(name)
	_, given := m.given[name]
	return given || len(m.deps[name]) > 0, m.builtin[name]
}

// Order returns the files to load for a module, dependencies first, the module itself last, each
// once. A soft dependency that the tree lacks (an alias, a built-in) is skipped.
func (m *Modules) Order(name string) []string {
	var order []string
	seen := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		files := m.deps[name]
		if _, given := m.given[name]; seen[name] || len(files) == 0 && !given {
			return
		}
		seen[name] = true
		for _, s := range m.soft[name] {
			add(s)
		}
		if m.orderGiven(name, add, &order) {
			return
		}
		// modules.dep lists the nearest dependency first.
		for i := len(files) - 1; i > 0; i-- {
			add(moduleName(files[i]))
		}
		order = append(order, files[0])
	}
	add(moduleName(name))
	return order
}

// files is Order for several modules.
func (m *Modules) files(names []string) (all []string) {
	for _, name := range names {
		for _, f := range m.Order(name) {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// moduleName turns kernel/fs/ext4/ext4.ko.xz into ext4, with the underscore
// that /proc/modules uses.
func moduleName(file string) string {
	name := filepath.Base(file)
	if i := strings.Index(name, ".ko"); i >= 0 {
		name = name[:i]
	}
	return strings.ReplaceAll(name, "-", "_")
}

// LoadedModules returns the modules in the kernel, with the memory that each takes in bytes.
func LoadedModules() (map[string]int64, error) { return loadedModules("/proc") }

func loadedModules(proc string) (map[string]int64, error) {
	text, err := os.ReadFile(filepath.Join(proc, "modules"))
	if errors.Is(err, os.ErrNotExist) {
		return map[string]int64{}, nil // a kernel without module support
	}
	if err != nil {
		return nil, err
	}
	return parseProcModules(text), nil
}

func parseProcModules(text []byte) map[string]int64 {
	loaded := map[string]int64{}
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() {
		var name string
		var size int64
		if n, _ := fmt.Sscan(s.Text(), &name, &size); n == 2 {
			loaded[name] = size
		}
	}
	return loaded
}

func setupModuleLoad(_ context.Context, env *Env, _ scenario.Step) (Job, error) {
	name := moduleName(env.FS.Module)
	if name == "" || env.Modules == nil {
		return absentModule("this filesystem has no module of its own"), nil
	}
	why, err := env.cannotLoad(name)
	switch {
	case err != nil:
		return Job{}, err
	case why == loadedBefore && env.AtStart[name].Seconds > 0:
		return loadedAtStart(env, name), nil
	case why != "":
		return absentModule(why), nil
	}
	return env.load(name, env.driverFiles(), "")
}

// driver is the filesystem's module, after what its init function requests and before what it requests when it mounts.
// Those that are for another processor are optional for it.
func (env *Env) driver() []string {
	return slices.Concat(env.FS.Asks, []string{env.FS.Module}, env.codecs())
}

// driverFiles are the files to load for the driver, in order, each once.
func (env *Env) driverFiles() []string { return env.Modules.files(env.driver()) }

const loadedBefore = "the module was loaded before the trial and is in use"

// cannotLoad says why loading a module cannot be measured here; "" if it can.
func (env *Env) cannotLoad(name string) (why string, err error) {
	if env.Modules == nil {
		return "no module tree for this kernel; the driver is built in", nil
	}
	file, builtin := env.Modules.Has(name)
	loaded, err := LoadedModules()
	if err != nil {
		return "", err
	}
	_, inKernel := loaded[name]
	switch {
	case !file && builtin:
		return "built into this kernel", nil
	case !file && !inKernel:
		return "the module tree of this kernel lacks the module; the driver is built in", nil
	case inKernel:
		return loadedBefore, nil
	}
	return "", nil
}

// load loads module files in order, except those already in the kernel; the one named own with
// parameters. The others may be for another processor.
func (env *Env) load(own string, need []string, parameters string) (Job, error) {
	type part struct {
		name    string
		fd      int
		size    int64 // of its file, B
		refused bool  // is for another processor
		flags   uintptr
		params  *byte // finit_module needs a pointer even to an empty string
	}
	loaded, err := LoadedModules()
	if err != nil {
		return Job{}, err
	}
	var parts []part
	var earlier started
	for _, f := range need {
		mod := moduleName(f)
		if memory, there := loaded[mod]; there {
			earlier.add(env, mod, memory)
			continue
		}
		path := filepath.Join(env.Modules.Dir, f)
		// Reading it once brings it into the page cache.
		body, err := os.ReadFile(path)
		if err != nil {
			return Job{}, err
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return Job{}, fmt.Errorf("open %s: %w", path, err)
		}
		p := part{name: mod, fd: fd, size: int64(len(body)), flags: uintptr(kmod.Flags(f)), params: new(byte)}
		if mod == own && parameters != "" {
			p.params = &terminated(parameters)[0]
		}
		parts = append(parts, p)
		env.Modules.brought[mod] = env.Modules.brought[mod]
	}
	run := func(t *Tally) error {
		t.Files = earlier.count
		for i := range parts {
			_, _, errno := unix.Syscall(unix.SYS_FINIT_MODULE, uintptr(parts[i].fd), uintptr(unsafe.Pointer(parts[i].params)), parts[i].flags)
			if errno == unix.ENODEV && parts[i].name != own {
				parts[i].refused = true
				continue
			}
			if errno != 0 && errno != unix.EEXIST {
				return env.Modules.notLoaded(parts[i].name, errno)
			}
			if errno == 0 {
				env.Modules.brought[parts[i].name] = true // the key exists, so nothing is allocated
			}
			t.Files++
		}
		return nil
	}
	after := func() (Extra, error) {
		for _, p := range parts {
			_ = unix.Close(p.fd)
		}
		now, err := LoadedModules()
		if err != nil {
			return Extra{}, err
		}
		total, ram, count := earlier.Size, earlier.memory, earlier.count
		var file int64
		var names []string
		for _, p := range parts {
			if p.refused {
				continue
			}
			names = append(names, p.name)
			total, ram, count = total+p.size, ram+now[p.name], count+1
			if p.name == own {
				file = p.size
			}
		}
		return Extra{Measurements: []result.Measurement{
			result.Figure(result.ModuleSize, float64(total)),
			result.Figure(result.ModuleOwn, float64(file)),
			result.Figure(result.ModuleRAM, float64(ram)),
			result.Figure(result.ModuleCount, float64(count)),
		}, Notes: env.Modules.givenNotes(names)}, nil
	}
	return Job{Run: run, After: after, Earlier: earlier.Seconds}, nil
}

// AtStart is the cost of loading a module when the machine started, for the filesystem that the
// machine itself runs from and for what it shares with others.
type AtStart struct {
	Seconds float64
	Size    int64 // of the module file, B
}

// started are modules that a filesystem needs and that the machine had loaded for itself when it
// started: they count for every filesystem alike.
type started struct {
	AtStart
	memory, count int64
}

// add adds a loaded module, unless something else has loaded it.
func (s *started) add(env *Env, name string, memory int64) {
	if one, ok := env.AtStart[name]; ok {
		s.Seconds += one.Seconds
		s.Size += one.Size
		s.memory += memory
		s.count++
	}
}

// loadedAtStart reports the load that was timed when the guest started: the module of the root
// image's own filesystem cannot be unloaded.
func loadedAtStart(env *Env, name string) Job {
	var all started
	loaded, _ := LoadedModules()
	for _, f := range env.driverFiles() {
		all.add(env, moduleName(f), loaded[moduleName(f)])
	}
	return Job{Given: all.Seconds, After: func() (Extra, error) {
		return Extra{
			Measurements: []result.Measurement{
				result.Figure(result.ModuleSize, float64(all.Size)),
				result.Figure(result.ModuleOwn, float64(env.AtStart[name].Size)),
				result.Figure(result.ModuleRAM, float64(all.memory)),
				result.Figure(result.ModuleCount, float64(all.count)),
			},
			Notes: []result.Note{{Level: result.Info, Text: "the guest's own root is " + env.FS.Title + ": its module load was timed when the guest started"}},
		}, nil
	}}
}

// absentModule is a load that cannot be measured: every figure of the phase is absent with the
// reason.
func absentModule(why string) Job { return Job{Absent: why, AbsentMetrics: moduleMetrics} }

var moduleMetrics = []string{result.ModuleSize, result.ModuleOwn, result.ModuleRAM, result.ModuleCount}

// codecs returns the modules that the driver will request by itself when it mounts with the
// candidate's options.
func (env *Env) codecs() []string {
	out := append([]string(nil), env.FS.Codecs[""]...)
	for _, o := range append(env.Candidate.Mount(), env.Candidate.Make()...) {
		_, value, ok := strings.Cut(o, "=")
		if !ok {
			value = o
		}
		value, _, _ = strings.Cut(value, ":")
		out = append(out, env.FS.Codecs[value]...)
	}
	return out
}

// InsertModule loads one module file with parameters ("name=value name=value"); it succeeds if the
// module is already loaded.
func InsertModule(path, parameters string) error {
	_, err := insertModule(path, parameters)
	return err
}

// insertModule is InsertModule; loaded is false for one that was there.
func insertModule(path, parameters string) (loaded bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, cause(err)
	}
	defer f.Close()
	err = kmod.Insert(f, parameters)
	if errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	return err == nil, err
}

// LoadFor loads modules with everything that they need. It succeeds for modules that are loaded or
// built in, and for a kernel without a module tree: the user of a missing module reports it.
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
