package qemu

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whichfs/internal/host/lab"
	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/lab/module"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/command"
	"whichfs/internal/target/kmod"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
)

// extent is a line of dump.erofs -e: "0:  0..  655360 |  655360 :  124121088.. 124776448 |  655360".
var extent = regexp.MustCompile(`(?m)^\s*\d+:\s+\d+\.\.\s*\d+ \|\s+\d+ :\s+(\d+)\.\.\s*(\d+) \|`)

// moduleFromImage reads a module of the lab's own kernel, "fs/nilfs2/nilfs2".
func moduleFromImage(t *testing.T, name string) []byte {
	t.Helper()
	labtest.Guest(t, lab.Native())
	image, err := lab.Locate(lab.Native())
	if err != nil {
		t.Fatal(err)
	}
	path := "/lib/modules/" + image.Manifest.Kernel + "/kernel/" + name + ".ko"
	r, err := command.Run(t.Context(), command.Options{}, "dump.erofs", "--path="+path, "-e", image.Root)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(image.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var body []byte
	for _, m := range extent.FindAllStringSubmatch(r.Stdout, -1) {
		from, _ := strconv.ParseInt(m[1], 10, 64)
		to, _ := strconv.ParseInt(m[2], 10, 64)
		part := make([]byte, to-from)
		if _, err := root.ReadAt(part, from); err != nil {
			t.Fatal(err)
		}
		body = append(body, part...)
	}
	if _, err := kmod.Read(path, body); err != nil {
		t.Fatalf("%v\n%s", err, r.Stdout)
	}
	return body
}

// unsigned cuts off the signature, which is for the original file.
func unsigned(module []byte) []byte {
	module, _ = kmod.Unsigned(module)
	return module
}

// instead replaces words by others of the same length.
func instead(t *testing.T, body []byte, words ...string) []byte {
	t.Helper()
	for i := 0; i < len(words); i += 2 {
		if len(words[i]) != len(words[i+1]) || !bytes.Contains(body, []byte(words[i])) {
			t.Fatalf("cannot put %q in place of %q", words[i+1], words[i])
		}
		body = bytes.ReplaceAll(body, []byte(words[i]), []byte(words[i+1]))
	}
	return body
}

func moduleFile(t *testing.T, name string, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// mountOnce makes and mounts a filesystem.
var mountOnce = scenario.Scenario{
	{Work: "discard"},
	{Work: "module-load", Phase: "module-load"},
	{Work: "mkfs", Phase: "mkfs"},
	{Work: "mount", Phase: "mount"},
	{Work: "unmount", Phase: "unmount"},
}

// The mount uses the given module, and the kernel's objection to one is reported in the kernel's
// words.
func TestGivenModules(t *testing.T) {
	t.Parallel()
	signed := moduleFromImage(t, "fs/nilfs2/nilfs2")
	// Of another release with the same symbols, which a kernel takes whose
	// symbols have checksums.
	nilfs := instead(t, unsigned(signed), "vermagic=6.1.0-", "vermagic=6.1.0+")
	strange := instead(t, unsigned(moduleFromImage(t, "fs/jfs/jfs")), "blkdev_issue_discard", "blkdev_issue_discarx")
	// Its signature is found wrong, and is then left out.
	disk := moduleFromImage(t, "drivers/block/brd")
	disk[len(disk)-100] ^= 1
	// A disk in memory serves the clock with time, too.
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: "ram:256M", Modules: []string{
		moduleFile(t, "my-nilfs.ko", nilfs), moduleFile(t, "jfs.ko", strange), moduleFile(t, "brd.ko", disk),
	}})
	conditions := s.Ready().Conditions
	if i := slices.IndexFunc(conditions, func(c result.Condition) bool { return c.Name == "module nilfs2" }); i < 0 ||
		!conditions[i].Matters || !strings.HasPrefix(conditions[i].Value, "my-nilfs.ko, "+strconv.Itoa(len(nilfs))+" bytes, for 6.1.0+") ||
		!regexp.MustCompile(`sha256 [0-9a-f]{64}$`).MatchString(conditions[i].Value) {
		t.Errorf("conditions %v", conditions)
	}

	got := machinetest.CarryOut(t, s, "nilfs2", mountOnce)
	if d := got.Done; d.Outcome != result.Done {
		t.Fatalf("%s in phase %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
	}
	_, counted := got.Figures["mkfs"][result.Instructions]
	if got.Figures["mkfs"][result.Wall].Absent != "" || counted || !machinetest.HasCondition(conditions, "lab storage") {
		t.Errorf("on a disk in memory: %+v, %v", got.Figures["mkfs"], conditions)
	}
	said := func(text string) bool {
		return slices.ContainsFunc(got.Notes, func(n result.Note) bool { return strings.Contains(n.Text, text) })
	}
	// The module of the kernel's own tree is signed, so E, unsigned, marks the given one.
	if !said("module nilfs2 was loaded from the given my-nilfs.ko; the kernel marks it E") {
		t.Errorf("notes %v", got.Notes)
	}
	if m := got.Figures["module-load"][result.ModuleOwn]; m.Value != float64(len(nilfs)) {
		t.Errorf("its size is %v and not %d (the tree's has %d)", m, len(nilfs), len(signed))
	}

	d := machinetest.CarryOut(t, s, "jfs", mountOnce).Done
	if d.Outcome != result.SubjectFailed || d.Phase != "module-load" || !strings.Contains(d.Reason, "loading module jfs from the given jfs.ko: ") ||
		!strings.Contains(d.Reason, "jfs: Unknown symbol blkdev_issue_discarx") || !strings.Contains(d.Hint, "linux-headers-6.1.0-") {
		t.Errorf("a module with an unknown symbol: %+v", d)
	}
}

// A module that the lab has built is the given kernel's, and a shell's guest can load it.
func TestBuiltModule(t *testing.T) {
	t.Parallel()
	labtest.Guest(t, lab.Native())
	source := t.TempDir()
	for name, text := range map[string]string{
		"Makefile": "obj-m := whichfs-tiny.o\n",
		"whichfs-tiny.c": "#include <linux/module.h>\n" +
			"static int __init tiny_init(void) { pr_info(\"six times seven is %d\\n\", 6 * 7); return 0; }\n" +
			"static void __exit tiny_exit(void) { }\n" +
			"module_init(tiny_init);\nmodule_exit(tiny_exit);\nMODULE_LICENSE(\"GPL\");\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(source, name), []byte(text), 0o600))
	}
	built, _, err := module.Build(t.Context(), "whichfs-tiny", source, nil, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatalf("%+v\nthe same by hand: whichfs lab module whichfs-tiny --source %s", err, source)
	}
	defer os.RemoveAll(built.Dir)
	if f, err := kmod.Open(built.File()); err != nil || f.Debug > 0 || f.Name != "whichfs_tiny" {
		t.Errorf("%+v, %v", f, err)
	}
	var screen bytes.Buffer
	script := strings.NewReader("insmod whichfs_tiny.ko && rmmod whichfs_tiny && dmesg | grep six\n")
	if err := theLab(t, Options{}).Shell(t.Context(), script, &screen, machine.Spec{Storage: "disk:1M", Modules: []string{built.File()}, Work: t.TempDir()}); err != nil {
		t.Error(err)
	}
	if text := screen.String(); !strings.Contains(text, "six times seven is 42") || !strings.Contains(text, "/root: insmod whichfs_tiny.ko loads it") {
		t.Errorf("screen:\n%s", text)
	}
}

// A module that this kernel cannot load is refused before anything is measured: by the host if it
// knows, else by the guest.
func TestUnfitModules(t *testing.T) {
	t.Parallel()
	body := unsigned(moduleFromImage(t, "fs/nilfs2/nilfs2"))
	f, err := kmod.Read("nilfs2.ko", body)
	if err != nil {
		t.Fatal(err)
	}
	layout := make([]byte, 8)
	for i := range layout {
		layout[i] = byte(f.Versions["module_layout"] >> (8 * i))
	}
	trixie := instead(t, body, "vermagic="+f.Release(), "vermagic="+strings.Repeat("9", len(f.Release())))
	changed := instead(t, trixie, string(layout)+"module_layout\x00", "\x01\x02\x03\x04\x00\x00\x00\x00module_layout\x00")
	arm := slices.Clone(body)
	arm[18], arm[19] = 0xb7, 0 // e_machine: EM_AARCH64
	for name, c := range map[string]struct {
		file, want, hint string
		guest            bool // has to look at it
	}{
		"another kernel":    {moduleFile(t, "nilfs2.ko", changed), "nilfs2.ko is built for kernel 9999", "apt install linux-headers-" + f.Release(), true},
		"cut off":           {moduleFile(t, "nilfs2.ko", body[:len(body)/2]), "is not a kernel module: it is truncated", ".ko", false},
		"garbage":           {moduleFile(t, "nilfs2.ko", bytes.Repeat([]byte("hello"), 1000)), "is not a kernel module: it is not an ELF file", ".ko", false},
		"another processor": {moduleFile(t, "nilfs2.ko", arm), "built for arm64, and this machine is amd64", "build it for amd64", false},
		"not there":         {"/nonexistent/yaffs2.ko", "there is no kernel module /nonexistent/yaffs2.ko", "", false},
		"the guest's root":  {moduleFile(t, "erofs.ko", moduleFromImage(t, "fs/erofs/erofs")), "this kernel has already loaded a module erofs", "run from erofs", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.guest {
				t.Parallel()
			}
			s, err := theLab(t, Options{}).Start(t.Context(), machine.Spec{Storage: "disk:64M", Modules: []string{c.file}, Work: t.TempDir()})
			if err == nil {
				_ = s.Close()
			}
			var e *result.Failure
			if !errors.As(err, &e) || e.Outcome != result.Refused || !strings.Contains(e.Reason, c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%+v", err)
			}
		})
	}
}

