package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whichfs/internal/result"
	"whichfs/internal/sys/cache"
	"whichfs/internal/sys/steps"
)

// ownSeries is the kernel of the images' suite, until the first image exists.
const ownSeries = "6.1"

// Kernel is an unpacked kernel that guests can boot. All paths are absolute.
type Kernel struct {
	Offer
	File string // what QEMU boots, see Image.Kernel
	// Root is the directory above lib/modules/RELEASE, which holds the
	// filesystems' modules with their dependencies, all uncompressed, and
	// depmod's lists.
	Root string
}

// Offer is an available kernel.
type Offer struct {
	Release string `json:"release"` // uname -r; "" for the lab's own before it is built
	Package string `json:"package"` // Debian's name
	Version string `json:"version"` // of the package; "" likewise
	// Own: the lab's guests run it.
	Own bool `json:"own"`
	// Arch is GOARCH; empty in the files of older versions: amd64.
	Arch string `json:"arch,omitempty"`
	// Split: the package is empty and depends on those of its parts, as since Linux 7.3.
	Split bool `json:"split,omitempty"`
	// Made is set if the kernel was built from a user's source, and Package is empty then.
	Made *Made `json:"made,omitempty"`
}

// Made says how a kernel was built from a user's source.
type Made struct {
	Source string `json:"source"` // directory, absolute
	// Digest is of all that the kernel is built from: source and configuration.
	Digest    string    `json:"digest"`
	Compiler  string    `json:"compiler"`
	Built     time.Time `json:"built"`
	Seconds   float64   `json:"seconds"`   // that the build took
	Processor float64   `json:"processor"` // s, of compiling
}

// Series is the prefix of the version that users write: "6.12".
func (o Offer) Series() string {
	if o.Release == "" {
		return ownSeries
	}
	parts := strings.SplitN(o.Release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// matches reports whether a version as users write it means this kernel: a
// prefix of its release that ends at a number boundary.
func (o Offer) matches(asked string) bool {
	release := o.Release
	if release == "" {
		release = ownSeries
	}
	rest, ok := strings.CutPrefix(release, asked)
	return ok && asked != "" && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// FindKernel returns the kernel of an architecture that a version prefix
// means: "6.12", or "6.12.95" for that one alone. It downloads no kernel: it
// prefers the cache, and otherwise queries the package index. Errors are
// *result.Failure unless this host is to blame.
func FindKernel(ctx context.Context, a Arch, asked string) (Offer, error) {
	own := ownOffer(a)
	if own.matches(asked) {
		return own, nil
	}
	kept, err := keptKernels(a)
	if err != nil {
		return Offer{}, err
	}
	for _, k := range kept {
		if k.matches(asked) {
			return k.Offer, nil
		}
	}
	list, err := offered(ctx, a)
	if cause := context.Cause(ctx); cause != nil {
		return Offer{}, cause
	}
	for _, o := range list {
		if o.matches(asked) {
			return o, nil
		}
	}
	have := []string{own.Series()}
	for _, k := range kept {
		list = append(list, k.Offer)
	}
	for _, o := range list {
		name := o.Series()
		if o.Made != nil { // there may be several of a series
			name = o.Release
		}
		if !slices.Contains(have, name) {
			have = append(have, name)
		}
	}
	f := result.Refuse("choose one of those", "the lab has no kernel %q; it has %s", asked, strings.Join(have, ", "))
	if err != nil {
		f.Reason += fmt.Sprintf(" (others are unknown: %v)", err)
	}
	return Offer{}, f
}

// FetchKernel finds a kernel as FindKernel does and prepares it: from the lab
// image, from the cache, or from the network. progress, which may be nil,
// receives one line per step.
func FetchKernel(ctx context.Context, a Arch, asked string, progress func(string)) (Kernel, error) {
	if progress == nil {
		progress = func(string) {}
	}
	offer, err := FindKernel(ctx, a, asked)
	if err != nil {
		return Kernel{}, err
	}
	var image Image
	if offer.Own {
		if image, err = Build(ctx, a, progress); err != nil {
			return Kernel{}, err
		}
		offer = ownOffer(a)
	}
	home, err := Home()
	if err != nil {
		return Kernel{}, err
	}
	at := filepath.Join(home, kernelsFolder, offer.dir(image))
	// Not behind another build, such as that of the virtual lab.
	if k, err := openKernel(at); err == nil {
		return k, nil
	}
	dir, unlock, err := kernelsLocked(ctx, progress)
	if err != nil {
		return Kernel{}, err
	}
	defer unlock()
	if k, err := openKernel(at); err == nil {
		return k, nil
	}
	temp, err := os.MkdirTemp(dir, UnfinishedPrefix)
	if err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", offer.Release, err)
	}
	defer os.RemoveAll(temp)
	work := steps.Of("kernel " + offer.Package)
	if err := offer.unpack(ctx, image, temp, work.Saying(progress)); err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", offer.Release, err)
	}
	work.End()
	replaced := []string{at} // an incomplete one
	if offer.Own {           // and those of earlier images
		replaced, _ = filepath.Glob(filepath.Join(dir, "own-*-"+a.flavour))
	}
	for _, old := range replaced {
		if err := os.RemoveAll(old); err != nil {
			return Kernel{}, fmt.Errorf("kernel %s: %w", offer.Release, err)
		}
	}
	if err := os.Rename(temp, at); err != nil {
		return Kernel{}, fmt.Errorf("kernel %s: %w", offer.Release, err)
	}
	return openKernel(at)
}

// dir names the kernel in the cache. A kernel from an image is removed with
// it.
func (o Offer) dir(image Image) string {
	if o.Own {
		return "own-" + image.Manifest.Digest + "-" + o.Release
	}
	return o.Release
}

// ownOffer is the kernel of the image, built or not.
func ownOffer(a Arch) Offer {
	o := Offer{Own: true, Package: a.kernel, Arch: a.GOARCH}
	if image, err := Locate(a); err == nil {
		o.Release = image.Manifest.Kernel
		o.Package = "linux-image-" + o.Release
		o.Version = image.Manifest.Packages[o.Package]
	}
	return o
}

const kernelsFolder = "kernels"

// Locked returns the path of a folder in Home, and creates it if necessary. Until
// unlock no other process writes there or removes it.
func Locked(ctx context.Context, name string, progress func(string)) (dir string, unlock func(), err error) {
	home, err := cache.Sub(folder)
	if err != nil {
		return "", nil, fmt.Errorf("lab: %w", err)
	}
	unlock, err = cache.LockContext(ctx, filepath.Join(home, lockName), func() { progress("waiting for another build of the lab") })
	if err != nil {
		return "", nil, fmt.Errorf("lab: %w", err)
	}
	dir = filepath.Join(home, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		unlock()
		return "", nil, fmt.Errorf("lab: %w", err)
	}
	return dir, unlock, nil
}

// kernelsLocked returns the directory of kernels, locked.
func kernelsLocked(ctx context.Context, progress func(string)) (dir string, unlock func(), err error) {
	dir, unlock, err = Locked(ctx, kernelsFolder, progress)
	if err != nil {
		return "", nil, err
	}
	// What a killed fetch left behind is unused while we hold the lock.
	old, _ := filepath.Glob(filepath.Join(dir, UnfinishedPrefix+"*"))
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			unlock()
			return "", nil, fmt.Errorf("kernels of the lab: %w", err)
		}
	}
	return dir, unlock, nil
}

