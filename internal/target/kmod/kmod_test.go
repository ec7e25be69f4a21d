package kmod

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/target/kmod/kmodtest"
)

const bookworm = "6.1.0-56-amd64 SMP preempt mod_unload modversions "

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		spec kmodtest.Spec
		want Module
	}{
		"plain": {kmodtest.Module("yaffs2", bookworm),
			Module{Name: "yaffs2", Vermagic: bookworm, Machine: elf.EM_X86_64}},
		"versions": {func() kmodtest.Spec {
			s := kmodtest.Module("my-fs", bookworm, "depends=mtd,lzo-compress,")
			s.Sums = map[string]uint64{"module_layout": 0xdeadbeef12, "printk": 7}
			return s
		}(), Module{Name: "my_fs", Vermagic: bookworm, Machine: elf.EM_X86_64, Depends: []string{"mtd", "lzo_compress"},
			Versions: map[string]uint64{"module_layout": 0xdeadbeef12, "printk": 7}}},
		"debug information": {kmodtest.Spec{Machine: elf.EM_X86_64, Info: []string{"name=x", "vermagic=6.1"}, Debug: make([]byte, 1000)},
			Module{Name: "x", Vermagic: "6.1", Machine: elf.EM_X86_64, Debug: 1000}},
		"arm": {kmodtest.Spec{Machine: elf.EM_ARM, Class: elf.ELFCLASS32, Info: []string{"vermagic=5.10 ARMv7"}, Sums: map[string]uint64{"printk": 9}},
			Module{Name: "file", Vermagic: "5.10 ARMv7", Machine: elf.EM_ARM, Versions: map[string]uint64{"printk": 9}}},
		"big endian": {kmodtest.Spec{Machine: elf.EM_PPC64, Order: binary.BigEndian, Info: []string{"name=x", "vermagic=6.1"}, Sums: map[string]uint64{"printk": 9}},
			Module{Name: "x", Vermagic: "6.1", Machine: elf.EM_PPC64, Versions: map[string]uint64{"printk": 9}}},
		"extended": {kmodtest.Spec{Machine: elf.EM_X86_64, Info: []string{"name=x", "vermagic=6.14"}, Sums: map[string]uint64{"a": 1, "b": 2}, Ext: true},
			Module{Name: "x", Vermagic: "6.14", Machine: elf.EM_X86_64, Versions: map[string]uint64{"a": 1, "b": 2}}},
	} {
		f, err := Read("some/file.ko", kmodtest.Build(c.spec))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, f.Module); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if f.Base != "file.ko" || len(f.SHA256) != 64 || f.Size == 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	good := kmodtest.Build(kmodtest.Module("x", bookworm))
	program := kmodtest.Module("x", bookworm)
	program.Type = elf.ET_DYN
	for name, c := range map[string]struct {
		body       []byte
		want, hint string
	}{
		"empty":     {nil, "truncated", ".ko"},
		"text":      {[]byte(strings.Repeat("hello\n", 100)), "not an ELF file", ".ko"},
		"cut off":   {good[:len(good)/2], "truncated", ".ko"},
		"program":   {kmodtest.Build(program), "a program or a library", ".ko"},
		"object":    {kmodtest.Build(kmodtest.Spec{Machine: elf.EM_X86_64}), "no section .modinfo", ".ko"},
		"no magic":  {kmodtest.Build(kmodtest.Spec{Machine: elf.EM_X86_64, Info: []string{"name=x"}}), "which kernel it was built for", ".ko"},
		"path":      {kmodtest.Build(kmodtest.Module("../../x", bookworm)), `calls itself "../../x"`, ".ko"},
		"gzip":      {[]byte("\x1f\x8b\x08"), "compressed (gzip)", "gzip -dk m.ko.xz"},
		"xz":        {[]byte("\xfd7zXZ\x00aa"), "compressed (xz)", "xz -dk m.ko.xz, and give --module m.ko"},
		"zstandard": {[]byte("\x28\xb5\x2f\xfdaa"), "compressed (zstd)", "zstd -dk"},
	} {
		_, err := Read("m.ko.xz", c.body)
		var u *result.Failure
		if !errors.As(err, &u) || !strings.Contains(u.Reason, c.want) || !strings.Contains(u.Hint, c.hint) || !strings.Contains(u.Reason, "m.ko.xz") {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.ko")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.ko"): "there is no kernel module", dir: "is a directory", large: "64 MiB", "/dev/null": "is not a file",
	} {
		_, err := Open(path)
		var u *result.Failure
		if !errors.As(err, &u) || !strings.Contains(u.Reason, want) || !strings.Contains(u.Reason, path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFit(t *testing.T) {
	kernel := Kernel{Release: "6.1.0-56-amd64", Arch: "amd64"}
	kernel.Know(Module{Vermagic: bookworm, Versions: map[string]uint64{"module_layout": 1, "printk": 2}})
	kernel.Know(Module{Vermagic: "another", Versions: map[string]uint64{"iget": 3}})
	const trixie = "6.12.0-1-amd64 SMP preempt mod_unload modversions "
	sums := func(layout, other uint64) map[string]uint64 {
		return map[string]uint64{"module_layout": layout, "unheard_of": other, "iget": 3}
	}
	for name, c := range map[string]struct {
		machine  elf.Machine
		vermagic string
		sums     map[string]uint64
		kernel   Kernel
		want     string // "" if it fits
	}{
		"same":                    {elf.EM_X86_64, bookworm, sums(1, 1), kernel, ""},
		"same, no sums":           {elf.EM_X86_64, bookworm, nil, kernel, ""},
		"other release, no sums":  {elf.EM_X86_64, trixie, nil, kernel, "built for kernel 6.12.0-1-amd64, but 6.1.0-56-amd64 is running"},
		"other release, all same": {elf.EM_X86_64, trixie, sums(1, 1), kernel, ""},
		"other release, changed":  {elf.EM_X86_64, trixie, sums(9, 1), kernel, "symbols differ (module_layout)"},
		"same release, changed":   {elf.EM_X86_64, bookworm, sums(9, 1), kernel, "a different kernel 6.1.0-56-amd64 than the running one: kernel symbols differ (module_layout)"},
		"other settings":          {elf.EM_X86_64, "6.1.0-56-amd64 SMP mod_unload ", sums(1, 1), kernel, `with other settings than the running one ("SMP mod_unload" instead of "SMP preempt mod_unload modversions")`},
		"no tree, other release":  {elf.EM_X86_64, trixie, nil, Kernel{Release: "6.1", Arch: "amd64"}, "built for kernel 6.12.0-1-amd64"},
		"no tree, sums":           {elf.EM_X86_64, trixie, sums(1, 1), Kernel{Release: "6.1", Arch: "amd64"}, ""},
		"other processor":         {elf.EM_ARM, bookworm, sums(1, 1), kernel, "built for armhf, and this machine is amd64"},
		"rare processor":          {elf.EM_SPARC, bookworm, sums(1, 1), kernel, "built for SPARC"},
		"64 bits that run 32":     {elf.EM_AARCH64, bookworm, nil, Kernel{Release: "6.1.0-56-amd64", Arch: "arm", Machine: elf.EM_AARCH64, Vermagic: bookworm}, ""},
		"unknown machine":         {elf.EM_SPARC, bookworm, nil, Kernel{Release: "6.1.0-56-amd64", Arch: "sparc64"}, ""},
	} {
		f := File{Base: "x.ko", Module: Module{Name: "x", Vermagic: c.vermagic, Machine: c.machine, Versions: c.sums}}
		u := f.Fit(c.kernel)
		switch {
		case u == nil && c.want == "":
		case u == nil || c.want == "" || !strings.Contains(u.Reason, c.want) || !strings.HasPrefix(u.Reason, "x.ko is built for "):
			t.Errorf("%s: %+v", name, u)
		case c.machine == elf.EM_X86_64 && !strings.Contains(u.Hint, "apt install linux-headers-"+c.kernel.Release):
			t.Errorf("%s: hint %q", name, u.Hint)
		}
	}
}

func FuzzRead(f *testing.F) {
	with := kmodtest.Module("x", bookworm)
	with.Sums = map[string]uint64{"printk": 1, "iget": 2}
	for _, s := range []kmodtest.Spec{with, {Machine: elf.EM_ARM, Class: elf.ELFCLASS32, Info: []string{"vermagic=5.10"}, Sums: with.Sums},
		{Machine: elf.EM_X86_64, Info: []string{"name=x", "vermagic=6.14"}, Sums: with.Sums, Ext: true}} {
		body := kmodtest.Build(s)
		f.Add(body)
		f.Add(body[:len(body)*2/3])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Read("x.ko", body)
		var u *result.Failure
		switch {
		case err != nil && !errors.As(err, &u):
			t.Fatalf("%v is not explained", err)
		case err == nil && (m.Name == "" || m.Vermagic == "" || strings.Contains(m.Name, "/")):
			t.Fatalf("%+v", m)
		case err == nil:
			_ = m.Fit(Kernel{Release: "6.1", Arch: "amd64", Vermagic: bookworm, Versions: map[string]uint64{"printk": 2}})
		}
		_, _ = ReadHead(bytes.NewReader(body))
	})
}
