package kernelsource

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/testing/players"
)

func TestMain(m *testing.M) { cast.Main(m) }

// cast plays the programs that a build runs.
var cast = players.Players{
	"make":   playMake,
	"depmod": func(string) int { return 0 },
	"gcc":    func(string) int { fmt.Println("gcc (Debian 12.2.0-14) 12.2.0\nCopyright"); return 0 },
	"flex":   func(string) int { return 1 },
	"bison":  func(string) int { return 1 },
	"bc":     func(string) int { return 1 },
}

// stage puts the players on PATH, sets an empty cache, and returns the directory that controls them and a kernel's
// source.
func stage(t *testing.T) (dir, source string) {
	t.Helper()
	dir, bin := cast.Stage(t)
	t.Setenv("PATH", bin) // neither this machine's ccache nor its make
	t.Setenv("WHICHFS_CACHE", t.TempDir())
	every, header := lab.SayEvery, elfHeader
	lab.SayEvery, elfHeader = 0, filepath.Join(bin, "gcc")
	t.Cleanup(func() { lab.SayEvery, elfHeader = every, header })
	source = t.TempDir()
	for name, text := range map[string]string{
		"Makefile": "VERSION = 4\nPATCHLEVEL = 9\nSUBLEVEL = 337\nEXTRAVERSION =\nNAME = Roaring Lionus\n\nVERSION = no\n",
		"Kconfig":  "config 64BIT\n", "arch/x86/Makefile": "", "fs/super.c": "", "arch/arm/head.S": "not read",
		"fs/Kconfig": "config OVERLAY_FS\n\ttristate\nmenuconfig SQUASHFS\n\ttristate\nconfig XFS_FS\n",
	} {
		path := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, source
}

func is(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// set makes a file that controls the players, and removes it with the test.
func set(t *testing.T, dir, name, text string) (unset func()) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(filepath.Join(dir, name)) }
}

// playMake plays the kernel's makefiles, which run in the source and write to O=. Of the configuration it leaves
// out the lines of the file "vanishes". It compiles two files; at the second one it fails if "error" exists, and
// waits if "hang" does.
func playMake(dir string) int {
	option := func(name string) string {
		for _, a := range os.Args {
			if value, ok := strings.CutPrefix(a, name+"="); ok {
				return value
			}
		}
		return ""
	}
	out := option("O")
	release := "4.9.337" + option("LOCALVERSION")
	if os.Getenv("KBUILD_BUILD_USER") != "whichfs" || option("ARCH") != "x86_64" || !is(".", "Kconfig") || !is(out, "") {
		return 2
	}
	switch os.Args[len(os.Args)-1] {
	case "allnoconfig":
		text, err := os.ReadFile(option("KCONFIG_ALLCONFIG"))
		gone, _ := os.ReadFile(filepath.Join(dir, "vanishes"))
		for line := range strings.Lines(string(gone)) {
			text = bytes.ReplaceAll(text, []byte("\n"+line), []byte("\n"))
		}
		if err != nil || os.WriteFile(filepath.Join(out, ".config"), text, 0o644) != nil {
			return 2
		}
	case "kernelrelease":
		fmt.Println("make[1]: Entering directory '" + out + "'\n" + release)
	case "modules":
		for n, file := range []string{"super.o", "ext4.o"} {
			if is(out, file) {
				continue
			}
			fmt.Println("  CC [M]  fs/" + file)
			if n == 1 && is(dir, "error") {
				fmt.Fprintln(os.Stderr, "fs/ext4.c:12:3: error: unknown type name 'x'\nmake[3]: *** [scripts/Makefile.build:250: fs/ext4.o] Error 1")
				return 2
			}
			if n == 1 && is(dir, "hang") {
				_ = os.WriteFile(filepath.Join(dir, "hanging"), nil, 0o644)
				select {}
			}
			_ = os.WriteFile(filepath.Join(out, file), nil, 0o644)
		}
		boot := filepath.Join(out, "arch/x86/boot")
		if os.MkdirAll(boot, 0o755) != nil || os.WriteFile(filepath.Join(boot, "bzImage"), bzImage(), 0o644) != nil {
			return 2
		}
	case "modules_install":
		base := filepath.Join(option("INSTALL_MOD_PATH"), "lib/modules", release)
		if !filepath.IsAbs(option("DEPMOD")) || os.MkdirAll(base, 0o755) != nil || os.Symlink(out, filepath.Join(base, "build")) != nil {
			return 2
		}
		for _, name := range []string{"modules.dep", "modules.builtin"} {
			if os.WriteFile(filepath.Join(base, name), nil, 0o644) != nil {
				return 2
			}
		}
	}
	return 0
}

// bzImage packs an ELF file without a PVH entry, this program, as the x86 boot protocol requires.
func bzImage() []byte {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	_, _ = z.Write(program)
	_ = z.Close()
	const sects, offset = 3, 100
	image := make([]byte, (sects+1)*512+offset)
	image[0x1f1] = sects
	copy(image[0x202:], "HdrS\x0f\x02")
	binary.LittleEndian.PutUint32(image[0x248:], offset)
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(packed.Len()))
	return append(image, packed.Bytes()...)
}
