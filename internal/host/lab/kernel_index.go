package lab

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whichfs/internal/host/debian"
	"whichfs/internal/sys/command"
)

// Where further kernels come from. Backports for the lab's own suite end with the series of the next one,
// and those for the next one go on with newer series.
const (
	Backports      = Suite + "-backports"
	NewerBackports = "trixie-backports"
)

// apt is a separate package manager below a directory: it shares the host's
// mirrors, keys and proxies, and nothing else. apt's checksums and signatures
// verify the bytes.
type apt struct{ dir string }

// newApt writes its configuration for an architecture below dir.
func newApt(ctx context.Context, of Arch, dir string) (apt, error) {
	a := apt{dir: filepath.Join(dir, "apt-"+of.Name)}
	dir = a.dir
	for _, sub := range []string{"etc/apt/preferences.d", "etc/apt/apt.conf.d", "etc/apt/trusted.gpg.d", "state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return a, err
		}
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(dir)
	settings := []string{
		`Dir "` + quoted + `/";`, `Dir::State "state/";`, `Dir::State::status "` + quoted + `/status";`, `Dir::Cache "cache/";`,
		`Dir::Etc "etc/apt/";`, `Dir::Log "/dev/null";`,
		`APT::Architecture "` + of.Name + `";`, `APT::Architectures { "` + of.Name + `"; };`,
		`APT::Sandbox::User "root";`, `Acquire::Languages "none";`,
	}
	settings = append(settings, debian.HostOptions(ctx)...)
	from := debian.HostMirror("/etc", Suite)
	sources := debian.Source(from, Backports) + "\n" + debian.Source(from, NewerBackports) + "\n"
	for name, text := range map[string]string{
		"apt.conf":             strings.Join(settings, "\n") + "\n",
		"etc/apt/sources.list": sources,
		"status":               "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a apt) run(ctx context.Context, o command.Options, argv ...string) error {
	o.Env = append(o.Env, "APT_CONFIG="+filepath.Join(a.dir, "apt.conf"))
	_, err := command.Run(ctx, o, argv...)
	return err
}

// offered lists the suites' kernels of an architecture, newest first. It
// downloads the index.
func offered(ctx context.Context, of Arch) ([]Offer, error) {
	dir, unlock, err := kernelsLocked(ctx, func(string) {})
	if err != nil {
		return nil, err
	}
	defer unlock()
	a, err := newApt(ctx, of, dir)
	if err != nil {
		return nil, err
	}
	if err := a.run(ctx, command.Options{}, "apt-get", "update", "--quiet", "-o", "APT::Update::Error-Mode=any"); err != nil {
		return nil, fmt.Errorf("the package index of %s and %s: %w", Backports, NewerBackports, err)
	}
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(a.run(ctx, command.Options{Stdout: w}, "apt-cache", "dumpavail")) // nil: the end
	}()
	list, err := parseOffers(r, of.flavour)
	_ = r.Close()
	if err != nil {
		return nil, fmt.Errorf("the package index of %s and %s: %w", Backports, NewerBackports, err)
	}
	for i := range list {
		list[i].Arch = of.GOARCH
	}
	return list, nil
}

// parseOffers reads the package index for general-purpose kernels: those named
// linux-image-RELEASE whose release is a version and ends in the flavour.
// Special kinds (cloud, rt) and packages for other purposes (-dbg, -unsigned)
// contain another word.
func parseOffers(r io.Reader, flavour string) ([]Offer, error) {
	var list []Offer
	var o Offer
	add := func() {
		if plainRelease(o.Release, flavour) && o.Version != "" {
			list = append(list, o)
		}
		o = Offer{}
	}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 16<<20) // descriptions and dependencies are long lines
	for scan.Scan() {
		line := scan.Text()
		if strings.TrimSpace(line) == "" {
			add()
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "Package":
			o.Package = value
			o.Release, _ = strings.CutPrefix(value, "linux-image-")
			if o.Release == value {
				o.Release = ""
			}
		case "Version":
			o.Version = value
		case "Depends":
			o.Split = strings.Contains(value, modulesPackage+o.Release)
		}
	}
	add()
	slices.SortStableFunc(list, func(a, b Offer) int { return -CompareVersions(a.Release, b.Release) })
	return list, scan.Err()
}

// The packages of a kernel that is in parts are named by these and its release.
const (
	basePackage    = "linux-base-" // lists of modules
	binaryPackage  = "linux-binary-"
	modulesPackage = "linux-modules-"
)

// packages are those that contain the kernel.
func (o Offer) packages() []string {
	if o.Split {
		return []string{basePackage + o.Release, binaryPackage + o.Release, modulesPackage + o.Release}
	}
	return []string{o.Package}
}

// plainRelease accepts "6.12.95+deb12-amd64".
func plainRelease(release, flavour string) bool {
	version, ok := strings.CutSuffix(release, "-"+flavour)
	if !ok || version == "" || version[0] < '0' || version[0] > '9' {
		return false
	}
	return !strings.ContainsFunc(version, func(r rune) bool {
		return r != '.' && r != '+' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) && !strings.Contains(version, "cloud") && !strings.Contains(version, "rt")
}

// CompareVersions orders releases: numbers in them by value, the rest as text.
func CompareVersions(a, b string) int {
	for a != "" || b != "" {
		wordA, wordB := leading(a, false), leading(b, false)
		if c := strings.Compare(wordA, wordB); c != 0 {
			return c
		}
		a, b = a[len(wordA):], b[len(wordB):]
		numberA, numberB := leading(a, true), leading(b, true)
		a, b = a[len(numberA):], b[len(numberB):]
		numberA, numberB = strings.TrimLeft(numberA, "0"), strings.TrimLeft(numberB, "0")
		if c := cmp.Or(cmp.Compare(len(numberA), len(numberB)), strings.Compare(numberA, numberB)); c != 0 {
			return c
		}
	}
	return 0
}

// leading returns the leading digits of text, or the leading non-digits.
func leading(text string, digits bool) string {
	end := strings.IndexFunc(text, func(r rune) bool { return (r >= '0' && r <= '9') != digits })
	if end < 0 {
		return text
	}
	return text[:end]
}