// arch is the architecture that the kernel is for.
func (o Offer) arch() Arch {
	if o.Arch == "" {
		return archOf("amd64")
	}
	return archOf(o.Arch)
}

// keptKernels returns the cached kernels of an architecture that do not come
// from an image: Debian's, newest first, and then those of users' sources.
func keptKernels(a Arch) ([]Kernel, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(home, kernelsFolder))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("kernels of the lab: %w", err)
	}
	var kept []Kernel
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), UnfinishedPrefix) {
			continue
		}
		if k, err := openKernel(filepath.Join(home, kernelsFolder, e.Name())); err == nil && !k.Own && k.arch() == a {
			kept = append(kept, k)
		}
	}
	slices.SortFunc(kept, func(a, b Kernel) int {
		if byUser := a.Made != nil; byUser != (b.Made != nil) {
			return map[bool]int{true: 1, false: -1}[byUser]
		}
		return -CompareVersions(a.Release, b.Release)
	})
	return kept, nil
}

// FromSource lists the kernels that were built from users' sources, newest version first.
func FromSource() ([]Kernel, error) {
	kept, err := keptKernels(Native())
	return slices.DeleteFunc(kept, func(k Kernel) bool { return k.Made == nil }), err
}

// Size is the space that the kernel takes on the disk, in bytes.
func (k Kernel) Size() int64 { return Used(k.Root) }

// openKernel reads a kernel's directory.
func openKernel(dir string) (Kernel, error) {
	k := Kernel{Root: dir}
	text, err := os.ReadFile(filepath.Join(dir, "kernel.json"))
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(text, &k.Offer); err != nil {
		return k, err
	}
	k.File = filepath.Join(dir, k.arch().kernelFile())
	if _, err := os.Stat(k.File); err != nil {
		k.File = filepath.Join(dir, packedFile)
	}
	for _, needed := range []string{k.File, filepath.Join(k.modules(), "modules.dep")} {
		if _, err := os.Stat(needed); err != nil {
			return k, err
		}
	}
	return k, nil
}

func (k Kernel) modules() string { return filepath.Join(k.Root, "lib/modules", k.Release) }
