package lab

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/result"
)

// index is what a suite offers: two general-purpose kernels, and packages that
// are none.
const index = `Package: linux-image-6.12.9+deb12-amd64
Version: 6.12.9-1~bpo12+1
Description: Linux 6.12
 for 64-bit PCs

Package: linux-image-6.12.43+deb12-amd64
Architecture: amd64
Version: 6.12.43-1~bpo12+1

Package: linux-image-6.12.43+deb12-cloud-amd64
Version: 6.12.43-1~bpo12+1

Package: linux-image-6.12.43+deb12-amd64-unsigned
Version: 6.12.43-1~bpo12+1

Package: linux-image-amd64
Version: 6.12.43-1~bpo12+1

Package: linux-headers-6.13.1-amd64
Version: 6.13.1-1

Package: linux-image-7.3.4+deb13-amd64
Version: 7.3.4-1~bpo13+1
Depends: linux-base, linux-binary-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1), linux-modules-7.3.4+deb13-amd64 (= 7.3.4-1~bpo13+1)
`

// playAptGet records its arguments; update fails if the file "offline" exists,
// download writes a package.
func playAptGet(dir string) int {
	log, err := os.OpenFile(filepath.Join(dir, "apt-calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 9
	}
	fmt.Fprintln(log, strings.Join(os.Args[1:], " "))
	_ = log.Close()
	if _, err := os.Stat(filepath.Join(dir, "offline")); err == nil {
		fmt.Fprintln(os.Stderr, "E: Failed to fetch http://deb.debian.org: no route to host")
		return 100
	}
	conf, err := os.ReadFile(os.Getenv("APT_CONFIG"))
	if err != nil || !strings.Contains(string(conf), `Acquire::http::Proxy "http://proxy:3142";`) || !strings.Contains(string(conf), `Dir "/`) {
		fmt.Fprintln(os.Stderr, "the settings are missing")
		return 1
	}
	if os.Args[1] == "download" {
		for _, word := range os.Args[2:] {
			if name, _, ok := strings.Cut(word, "="); ok {
				_ = os.WriteFile(name+".deb", nil, 0o644)
			}
		}
	}
	return 0
}

func playAptCache(string) int { fmt.Print(index); return 0 }

// playDpkgDeb writes the contents of a kernel's package.
func playDpkgDeb(dir string) int {
	w := tar.NewWriter(os.Stdout)
	base := "./lib/modules/6.12.43+deb12-amd64/"
	files := map[string]string{
		"./boot/vmlinuz-6.12.43+deb12-amd64":            string(bzImage("xz", elfWithNote("Xen\x00", 18))),
		"./usr/share/doc/copyright":                     "much",
		base + "modules.builtin":                        "kernel/drivers/virtio/virtio_pci.ko\nkernel/crypto/crc32c_generic.ko\n",
		base + "kernel/fs/ext4/ext4.ko.xz":              xz("ext4 driver"),
		base + "kernel/drivers/block/virtio_blk.ko":     "virtio_blk",
		base + "kernel/drivers/net/ethernet/loud.ko.xz": "never unpacked",
	}
	const split = "./usr/lib/modules/7.3.4+deb13-amd64/"
	switch name := filepath.Base(os.Args[len(os.Args)-1]); {
	case strings.HasPrefix(name, "linux-base-7.3.4"):
		files = map[string]string{split + "modules.builtin": "kernel/crypto/crc32c_generic.ko\n"}
	case strings.HasPrefix(name, "linux-binary-7.3.4"):
		files = map[string]string{split + "vmlinuz": files["./boot/vmlinuz-6.12.43+deb12-amd64"]}
	case strings.HasPrefix(name, "linux-modules-7.3.4"):
		files = map[string]string{split + "kernel/fs/ext4/ext4.ko.xz": xz("ext4 of 7.3")}
	}
	if _, err := os.Stat(filepath.Join(dir, "broken")); err == nil {
		files = map[string]string{"./usr/share/doc/copyright": "much"}
	}
	for name, text := range files {
		if w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}) != nil {
			return 9
		}
		_, _ = io.WriteString(w, text)
	}
	if w.Close() != nil {
		return 9
	}
	return 0
}

func xz(text string) string {
	image := bzImage("xz", []byte(text))
	packed, err := payload(image)
	if err != nil {
		panic(err)
	}
	return string(packed[:len(packed)-4]) // the kernel's own length follows
}

