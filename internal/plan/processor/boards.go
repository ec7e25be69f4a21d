package processor

import (
	"embed"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"whichfs/internal/sys/tomlfile"
)

// data holds the boards, one file each.
//
//go:embed boards/*.toml
var data embed.FS

// boards lists them in display order, slowest first. A test compares the list with the files.
var boards = []string{"usb-a9263", "pandora", "bbb", "imx6", "pi3", "pi4"}

var parsed struct {
	sync.Once
	all []Profile
	err error
}

// read reads the boards once. (sync.OnceValues in a variable would link the decoder into the agent.)
func read() ([]Profile, error) {
	parsed.Do(func() { parsed.all, parsed.err = readBoards() })
	return parsed.all, parsed.err
}

func readBoards() ([]Profile, error) {
	all := make([]Profile, len(boards))
	for i, name := range boards {
		content, err := data.ReadFile("boards/" + name + ".toml")
		if err != nil {
			return nil, fmt.Errorf("board %s: %w", name, err)
		}
		if all[i], err = Decode("board "+name+".toml", content); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Boards returns the profiles that come with whichfs.
func Boards() ([]Profile, error) {
	all, err := read()
	return append([]Profile(nil), all...), err
}

// IsPath reports whether text is the path of a profile: it contains a slash or ends in .toml.
func IsPath(text string) bool { return strings.Contains(text, "/") || strings.HasSuffix(text, ".toml") }

// Resolve returns the board of that name, the profile in the file at that path, a processor of that
// speed, or Host, which is yet to be measured.
func Resolve(text string) (Profile, error) {
	if text == Host {
		return Profile{Name: Host}, nil
	}
	if IsPath(text) {
		return Load(text)
	}
	all, err := read()
	if err != nil {
		return Profile{}, err
	}
	for _, p := range all {
		if p.Name == text {
			return p, nil
		}
	}
	if text != "" && '0' <= text[0] && text[0] <= '9' {
		return Parse(text)
	}
	return Profile{}, fmt.Errorf("there is no processor %q; use %s, a speed (600MIPS), the path of a profile (./board.toml) or host", text, strings.Join(boards, ", "))
}

// maxFile is the size of a profile, in bytes, above which it is a mistake.
const maxFile = 64 << 10

// Load reads a profile. Errors name the file, and the line if one is at fault.
func Load(path string) (Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return Profile{}, fmt.Errorf("profile of a processor: %w", err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Profile{}, fmt.Errorf("profile of a processor: %w", err)
	}
	if len(content) > maxFile {
		return Profile{}, fmt.Errorf("%s is larger than %d KiB, too large for the profile of a processor", path, maxFile>>10)
	}
	return Decode(path, content)
}

// file is a profile as it is written: every figure with its unit.
type file struct {
	Name        string `toml:"name"`
	Title       string `toml:"title"`
	Other       speed  `toml:"other"`
	Compressing speed  `toml:"compressing"`
	Checksums   speed  `toml:"checksums"`
	Copying     rate   `toml:"copying"`
	CRC32       rate   `toml:"crc32"`  // 0: by tables
	CRC32C      rate   `toml:"crc32c"` // 0: by tables
	Call        *int64 `toml:"call"`   // nil: OwnCall
	Fault       *int64 `toml:"fault"`  // nil: OwnFault
	Switch      *int64 `toml:"switch"` // nil: OwnSwitch
	Source      string `toml:"source"`
}

// Encode returns a profile as it is written in a file.
func (p Profile) Encode() string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%s = %s\n", key, value) }
	line("name", quoted(p.Name))
	if p.Title != "" {
		line("title", quoted(p.Title))
	}
	line("other", quoted(quantity(p.Other)+mips))
	line("compressing", quoted(quantity(p.Compressing)+mips))
	line("checksums", quoted(quantity(p.Checksums)+mips))
	line("copying", quoted(quantity(p.Copying)+megabytes))
	if p.CRC32 != 0 {
		line("crc32", quoted(quantity(p.CRC32)+megabytes))
	}
	if p.CRC32C != 0 {
		line("crc32c", quoted(quantity(p.CRC32C)+megabytes))
	}
	line("call", number(math.Round(p.Call)))
	line("fault", number(math.Round(p.Fault)))
	line("switch", number(math.Round(p.Switch)))
	line("source", quoted(p.Source))
	return b.String()
}

// quoted is a text of TOML. What cannot be printed is left out: Go would write it in another way.
func quoted(text string) string {
	return strconv.Quote(strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return -1
		}
		return r
	}, text))
}

// speed is in instructions per second.
type speed float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *speed) UnmarshalText(text []byte) error {
	v, err := parseSpeed(string(text))
	*s = speed(v)
	return err
}

// rate is in bytes per second.
type rate float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *rate) UnmarshalText(text []byte) error {
	millions, unit := strings.CutSuffix(string(text), megabytes)
	v, err := strconv.ParseFloat(millions, 64)
	if err != nil || !unit || !(v >= slowest/1e6 && v <= 4*fastest/1e6) {
		return fmt.Errorf(`%q is no rate from "1 MB/s" to "4000000 MB/s"`, text)
	}
	*r = rate(v * 1e6)
	return nil
}

// Decode reads a profile as it is written in a file. Errors begin with the path, and the line if one is at fault.
func Decode(path string, content []byte) (Profile, error) {
	var f file
	if err := toml.NewDecoder(strings.NewReader(string(content))).DisallowUnknownFields().Decode(&f); err != nil {
		m := tomlfile.Of(path, err)
		if m.Unknown != "" {
			m.What += "; the keys are name, title, other, compressing, checksums, copying, crc32, crc32c, call, fault, switch, source"
		}
		return Profile{}, m
	}
	of := func(given *int64, estimate float64) float64 {
		if given == nil {
			return estimate
		}
		return float64(*given)
	}
	p := Profile{
		Name: f.Name, Title: f.Title, Other: float64(f.Other), Compressing: float64(f.Compressing), Checksums: float64(f.Checksums),
		Copying: float64(f.Copying), CRC32: float64(f.CRC32), CRC32C: float64(f.CRC32C), Call: of(f.Call, OwnCall), Fault: of(f.Fault, OwnFault), Switch: of(f.Switch, OwnSwitch), Source: f.Source,
	}
	key, what := p.mistake()
	if key == "" && strings.TrimSpace(p.Source) == "" {
		key, what = "source", `must say where the figures come from: a publication, or "estimated" and how`
	}
	if key == "" {
		return p, nil
	}
	for i, line := range strings.Split(string(content), "\n") {
		if word, _, _ := strings.Cut(line, "="); strings.TrimSpace(word) == key {
			path = fmt.Sprintf("%s:%d", path, i+1)
			break
		}
	}
	return Profile{}, fmt.Errorf("%s: %s %s", path, key, what)
}