// standIn turns the kernel's jffs2 into a driver with another name, for module and filesystem type:
// it uses the same devices as the real one would.
func standIn(t *testing.T, name string) []byte {
	t.Helper()
	body := unsigned(moduleFromImage(t, "fs/jffs2/jffs2"))
	const was = "jffs2"
	if name == "logfs" {
		return instead(t, body, "\x00"+was+"\x00", "\x00"+name+"\x00", "name="+was+"\x00", "name="+name+"\x00")
	}
	// One letter more: it replaces a message, and the pointer to the type's name is redirected
	// there.
	f, err := elf.NewFile(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	texts, pointers, this := f.Section(".rodata.str1.1"), f.Section(".rela.data"), f.Section(".gnu.linkonce.this_module")
	old := bytes.Index(body[texts.Offset:texts.Offset+texts.Size], []byte("\x00"+was+"\x00")) + 1
	place := 0
	for at := 0; at < int(texts.Size) && place == 0; {
		text, _, _ := bytes.Cut(body[int(texts.Offset)+at:], []byte{0})
		if len(text) > len(name) && text[0] == '\x01' { // of the kernel's log (KERN_SOH)
			place = at
		}
		at += len(text) + 1
	}
	moved := 0
	for at := pointers.Offset; at < pointers.Offset+pointers.Size; at += 24 { // Elf64_Rela
		if binary.LittleEndian.Uint64(body[at+16:]) == uint64(old) {
			binary.LittleEndian.PutUint64(body[at+16:], uint64(place))
			moved++
		}
	}
	if old == 0 || place == 0 || moved != 1 {
		t.Fatalf("the type's name is at %d, the place for another at %d; %d pointers", old, place, moved)
	}
	copy(body[int(texts.Offset)+place:], name+"\x00")
	own := body[this.Offset : this.Offset+this.Size]
	copy(own[bytes.Index(own, []byte(was)):], name)
	return instead(t, body, "intree=Y\x00name="+was+"\x00", "intree=\x00name="+name+"\x00")
}

// Drivers that no distribution kernel has come with --module, and their filesystems go through the
// study's own scenario. What is said without them is tried in the virtual lab.
func TestDriversOutsideTheKernel(t *testing.T) {
	t.Parallel()
	data := machinetest.TinyData(t)
	given := machine.Spec{Storage: "nand:64M", Data: data}
	given.Modules = []string{moduleFile(t, "yaffs2.ko", standIn(t, "yaffs2")), moduleFile(t, "logfs.ko", standIn(t, "logfs"))}
	s := begin(t, theLab(t, Options{}), given)
	support, err := s.Support(t.Context(), parsed.Candidates("yaffs2", "logfs"))
	if err != nil {
		t.Fatal(machinetest.Explain(err))
	}
	if c := support.Candidates[0]; c.Reason != "" {
		t.Errorf("%+v", c)
	}
	if c := support.Candidates[1]; c.Outcome != result.Unsupported || c.Reason != "mklogfs is not installed" || !strings.Contains(c.Hint, "logfsprogs") {
		t.Errorf("%+v", c)
	}
	st := study.Bootlin2010()
	plan := st.Scenario(false, st.Scales["quick"])
	for i := range plan {
		if plan[i].Data != "" {
			plan[i].Data = data[dataKind(st, plan[i].Data)].Name
		}
		plan[i].Share = min(plan[i].Share, 0.01) // with the chip's delays, more takes minutes
	}
	got := machinetest.CarryOut(t, s, "yaffs2", plan)
	if d := got.Done; d.Outcome != result.Done {
		t.Fatalf("%s in phase %s: %s (%s)", d.Outcome, d.Phase, d.Reason, d.Hint)
	}
	for _, step := range plan {
		idle := step.Only == "ubi" || slices.Contains([]string{"mkfs", "attach", "layer-load", "rest"}, step.Work)
		if m := got.Figures[step.Phase][result.Wall]; step.Phase != "" && !idle && (m.Absent != "" || m.Value <= 0) {
			t.Errorf("phase %s: %+v", step.Phase, m)
		}
	}
	if m := got.Figures["mkfs"][result.Wall]; m.Absent != "an erased chip is an empty filesystem" {
		t.Errorf("mkfs: %+v", m)
	}
	empty, filled := got.Figures["space-empty"][result.SpaceUsed], got.Figures["space-filled"][result.SpaceUsed]
	if empty.Absent != "" || filled.Value <= empty.Value {
		t.Errorf("space %v when empty, %v when filled", empty, filled)
	}
	loads := 0
	for _, n := range got.Notes {
		if n.Text == "module yaffs2 was loaded from the given yaffs2.ko; the kernel marks it E" {
			loads++
		}
	}
	if loads != 3 { // new, cold, and after the power was lost
		t.Errorf("%d loads of the given module: %v", loads, got.Notes)
	}
}

// dataKind is 0 for a tree and 1 for a stream.
func dataKind(st study.Study, name string) int {
	for _, d := range st.Scales["quick"].Data {
		if d.Name == name && d.Stream > 0 {
			return 1
		}
	}
	return 0
}
