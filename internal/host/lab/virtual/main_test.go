package virtual

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/testing/players"
)

func TestMain(m *testing.M) { cast.Main(m) }

// cast plays the programs that a build runs, and records how they were called. xz is the real one.
var cast = recorded(players.Players{
	"apt-get":    playAptGet,
	"apt-config": func(string) int { return 0 },
	"dpkg-deb":   playDpkgDeb,
	"patch":      playPatch,
	"make":       playMake,
	"mkfs.erofs": playMkfs,
	"depmod":     func(string) int { return 0 },
	"gcc":        func(string) int { return 1 },
	"flex":       func(string) int { return 1 },
	"bison":      func(string) int { return 1 },
	"bc":         func(string) int { return 1 },
	"as":         func(string) int { return 0 },
})

func recorded(all players.Players) players.Players {
	for name, play := range all {
		all[name] = func(dir string) int {
			record(dir)
			return play(dir)
		}
	}
	return all
}

// stage puts the players on PATH, sets an empty cache, and returns the directory
// that controls them.
func stage(t *testing.T) string {
	t.Helper()
	dir, bin := cast.Stage(t)
	xz, err := exec.LookPath("xz")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(xz, filepath.Join(bin, "xz")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin) // neither this machine's ccache nor its make
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	pause, every := retryPause, lab.SayEvery
	retryPause, lab.SayEvery = 0, 0
	t.Cleanup(func() { retryPause, lab.SayEvery = pause, every })
	return dir
}

func record(dir string) {
	log, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprintln(log, filepath.Base(os.Args[0]), strings.Join(os.Args[1:], " "))
		_ = log.Close()
	}
}

// calls lists the command lines of a program since the last call.
func calls(t *testing.T, dir, program string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), program+" "); ok {
			lines = append(lines, rest)
		}
	}
	return lines
}

