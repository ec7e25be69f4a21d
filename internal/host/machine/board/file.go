package board

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"whichfs/internal/plan"
	"whichfs/internal/plan/media"
	"whichfs/internal/result"
	"whichfs/internal/sys/tomlfile"
)

// File describes a board: how it is reached, how its power is switched, and which storage of it is
// under test.
type File struct {
	// Connect is the board's name without a file: ssh:…, serial:… or labgrid:….
	Connect string
	// Console is the board's serial port, where Connect is another way; the zero value: none, or labgrid's.
	Console Place
	// Power switches it; nil: nothing does, or labgrid.
	Power *Power
	// Off is how long it stays off, and Start how long it may take from then on until it is reached.
	Off, Start time.Duration
	// Storage is the device under test, and Identity what --destroy must name; "": any.
	Storage, Identity string
	// Notes are for the report.
	Notes string
	// Agent is where the board keeps the agent, on storage that survives the loss of power; "": in memory.
	Agent string
	// Login is to a serial console, and Loader the boot loader on it.
	Login  Login
	Loader Loader
}

// Login says who logs in on a console. The password itself is in no file of a board's.
type Login struct {
	// User; "": that of the environment, or root.
	User string
	// Variable of the environment has the password, or the first line of the file at Path; "": what the
	// environment says.
	Variable, Path string
	// Prompt ends what the console says when it asks for a user; "": the usual ones.
	Prompt string
	file   string // that says so
}

// Loader is a boot loader on a console. The zero value: none is known.
type Loader struct {
	// Prompt is at the end of what it says when it waits for a command.
	Prompt string
	// Boot are the commands that start the board's own system.
	Boot []string
	// BootFrom are the commands that boot from the filesystem under test, with {root} for the parameters
	// that the kernel needs for it, {storage} for the device, {filesystem} and {options}.
	BootFrom []string
	// Kernels that are booted in turn, by version: what {kernel} stands for in BootFrom. Empty: BootFrom starts one.
	Kernels map[string]string
	// Stop is part of what it says before it waits for a key that stops it; "": the usual words.
	Stop string
	// HandOver is part of its last words before the kernel's.
	HandOver string
}