// playFsck writes the image's tree.
func playFsck(string) int {
	tree := strings.TrimPrefix(os.Args[1], "--extract=")
	image, err := open(filepath.Dir(os.Args[len(os.Args)-1]))
	if err != nil {
		return 1
	}
	base := filepath.Join(tree, "lib/modules", image.Manifest.Kernel)
	for name, text := range map[string]string{
		"modules.builtin": "kernel/crypto/crc32c_generic.ko\n", "kernel/fs/ext4/ext4.ko": "ext4 of 6.1",
		"kernel/drivers/virtio/virtio_pci.ko": "pci", "kernel/drivers/block/virtio_blk.ko": "blk", "../../../usr/bin/mawk": "awk",
	} {
		path := filepath.Join(base, name)
		if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte(text), 0o644) != nil {
			return 1
		}
	}
	return 0
}

func aptCalls(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "apt-calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestFetchKernel(t *testing.T) {
	dir := stage(t)
	var said []string
	k, err := FetchKernel(t.Context(), Native(), "6.12", func(line string) { said = append(said, line) })
	if err != nil {
		t.Fatal(err)
	}
	if k.Release != "6.12.43+deb12-amd64" || k.Package != "linux-image-6.12.43+deb12-amd64" || k.Version != "6.12.43-1~bpo12+1" || k.Own || k.Series() != "6.12" {
		t.Errorf("%+v", k)
	}
	if calls := aptCalls(t, dir); len(calls) != 2 || !strings.HasPrefix(calls[0], "update") ||
		!strings.HasSuffix(calls[1], "linux-image-6.12.43+deb12-amd64=6.12.43-1~bpo12+1") {
		t.Errorf("calls %q", calls)
	}
	if text, err := os.ReadFile(filepath.Join(k.modules(), "kernel/fs/ext4/ext4.ko")); string(text) != "ext4 driver" {
		t.Errorf("module %q, %v", text, err)
	}
	if text, err := os.ReadFile(k.File); !strings.HasPrefix(string(text), "\x7fELF") {
		t.Errorf("kernel %.10q, %v", text, err)
	}
	var left []string
	_ = filepath.WalkDir(filepath.Dir(k.Root), func(path string, _ os.DirEntry, _ error) error {
		for _, stray := range []string{"loud", "copyright", ".deb", "scratch", "new-", ".xz"} {
			if strings.Contains(filepath.Base(path), stray) {
				left = append(left, path)
			}
		}
		return nil
	})
	if len(left) > 0 || !slices.Contains(said, "fetching kernel 6.12.43+deb12-amd64") {
		t.Errorf("left behind %q; progress %q", left, said)
	}
	// Cached kernels need no network.
	if err := os.WriteFile(filepath.Join(dir, "offline"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// It waits for no build that is under way.
	_, unlock, err := Locked(t.Context(), kernelsFolder, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := FetchKernel(t.Context(), Native(), "6.12.43", func(line string) { t.Errorf("%s", line) })
	unlock()
	if err != nil || again != k {
		t.Errorf("again: %+v, %v", again, err)
	}
	var none *result.Failure
	if _, err := FindKernel(t.Context(), Native(), "6.12.9"); !errors.As(err, &none) || !strings.Contains(err.Error(), "no route to host") || !strings.Contains(none.Reason, "it has 6.1, 6.12 (") {
		t.Errorf("without a network: %v", err)
	}
	if _, err := Clean(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(k.Root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("clean leaves the kernel: %v", err)
	}
}

// A kernel may be in three packages, and beside its modules.
func TestSplitKernel(t *testing.T) {
	dir := stage(t)
	k, err := FetchKernel(t.Context(), Native(), "7.3", nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := aptCalls(t, dir)
	if !strings.HasSuffix(calls[1], " linux-base-7.3.4+deb13-amd64=7.3.4-1~bpo13+1 linux-binary-7.3.4+deb13-amd64=7.3.4-1~bpo13+1 linux-modules-7.3.4+deb13-amd64=7.3.4-1~bpo13+1") {
		t.Errorf("calls %q", calls)
	}
	if text, err := os.ReadFile(k.File); !strings.HasPrefix(string(text), "\x7fELF") {
		t.Errorf("kernel %.10q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(k.modules(), "kernel/fs/ext4/ext4.ko")); string(text) != "ext4 of 7.3" {
		t.Errorf("module %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(k.modules(), "vmlinuz")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the packed kernel is among the modules: %v", err)
	}
}

func TestOwnKernel(t *testing.T) {
	dir := stage(t)
	if o, err := FindKernel(t.Context(), Native(), "6.1"); err != nil || !o.Own || o.Release != "" || o.Series() != "6.1" {
		t.Errorf("before the image is there: %+v, %v", o, err)
	}
	k, err := FetchKernel(t.Context(), Native(), "6.1", nil)
	if err != nil || !k.Own || k.Release != "6.1.0-1-amd64" {
		t.Fatalf("%+v, %v", k, err)
	}
	if text, err := os.ReadFile(filepath.Join(k.modules(), "kernel/fs/ext4/ext4.ko")); string(text) != "ext4 of 6.1" {
		t.Errorf("module %q, %v", text, err)
	}
	if calls := aptCalls(t, dir); calls[0] != "" {
		t.Errorf("the network was used: %q", calls)
	}
	if _, err := os.Stat(filepath.Join(k.Root, "tree")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the image's tree remains: %v", err)
	}
	// The kernel of an image that no longer exists is removed.
	stale := filepath.Join(filepath.Dir(k.Root), "own-0000-6.1.0-0-amd64")
	if err := os.Rename(k.Root, stale); err != nil {
		t.Fatal(err)
	}
	if _, err := FetchKernel(t.Context(), Native(), "6.1.0-1-amd64", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old image's kernel remains: %v", err)
	}
}

func TestNoSuchKernel(t *testing.T) {
	dir := stage(t)
	for _, asked := range []string{"6.13", "6.120", "6.12.4", "", "porridge"} {
		_, err := FetchKernel(t.Context(), Native(), asked, nil)
		var none *result.Failure
		if !errors.As(err, &none) || !strings.Contains(err.Error(), "it has 6.1, 7.3, 6.12") {
			t.Errorf("%q: %v", asked, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "broken"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if k, err := FetchKernel(t.Context(), Native(), "6.12", nil); err == nil {
		t.Errorf("a package without a kernel gives %+v", k)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("WHICHFS_CACHE"), "lab/kernels/[n6]*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FetchKernel(ctx, Native(), "6.12", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestKernelBootArchive(t *testing.T) {
	stage(t)
	k, err := FetchKernel(t.Context(), Native(), "6.12", nil)
	if err != nil {
		t.Fatal(err)
	}
	deps := "kernel/drivers/block/virtio_blk.ko:\nkernel/fs/ext4/ext4.ko:\n"
	if err := os.WriteFile(filepath.Join(k.modules(), "modules.dep"), []byte(deps), 0o644); err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte("agent!"), 0o755); err != nil {
		t.Fatal(err)
	}
	archive, sizes, err := k.BootArchive(agent, []string{"kernel/drivers/block/virtio_blk.ko", "kernel/fs/ext4/ext4.ko"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"init\x00", "agent!", "modules/00-virtio_blk.ko\x00", "filesystem/01-ext4.ko\x00", "ext4 driver"} {
		if !strings.Contains(string(archive), want) {
			t.Errorf("the archive has no %q", want)
		}
	}
	if len(sizes) != 1 || sizes["kernel/fs/ext4/ext4.ko"] != int64(len("ext4 driver")) {
		t.Errorf("sizes %v", sizes)
	}
	if _, _, err := k.BootArchive(agent, nil, true); err == nil || !strings.Contains(err.Error(), "sdhci_pci") {
		t.Errorf("without the card's driver: %v", err)
	}
	if _, _, err := k.BootArchive(agent, []string{"kernel/fs/none.ko"}, false); err == nil {
		t.Error("a missing module causes no error")
	}
}

// The image under another kernel boots that kernel with its own modules, which are made into an image once.
func TestUnder(t *testing.T) {
	stage(t)
	image, err := Build(t.Context(), Native(), nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := FetchKernel(t.Context(), Native(), "6.12", nil)
	if err != nil {
		t.Fatal(err)
	}
	deps := "" // crc32c_generic and virtio_pci are built in, and there is no crc32c_intel
	for _, name := range []string{"virtio_blk", "virtio_console", "erofs", "overlay"} {
		deps += "kernel/" + name + ".ko:\n"
		if err := os.WriteFile(filepath.Join(k.modules(), "kernel", name+".ko"), []byte(name+" of 6.12"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := filepath.Join(k.modules(), "modules.dep")
	if err := os.WriteFile(list, []byte(deps), 0o644); err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte("agent!"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		with, modules, err := image.Under(t.Context(), k, nil)
		if err != nil {
			t.Fatal(err)
		}
		if with.Root != image.Root || with.Kernel != k.File || with.Manifest.Kernel != k.Release || with.Arch() != image.Arch() || with.Manifest.Digest != image.Manifest.Digest {
			t.Errorf("%+v", with)
		}
		if has, known := with.HasModule("nandsim"); has || !known {
			t.Errorf("nandsim: %t, %t", has, known)
		}
		archive, err := with.BootArchive(agent)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"agent!", "modules/00-virtio_blk.ko\x00", "erofs of 6.12", "overlay of 6.12"} {
			if !strings.Contains(string(archive), want) {
				t.Errorf("the archive has no %q", want)
			}
		}
		text, err := os.ReadFile(modules)
		if err != nil || !strings.Contains(string(text), "modules.dep") { // the root of the image is the kernel's own folder
			t.Errorf("%q, %v", text, err)
		}
		// A second time it is there.
		t.Setenv("PATH", t.TempDir())
	}
	if err := os.WriteFile(list, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := image.Under(t.Context(), k, nil); err == nil || !strings.Contains(err.Error(), "kernel 6.12.43+deb12-amd64: the kernel has no module virtio_blk") {
		t.Errorf("without a module that it needs: %v", err)
	}
}

// For a kernel without EROFS, root image and modules are SquashFS.
func TestUnderWithoutErofs(t *testing.T) {
	stage(t)
	image, err := Build(t.Context(), Native(), nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := FetchKernel(t.Context(), Native(), "6.12", nil)
	if err != nil {
		t.Fatal(err)
	}
	builtin := "kernel/crypto/crc32c_generic.ko\nkernel/virtio_pci.ko\nkernel/virtio_blk.ko\nkernel/virtio_console.ko\nkernel/overlay.ko\nkernel/squashfs.ko\n"
	for name, text := range map[string]string{"modules.dep": "", "modules.builtin": builtin} {
		if err := os.WriteFile(filepath.Join(k.modules(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		with, modules, err := image.Under(t.Context(), k, nil)
		if err != nil {
			t.Fatal(err)
		}
		for path, tree := range map[string]string{with.Root: "lib usr", modules: "kernel modules.builtin modules.dep"} {
			if text, err := os.ReadFile(path); err != nil || string(text) != "squashfs of "+tree || !strings.HasSuffix(path, ".squashfs") {
				t.Errorf("%s: %q, %v", path, text, err)
			}
		}
		t.Setenv("PATH", t.TempDir()) // a second time they are there
	}
}

// Of the kernels with a version Debian's are meant first, and then those of users' sources, newest first.
func TestUsersKernels(t *testing.T) {
	stage(t)
	home, unlock, err := Locked(t.Context(), kernelsFolder, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	for release, o := range map[string]Offer{
		"6.12.43+deb12-amd64": {Package: "linux-image-6.12.43+deb12-amd64"}, "6.12.99-01234567": {Made: &Made{Digest: "a"}}, "6.12.9-76543210": {Made: &Made{Digest: "b"}},
	} {
		o.Release, o.Arch = release, Native().GOARCH
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"kernel.json": string(text), "vmlinux": "kernel", "lib/modules/" + release + "/modules.dep": ""} {
			path := filepath.Join(home, release, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for asked, release := range map[string]string{"6.12": "6.12.43+deb12-amd64", "6.12.9": "6.12.9-76543210", "6.12.99-01234567": "6.12.99-01234567"} {
		if o, err := FindKernel(t.Context(), Native(), asked); err != nil || o.Release != release {
			t.Errorf("%s: %+v, %v", asked, o, err)
		}
	}
	_, err = FindKernel(t.Context(), Native(), "4.9")
	if err == nil || !strings.Contains(err.Error(), "6.12.99-01234567, 6.12.9-76543210") {
		t.Errorf("%v", err)
	}
	if all, err := FromSource(); err != nil || len(all) != 2 || all[0].Release != "6.12.99-01234567" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestCompareVersions(t *testing.T) {
	ordered := []string{"6.1", "6.1.0-9-amd64", "6.1.0-56-amd64", "6.9.1-amd64", "6.12.9+deb12-amd64", "6.12.09+deb12.1-amd64", "6.12.90+deb12-amd64", "10.1"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := CompareVersions(a, b), map[bool]int{true: -1, false: 1}[i < j]; i != j && got != want || i == j && got != 0 {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
	}
}

func FuzzParseOffers(f *testing.F) {
	f.Add(index)
	f.Add("Package: linux-image-6-amd64\nVersion: 1\nPackage: linux-image--amd64\n\nVersion:\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseOffers(strings.NewReader(text), "amd64")
		if err != nil {
			return
		}
		for i, o := range list {
			if o.Release == "" || o.Version == "" || o.Own || !o.matches(o.Release) || !o.matches(o.Series()) {
				t.Errorf("%+v", o)
			}
			if i > 0 && CompareVersions(list[i-1].Release, o.Release) < 0 {
				t.Errorf("%s comes before %s", list[i-1].Release, o.Release)
			}
		}
	})
}