// set makes a file that controls the players; unset removes it.
func set(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unset(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func is(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// playAptGet has version 6.1.176-1, or after "moved" only 6.1.180-1, and no
// source of 5.10; its first answer is a passing failure if "busy" exists.
func playAptGet(dir string) int {
	word := os.Args[len(os.Args)-1]
	name, version, _ := strings.Cut(word, "=")
	has := "6.1.176-1"
	if is(dir, "moved") {
		has = "6.1.180-1"
	}
	switch {
	case os.Args[2] != "download":
	case is(dir, "busy"):
		_ = os.Remove(filepath.Join(dir, "busy"))
		fmt.Fprintln(os.Stderr, "E: Failed to fetch http://x/y.deb 503 Service Unavailable")
		return 100
	case name == "linux-source-5.10":
		fmt.Fprintln(os.Stderr, "E: Unable to locate package", name)
		return 100
	case version != "" && version != has:
		fmt.Fprintf(os.Stderr, "E: Version '%s' for '%s' was not found\n", version, name)
		return 100
	default:
		fmt.Printf("Get:1 http://mirror/debian bookworm/main amd64 %s all %s [139 MB]\n", name, has)
		_ = os.WriteFile(name+"_1_all.deb", []byte(name), 0o644)
	}
	return 0
}

// playDpkgDeb writes a package with a source, packed by xz.
func playDpkgDeb(dir string) int {
	name, _, _ := strings.Cut(filepath.Base(os.Args[len(os.Args)-1]), "_")
	inner := archive(map[string]string{
		name + "/Makefile": "all:", name + "/fs/super.c": "int x;", name + "/arch/um/Makefile": "", name + "/arch/um/time.c": "int t;",
		name + "/arch/arm/head.S": "never unpacked", name + "/arch/arm/Kconfig": "config ARM", name + "/drivers/gpu/huge.h": "never unpacked",
	})
	cmd := exec.Command("xz", "--stdout")
	cmd.Stdin = bytes.NewReader(inner)
	packed, err := cmd.Output()
	if err != nil {
		return 9
	}
	if is(dir, "broken") {
		packed = packed[:len(packed)/2]
	}
	_, err = os.Stdout.Write(archive(map[string]string{
		"./usr/share/doc/" + name + "/copyright": "GPL", "./usr/src/" + name + ".tar.xz": string(packed),
	}))
	if err != nil {
		return 9
	}
	return 0
}

func archive(files map[string]string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
			panic(err)
		}
		_, _ = io.WriteString(w, text)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// playPatch fails if the patch contains the text in the file "unfit".
func playPatch(dir string) int {
	text, err := io.ReadAll(os.Stdin)
	if err != nil || !is(".", "Makefile") {
		return 9
	}
	if unfit, err := os.ReadFile(filepath.Join(dir, "unfit")); err == nil && strings.Contains(string(text), string(unfit)) {
		fmt.Println("1 out of 2 hunks FAILED -- saving rejects to file x.rej")
		return 1
	}
	return 0
}

// playMake plays the kernel's makefiles, with two source files.
func playMake(dir string) int {
	if os.Getenv("MAKEFLAGS") != "" || os.Getenv("KBUILD_BUILD_USER") != "whichfs" {
		fmt.Fprintln(os.Stderr, "the environment is this machine's")
		return 2
	}
	option := func(name string) string {
		for _, a := range os.Args {
			if value, ok := strings.CutPrefix(a, name+"="); ok {
				return value
			}
		}
		return ""
	}
	switch os.Args[len(os.Args)-1] {
	case "allnoconfig":
		text, err := os.ReadFile(option("KCONFIG_ALLCONFIG"))
		if err != nil {
			return 2
		}
		if gone, err := os.ReadFile(filepath.Join(dir, "vanishes")); err == nil {
			text = bytes.ReplaceAll(text, gone, nil)
		}
		text = append(text, "CONFIG_CC_VERSION_TEXT=\"gcc (Debian 12.2.0-14) 12.2.0\"\n"...)
		_ = os.WriteFile(".config", text, 0o644)
		fmt.Println("  HOSTCC  scripts/kconfig/conf.o")
	case "modules":
		return playCompile(dir)
	case "modules_install":
		return playInstall(option("INSTALL_MOD_PATH"), option("DEPMOD"))
	}
	return 0
}

// playCompile compiles files that are not compiled yet. At the second one it
// fails as the compiler does if "error" exists; it dies of the file "dies" with
// all of its group, as if somebody killed them; and it waits if "hang" exists.
// For a kernel that counts, it calls the assembler.
func playCompile(dir string) int {
	if os.Getenv(assemblerVariable) != "" && exec.Command("as", "--version").Run() != nil {
		return 2
	}
	for n, file := range []string{"fs/super.o", "fs/ext4/super.o"} {
		if is(".", filepath.Base(filepath.Dir(file))+".o") {
			continue
		}
		fmt.Println("  CC [M]  " + file)
		if n == 1 && is(dir, "error") {
			fmt.Fprintf(os.Stderr, "fs/ext4/super.c: In function 'f':\nfs/ext4/super.c:12:3: error: unknown type name 'x'\n%s",
				"make[3]: *** [scripts/Makefile.build:250: fs/ext4/super.o] Error 1\nmake: *** [Makefile:2010: .] Error 2\n")
			return 2
		}
		if n == 1 && is(dir, "memory") {
			fmt.Fprintf(os.Stderr, "gcc: fatal error: Killed signal terminated program cc1\ncompilation terminated.\n%s",
				"make[3]: *** [scripts/Makefile.build:250: fs/ext4/super.o] Error 1\n")
			return 2
		}
		if n == 1 && is(dir, "dies") {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		if n == 1 && is(dir, "hang") {
			_ = os.WriteFile(filepath.Join(dir, "hanging"), nil, 0o644)
			select {}
		}
		_ = os.WriteFile(filepath.Base(filepath.Dir(file))+".o", nil, 0o644)
	}
	if os.MkdirAll("include/config", 0o755) != nil ||
		os.WriteFile("include/config/kernel.release", []byte("6.1.176-virtual\n"), 0o644) != nil ||
		os.WriteFile("linux", []byte("kernel"), 0o755) != nil {
		return 2
	}
	return 0
}

// playInstall installs the modules with depmod's lists, and links to the tree.
func playInstall(to, depmod string) int {
	base := filepath.Join(to, "lib/modules/6.1.176-virtual")
	builtin := "kernel/drivers/virtio/virtio_uml.ko\nkernel/drivers/block/virtio_blk.ko\nkernel/drivers/char/virtio_console.ko\n"
	if !is(".", "linux") || !filepath.IsAbs(depmod) || os.MkdirAll(base, 0o700) != nil || os.Symlink("/somewhere", filepath.Join(base, "build")) != nil {
		return 2
	}
	for name, text := range map[string]string{
		"modules.builtin": builtin,
		"modules.dep": "kernel/fs/erofs/erofs.ko: kernel/lib/libcrc32c.ko\nkernel/lib/libcrc32c.ko:\n" +
			"kernel/crypto/crc32c_generic.ko:\nkernel/fs/overlayfs/overlay.ko:\nkernel/fs/ext4/ext4.ko:\n",
		"crc32c_generic.ko": "crc32c", "libcrc32c.ko": "libcrc32c", "erofs.ko": "erofs", "overlay.ko": "overlay",
	} {
		at := map[string]string{"crc32c_generic.ko": "kernel/crypto", "libcrc32c.ko": "kernel/lib", "erofs.ko": "kernel/fs/erofs", "overlay.ko": "kernel/fs/overlayfs"}[name]
		if os.MkdirAll(filepath.Join(base, at), 0o700) != nil || os.WriteFile(filepath.Join(base, at, name), []byte(text), 0o600) != nil {
			return 2
		}
	}
	return 0
}

// playMkfs writes the tree's names and permissions as the image.
func playMkfs(string) int {
	image, tree := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
	var names []string
	err := filepath.WalkDir(tree, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			name, _ := filepath.Rel(tree, path)
			names = append(names, fmt.Sprintf("%v %s", info.Mode(), name))
		}
		return err
	})
	slices.Sort(names)
	if err != nil || os.WriteFile(image, []byte(strings.Join(names, "\n")), 0o644) != nil {
		return 1
	}
	return 0
}