// kernelVersion is how a kernel is called whose boots are compared with another's.
var kernelVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`)

// usualHandOver is U-Boot's.
const usualHandOver = "Starting kernel"

// written is a File as it is written.
type written struct {
	Connect  string   `toml:"connect"`
	Console  string   `toml:"console"`
	Power    []string `toml:"power"`
	Off      *float64 `toml:"off_seconds"`
	Start    *float64 `toml:"start_seconds"`
	Storage  string   `toml:"storage"`
	Identity string   `toml:"identity"`
	Notes    string   `toml:"notes"`
	Agent    struct {
		Path string `toml:"path"`
	} `toml:"agent"`
	Login struct {
		User     string `toml:"user"`
		Variable string `toml:"password_variable"`
		Path     string `toml:"password_file"`
		Prompt   string `toml:"prompt"`
	} `toml:"login"`
	Loader struct {
		Prompt   string            `toml:"prompt"`
		Boot     []string          `toml:"boot"`
		BootFrom []string          `toml:"boot_from"`
		Kernels  map[string]string `toml:"kernels"`
		Stop     string            `toml:"stop"`
		HandOver string            `toml:"hand_over"`
	} `toml:"boot_loader"`
}

const (
	// largestFile is the size of a board's file, in bytes, above which it is a mistake.
	largestFile = 64 << 10
	// usualOff is for capacitors to empty, usualStart for a board that checks its storage as it starts.
	usualOff, usualStart = 2 * time.Second, 5 * time.Minute
)

// ReadFile reads a board's file. Errors are *result.Failure, and name the line that is at fault.
func ReadFile(path string) (File, error) {
	in, err := os.Open(path)
	if err != nil {
		return File{}, result.Refuse("", "the board's file: %v", err)
	}
	defer in.Close() //nolint:errcheck // read only
	content, err := io.ReadAll(io.LimitReader(in, largestFile+1))
	switch {
	case err != nil:
		return File{}, result.Refuse("", "the board's file: %v", err)
	case len(content) > largestFile:
		return File{}, result.Refuse("", "%s is larger than %d KiB, too large for a board's file", path, largestFile>>10)
	}
	return parseFile(path, content)
}

func parseFile(path string, content []byte) (File, error) {
	var w written
	if err := toml.NewDecoder(strings.NewReader(string(content))).DisallowUnknownFields().Decode(&w); err != nil {
		return File{}, located(path, err)
	}
	key, mistake := "", ""
	seconds := func(name string, given *float64, usual time.Duration) time.Duration {
		if given == nil {
			return usual
		}
		if !(*given >= 0 && *given <= 3600) {
			key, mistake = name, fmt.Sprintf("must be from 0 to 3600, not %v", *given)
			return usual
		}
		return time.Duration(*given * float64(time.Second))
	}
	f := File{Connect: w.Connect, Storage: w.Storage, Identity: w.Identity, Notes: w.Notes, Agent: w.Agent.Path,
		Off: seconds("off_seconds", w.Off, usualOff), Start: seconds("start_seconds", w.Start, usualStart)}
	if len(w.Power) > 0 {
		f.Power = &Power{Command: w.Power, Off: f.Off, Start: f.Start}
	}
	l := w.Login
	f.Login = Login{User: l.User, Variable: l.Variable, Path: l.Path, Prompt: l.Prompt, file: path}
	if l.Path != "" && !filepath.IsAbs(l.Path) {
		f.Login.Path = filepath.Join(filepath.Dir(path), l.Path)
	}
	f.Loader = Loader{Prompt: w.Loader.Prompt, Boot: w.Loader.Boot, BootFrom: w.Loader.BootFrom, Kernels: w.Loader.Kernels, Stop: w.Loader.Stop, HandOver: cmp.Or(w.Loader.HandOver, usualHandOver)}
	if f.Loader.Prompt != "" && len(f.Loader.Boot) == 0 {
		f.Loader.Boot = []string{"boot"}
	}
	place, nameErr := Parse(w.Connect)
	var consoleErr error
	if w.Console != "" {
		f.Console, consoleErr = Parse(w.Console)
	}
	on, storageErr := media.Parse(w.Storage)
	switch {
	case mistake != "":
	case w.Connect == "":
		key, mistake = "connect", "is missing: "+plan.Boards
	case nameErr != nil:
		key, mistake = "connect", nameErr.Error()
	case consoleErr != nil:
		key, mistake = "console", consoleErr.Error()
	case w.Console != "" && (f.Console.Device == "" || place.serial()):
		key, mistake = "console", "is the serial port of a board that is reached in another way: console = \"serial:/dev/ttyUSB0\""
	case len(w.Power) > 0 && (w.Power[0] == "" || !slices.ContainsFunc(w.Power, func(word string) bool { return strings.Contains(word, actionWord) })):
		key, mistake = "power", `must be a program and its arguments, one of them with `+actionWord+`: ["relay", "3", "`+actionWord+`"]`
	case w.Storage != "" && (storageErr != nil || on.Kind != media.KindDevice && on.Kind != media.KindMTD):
		key, mistake = "storage", fmt.Sprintf("must be a device of the board, like /dev/mmcblk1 or mtd:/dev/mtd3, not %q", w.Storage)
	case w.Identity != "" && w.Storage == "":
		key, mistake = "identity", "is that of storage, which is missing"
	case f.Agent != "" && (!plain.MatchString(f.Agent) || strings.HasSuffix(f.Agent, "/")):
		key, mistake = "agent.path", fmt.Sprintf("must be a file of the board, named from its root by letters, digits and _ . -, like /var/lib/whichfs-agent, not %q", f.Agent)
	case l.Variable != "" && l.Path != "":
		key, mistake = "login.password_file", "and password_variable: only one can have the password"
	case w.Login != written{}.Login && !place.serial() && place.Lent == "":
		key, mistake = "login.user", "is for a serial console; ssh logs in by itself: connect = \"ssh:USER@HOST\""
	case len(w.Loader.BootFrom) > 0 && !strings.Contains(strings.Join(w.Loader.BootFrom, " "), "{root}"):
		key, mistake = "boot_loader.boot_from", "must give the kernel {root}, at the end of its parameters: [\"setenv bootargs console=ttyS0 {root}\", \"run bootcmd\"]"
	case (len(w.Loader.Kernels) > 0) != strings.Contains(strings.Join(w.Loader.BootFrom, " "), "{kernel}"):
		key, mistake = "boot_loader.kernels", "are what {kernel} in boot_from stands for, by version: kernels = { \"5.10\" = \"zImage-5.10\", \"6.12\" = \"zImage-6.12\" }"
	case slices.ContainsFunc(slices.Collect(maps.Keys(w.Loader.Kernels)), func(version string) bool { return !kernelVersion.MatchString(version) }):
		key, mistake = "boot_loader.kernels", "must be by version, like \"5.10\", not "+strings.Join(slices.Sorted(maps.Keys(w.Loader.Kernels)), ", ")
	case len(w.Loader.BootFrom) > 0 && len(w.Power) == 0 && place.Lent == "":
		key, mistake = "boot_loader.boot_from", "needs power, by which the board is restarted"
	case len(w.Loader.Boot)+len(w.Loader.BootFrom) > 0 && strings.TrimSpace(w.Loader.Prompt) == "":
		key, mistake = "boot_loader.prompt", "is missing: what the boot loader prints when it waits for a command, like \"=> \""
	case w.Loader.Prompt != "" && !place.serial() && place.Lent == "" && w.Console == "":
		key, mistake = "boot_loader.prompt", "is that of a serial console, and ssh reaches no boot loader: console = \"serial:/dev/ttyUSB0\" names one"
	}
	if mistake != "" {
		return File{}, result.Refuse("docs/boards.md has an example", "%s%s: %s %s", path, lineOf(content, key), key, mistake)
	}
	return f, nil
}

// located is an error of TOML with its place.
func located(path string, err error) error {
	m, hint := tomlfile.Of(path, err), "docs/boards.md has an example"
	if m.Unknown == "login.password" {
		hint = "a password does not belong into the file: password_variable names a variable of the environment with it, and password_file a file"
	}
	return result.Refuse(hint, "%v", m)
}

// lineOf is ":LINE" of a key or else of its table, "" if the file has neither.
func lineOf(content []byte, key string) string {
	table, at := "", ""
	for i, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if inner, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(inner, "]") {
			if table = strings.TrimSpace(strings.TrimSuffix(inner, "]")) + "."; strings.HasPrefix(key, table) {
				at = fmt.Sprintf(":%d", i+1)
			}
		}
		if name, _, ok := strings.Cut(line, "="); ok && table+strings.TrimSpace(name) == key {
			return fmt.Sprintf(":%d", i+1)
		}
	}
	return at
}

// permits refuses storage and permission that are not those of the file.
func (f File) permits(path, storage, destroy string) error {
	path = filepath.Base(path)
	switch {
	case f.Storage != "" && storage != "" && storage != f.Storage:
		return result.Refuse("leave --storage out, or change the file", "--storage %s: %s names %s", storage, path, f.Storage)
	case f.Identity != "" && destroy != "" && destroy != f.Identity:
		return result.Refuse("whichfs list storage shows what the board has", "--destroy %s: %s says that its storage is %s", destroy, path, f.Identity)
	}
	return nil
}
