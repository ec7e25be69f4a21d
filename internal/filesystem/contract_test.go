package filesystem

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"whichfs/internal/filesystem/tried"
	"whichfs/internal/result"
	"whichfs/internal/testing/golden"
)

// studyCandidates are those of the bootlin-2023 study and its extra rows.
var studyCandidates = []string{
	"ext2", "ext3", "ext4", "ext4 -O ^has_journal", "xfs",
	"btrfs", "btrfs -m single", "btrfs -m dup",
	"btrfs -m single -o ssd", "btrfs -m single -o nossd", "btrfs -m single -o ssd_spread",
	"btrfs -m single -o compress=none", "btrfs -m single -o compress=lzo", "btrfs -m single -o compress=zlib", "btrfs -m single -o compress=zstd",
	"f2fs",
	"f2fs -O extra_attr,compression -o compress_algorithm=lzo,compress_extension=*",
	"f2fs -O extra_attr,compression -o compress_algorithm=lz4,compress_extension=*",
	"f2fs -O extra_attr,compression -o compress_algorithm=zstd,compress_extension=*",
	"f2fs -O extra_attr,compression -o compress_algorithm=lzo-rle,compress_extension=*",
	"f2fs -o lazytime", "f2fs -o atgc,gc_merge",
	"nilfs2", "jfs", "reiserfs", "vfat", "exfat",
	"squashfs -comp gzip", "squashfs -comp lzo", "squashfs -comp xz", "squashfs -comp lz4", "squashfs -comp zstd",
	"erofs", "erofs -zlz4", "erofs -zlz4hc", "erofs -zlz4hc,12", "erofs -zlz4hc -C65536",
}

// flashCandidates are those for raw flash.
var flashCandidates = []string{
	"jffs2", "jffs2 -o compr=none", "jffs2@image", "jffs2@image -m none", "jffs2@image+summary", "jffs2@image+summary -x zlib -X lzo",
	"ubifs", "ubifs -x none", "ubifs -x zstd", "ubifs@ubi+fastmap", "ubifs -o compr=zlib",
	"squashfs -comp lzo", "squashfs@ubiblock -comp lzo", "squashfs@ubiblock+fastmap -comp lzo", "erofs@ubiblock -zlz4hc", "squashfs@gluebi -comp lzo",
}

// TestContract requires of every filesystem what the rest of whichfs relies on. A missing item is
// named with its file and field, so this is also the list of what to do for a new one.
func TestContract(t *testing.T) {
	seen := map[string]bool{}
	for _, fs := range All {
		if seen[fs.Name] {
			t.Errorf("all.go: %s is listed twice", fs.Name)
		}
		seen[fs.Name] = true
		found, err := tried.Of(fs.Name)
		for _, complaint := range contract(fs, os.DirFS("testdata"), found, err) {
			t.Error(complaint)
		}
	}
	if _, ok := ByName("none"); ok {
		t.Error("ByName finds a filesystem that is not there")
	}
}

// contract lists what a filesystem's file lacks. Captured texts are in testdata, observations from
// the laboratory in tried.
func contract(fs Filesystem, testdata fs.FS, seen []tried.Candidate, none error) []string {
	h := holder{fs: fs, c: Candidate{FS: fs.Name}}
	h.fields()
	if len(h.complaints) > 0 {
		return h.complaints // the other checks call these fields
	}
	h.tools()
	h.itsOwn()
	h.properties()
	if fs.NotMainline != "" {
		return h.complaints // no driver was available for trials and captures
	}
	h.captures(testdata)
	if none != nil {
		h.lack("tried", "%v: have the laboratory try it; tried.go says what of", none)
	}
	for _, c := range seen {
		h.tried(c)
	}
	if len(seen) > 0 {
		h.triedByDefault(seen[0])
	}
	return h.complaints
}

// holder holds one filesystem to the contract.
type holder struct {
	fs         Filesystem
	c          Candidate // without options
	complaints []string
}

func (h *holder) lack(field, format string, args ...any) {
	h.complaints = append(h.complaints, fmt.Sprintf("%s.go: %s: %s", h.fs.Name, field, fmt.Sprintf(format, args...)))
}

// The fields are there, or the reason for their absence.
func (h *holder) fields() {
	fs := h.fs
	for field, wrong := range map[string]bool{
		"Name": fs.Name == "", "Title": fs.Title == "", "Module": fs.Module == "",
		"Image (of what is read-only), or Make": fs.ReadOnly != (fs.Image != nil),
		"Make, or Made":                         (fs.Make != nil) == (fs.ReadOnly || fs.Made != ""),
		"Ways (of what is for raw flash alone)": fs.Raw && len(fs.Ways) == 0,
		"FlashImage (of ways by an image)":      (fs.FlashImage != nil) != slices.ContainsFunc(fs.Ways, Way.Image),
		"Check, or NoCheck":                     (fs.Check == nil) == (fs.NoCheck == ""),
		"ReadCheck":                             (fs.Check == nil) != (fs.ReadCheck == nil),
		"Repair, or NoRepair":                   (fs.Repair == nil) == (fs.NoRepair == ""),
		"ReadRepair":                            (fs.Repair == nil) != (fs.ReadRepair == nil),
		"Tune (of what is made in place)":       (fs.Tune == nil) != fs.ReadOnly,
		"Verify":                                fs.Verify == nil,
		"MinSize":                               fs.MinSize == nil,
		"MaxSize":                               fs.MaxSize == nil,
		"Lacks":                                 fs.Lacks == nil,
		"Properties":                            fs.Properties == nil,
		"Promises (of what is written on block devices)": fs.Promises == nil && !fs.ReadOnly && !fs.Raw,
		"Magics (of what is written on block devices)":   len(fs.Magics) == 0 && !fs.ReadOnly && !fs.Raw,
		"says.Tags":            len(fs.says.Tags) == 0,
		"syntax (of its mkfs)": fs.syntax.Short == "" && len(fs.syntax.Long) == 0 && (fs.Make != nil || fs.Image != nil),
		"Facts.Year":           fs.Facts.Year < 1980,
		"Facts.Design":         fs.Facts.Design == "",
		"Facts.MaxFile":        fs.Facts.MaxFile == "",
		"Facts.MaxSize":        fs.Facts.MaxSize == "",
		"Facts.DatesUntil":     fs.Facts.DatesUntil == "",
		"Facts.Source":         fs.Facts.Source == "",
	} {
		if wrong {
			h.lack(field, "is missing, or contradicts the other fields")
		}
	}
	slices.Sort(h.complaints)
}

// tools: a program that is run is required, one that may be missing is optional.
func (h *holder) tools() {
	fs, c := h.fs, h.c
	optional := map[string]bool{}
	for _, n := range fs.Needs {
		if n.Program == "" || n.Package == "" {
			h.lack("Needs", "%+v is incomplete", n)
		}
		optional[n.Program] = n.Optional
	}
	var makers []string
	if fs.Make != nil {
		argv := fs.Make(c, "/dev/x")
		makers = append(makers, argv[0])
		if argv[len(argv)-1] != "/dev/x" && !(fs.Raw && slices.Contains(argv, "/dev/x")) {
			h.lack("Make", "the device is not the last word of %q", argv)
		}
	}
	if fs.Image != nil {
		makers = append(makers, fs.Image(c, "image", "tree")[0])
	}
	for _, w := range fs.Ways {
		if w.Image() {
			for _, argv := range fs.FlashImage(Candidate{FS: fs.Name, Way: w}, nandBlock, "image", "tree") {
				makers = append(makers, argv[0])
			}
		}
		if w.UBI() && fs.Raw {
			makers = append(makers, "ubiformat")
		}
	}
	for _, maker := range makers {
		if may, ok := optional[maker]; !ok || may {
			h.lack("Needs", "%s is run and not needed", maker)
		}
	}
	if fs.Check != nil {
		if may, ok := optional[fs.Check("/dev/x")[0]]; !ok || !may {
			h.lack("Needs", "%s of Check must be an optional need", fs.Check("/dev/x")[0])
		}
	}
	if fs.Repair != nil {
		for _, argv := range fs.Repair("/dev/x") {
			if may, ok := optional[argv[0]]; !ok || !may || argv[len(argv)-1] != "/dev/x" {
				h.lack("Repair", "%q must be an optional need, with the device last", argv)
			}
		}
	}
}

// itsOwn: the readers of one filesystem's superblock and tools say nothing about another's, unless
// both have one driver.
func (h *holder) itsOwn() {
	for _, other := range All {
		if other.Name == h.fs.Name || other.Module == h.fs.Module {
			continue
		}
		for field, both := range map[string][2]any{
			"MinSize": {h.fs.MinSize, other.MinSize}, "MaxSize": {h.fs.MaxSize, other.MaxSize}, "Verify": {h.fs.Verify, other.Verify},
			"Properties": {h.fs.Properties, other.Properties}, "ReadCheck": {h.fs.ReadCheck, other.ReadCheck}, "ReadRepair": {h.fs.ReadRepair, other.ReadRepair},
		} {
			mine := function(both[0])
			if mine != "" && mine == function(both[1]) && !strings.HasSuffix(mine, ".unbounded") {
				h.lack(field, "it is that of %s, which another driver has", other.Name)
			}
		}
		for _, n := range h.fs.Needs {
			if !h.fs.Raw && slices.ContainsFunc(other.Needs, func(o Tool) bool { return o.Program == n.Program }) {
				h.lack("Needs", "%s is a tool of %s, which another driver has", n.Program, other.Name)
			}
		}
	}
}

// function is the name of a function; "" for nil and for a function made by another.
func function(f any) string {
	v := reflect.ValueOf(f)
	if v.IsNil() {
		return ""
	}
	name := runtime.FuncForPC(v.Pointer()).Name()
	if strings.Contains(name, ".func") {
		return ""
	}
	return name
}

func (h *holder) properties() {
	p := h.fs.Properties(h.c)
	for field, one := range map[string]Property{
		"PowerLoss": p.PowerLoss, "Compression": p.Compression, "Encryption": p.Encryption,
		"Checksums": p.Checksums, "MetaChecksums": p.MetaChecksums, "Journal": p.Journal,
	} {
		if one.Why == "" || one.Source == "" {
			h.lack("Properties."+field, "it has no reason, or no source")
		}
	}
	if p.Dates.Why == "" || p.Dates.Source == "" || p.Dates.Until == 0 {
		h.lack("Properties.Dates", "it has no last year, no reason, or no source")
	}
	if f := h.fs.Promises; f != nil && f(h.c).Source == "" {
		h.lack("Promises", "they have no source")
	}
	if least := h.fs.MinSize(h.c); least < 4096 {
		h.lack("MinSize", "%d bytes", least)
	}
	if most, _ := h.fs.MaxSize(h.c); most < h.fs.MinSize(h.c) {
		h.lack("MaxSize", "%d bytes are less than MinSize", most)
	}
	for _, pattern := range h.fs.Threads {
		if _, err := path.Match(strings.ReplaceAll(pattern, "%d", "vda"), "x"); err != nil {
			h.lack("Threads", "%q: %v", pattern, err)
		}
	}
	if len(h.fs.Verify(h.c, Evidence{})) != 0 {
		h.lack("Verify", "a candidate without options has options to verify")
	}
}

// captured describes the files in each directory of testdata.
var captured = map[string]string{
	"super":  "what its mkfs wrote, from where Verify first reads",
	"check":  `a line "exit STATUS", and what the real tool wrote`,
	"repair": `a line "exit STATUS", and what the real tool wrote`,
	"kernel": "what dmesg -t showed when it was mounted, used and unmounted",
}

// captures: real texts and superblocks prove that its readers read them. Filesystems with the same
// driver share theirs.
func (h *holder) captures(testdata fs.FS) {
	want := func(field, dir string, kinds ...string) {
		for _, kind := range kinds {
			if !h.captured(testdata, dir, kind) {
				h.lack(field, "testdata/%s/%s%s is missing: %s", dir, h.fs.Name, strings.ReplaceAll(kind, "|", " or "), captured[dir])
			}
		}
	}
	want("Verify", "super", ".bin|-*.bin")
	h.superblocks(testdata)
	if h.fs.Check != nil {
		want("ReadCheck", "check", "-clean*.txt", "-dirty*.txt", "-missing*.txt")
	}
	if h.fs.Repair != nil {
		want("ReadRepair", "repair", "-nothing*.txt", "-mended*.txt|-not.txt|-not[0-9].txt")
	}
	if !h.fs.ReadOnly && !h.fs.Raw { // faults are made where filesystems are written on block devices
		want("says", "kernel", "-clean.txt", "-replay.txt|-fail.txt|-corrupt.txt|-rot.txt")
	}
}

// superblocks: Verify can read at least one of the captured superblocks.
func (h *holder) superblocks(testdata fs.FS) {
	complaint := ""
	for _, pattern := range []string{"super/" + h.fs.Name + ".bin", "super/" + h.fs.Name + "-*.bin"} {
		files, _ := fs.Glob(testdata, pattern) // of a pattern without brackets
		for _, file := range files {
			b, err := fs.ReadFile(testdata, file)
			if err != nil {
				h.lack("Verify", "%v", err)
			}
			unread := func(o result.Option) bool { return strings.HasPrefix(o.Evidence, "cannot read the superblock") }
			options := h.fs.Verify(Candidate{FS: h.fs.Name, words: join([]string{"-q"})}, image(b, offset(h.fs.Name)))
			if !slices.ContainsFunc(options, unread) {
				return
			}
			complaint = "testdata/" + file + ": " + options[0].Evidence
		}
	}
	if complaint != "" {
		h.lack("Verify", "%s", complaint)
	}
}

func (h *holder) captured(testdata fs.FS, dir, kind string) bool {
	names := []string{h.fs.Name}
	for _, other := range All {
		if other.Module == h.fs.Module {
			names = append(names, other.Name)
		}
	}
	for _, name := range names {
		for _, one := range strings.Split(kind, "|") {
			if files, err := fs.Glob(testdata, dir+"/"+name+one); err == nil && len(files) > 0 {
				return true
			}
		}
	}
	return false
}

// triedByDefault: the candidate without options was tried in everything.
func (h *holder) triedByDefault(c tried.Candidate) {
	keys := map[string]string{"Lacks": "holds", "Lacks.Name": "name", "Threads": "threads", "MinSize": "below", "Abilities": "can"}
	switch {
	case h.fs.Raw:
		keys = map[string]string{"Threads": "threads"}
	case h.fs.ReadOnly:
		keys = map[string]string{"Lacks": "holds", "Lacks.Name": "name", "Abilities": "can"}
	}
	for field, key := range keys {
		if _, ok := c.Get(key); !ok {
			h.lack(field, "tried/%s.txt does not say what %q is of %s", h.fs.Name, key, c.Line)
		}
	}
}

// tried: the file's claims about a candidate agree with the laboratory.
func (h *holder) tried(seen tried.Candidate) {
	c, err := Parse(seen.Line)
	if err != nil {
		c = Candidate{FS: h.fs.Name} // one that All does not have yet
	}
	lacks := h.fs.Lacks(c)
	if text, ok := seen.Get("holds"); ok {
		if got := strings.Join(lacks.Holds(), " "); got != text && !(got == "" && text == "nothing") {
			h.lack("Lacks", "%s is said to hold %q, and tried/%s.txt shows %q", seen.Line, got, h.fs.Name, text)
		}
	}
	if text, ok := seen.Get("name"); ok {
		longest, err := strconv.Atoi(text)
		fits := func(n int) bool {
			return lacks.Name == nil && n <= 255 || lacks.Name != nil && lacks.Name(strings.Repeat("0", n)) && n <= 255
		}
		if err != nil || !fits(longest) || fits(longest+1) {
			h.lack("Lacks.Name", "%s: tried/%s.txt shows names of %s bytes", seen.Line, h.fs.Name, text)
		}
	}
	if text, ok := seen.Get("can"); ok {
		if with, _ := seen.Get("with"); !strings.Contains(with, h.fs.Needs[0].Package) || !strings.HasPrefix(with, "Linux ") {
			h.lack("Abilities", "tried/%s.txt does not say with which kernel and version of %s they were tried", h.fs.Name, h.fs.Needs[0].Package)
		}
		var can []string
		for _, a := range Abilities {
			if _, lack := h.fs.Can(a.Name); lack == "" {
				can = append(can, string(a.Name))
			}
		}
		if got := strings.Join(can, " "); got != text && !(got == "" && text == "nothing") {
			h.lack("Abilities", "they are %q, and tried/%s.txt shows %q", got, h.fs.Name, text)
		}
	}
	if text, ok := seen.Get("threads"); ok {
		h.threads(seen.Line, strings.Fields(strings.TrimSuffix(text, "none")))
	}
}

func (h *holder) threads(line string, names []string) {
	if len(names) == 0 && len(h.fs.Threads) > 0 {
		h.lack("Threads", "%q: tried/%s.txt shows none of %s", h.fs.Threads, h.fs.Name, line)
	}
	for _, name := range names {
		if !matches(h.fs, name) {
			h.lack("Threads", "%q do not own %s of %s", h.fs.Threads, name, line)
		}
	}
	for _, other := range []string{"kworker/0:1-eve", "kswapd0", "jbd2/vdb-8", "xfsaild/vdb", "loop0"} {
		if matches(h.fs, other) {
			h.lack("Threads", "%q own %s, which is another's", h.fs.Threads, other)
		}
	}
}

// A file that was copied from a neighbour without being adapted is detected, with each field that
// is still the neighbour's.
func TestContractNoticesCopies(t *testing.T) {
	for from, want := range map[string][]string{
		"exfat": {"Needs", "Verify", "Properties", "ReadCheck", "ReadRepair", "MinSize", "says", "tried"},
		"jfs":   {"Needs", "Verify", "Properties", "ReadCheck", "ReadRepair", "says", "tried"},
		"erofs": {"Needs", "Verify", "Properties", "ReadCheck", "tried"},
	} {
		fs, _ := ByName(from)
		fs.Name, fs.Title, fs.Module = "fake", "Fake", "fake"
		_, none := tried.Of(fs.Name)
		complaints := strings.Join(contract(fs, os.DirFS("testdata"), nil, none), "\n")
		for _, field := range want {
			if !strings.Contains(complaints, "fake.go: "+field+": ") {
				t.Errorf("a copy of %s: nothing is said of %s:\n%s", from, field, complaints)
			}
		}
	}
}

// Each field that is missing, or disagrees with the trials, is detected and named.
func TestContractNoticesFields(t *testing.T) {
	for _, x := range []struct {
		of, field string
		spoil     func(*Filesystem)
	}{
		{"ext4", "Title", func(fs *Filesystem) { fs.Title = "" }},
		{"ext4", "Make, or Made", func(fs *Filesystem) { fs.Make = nil }},
		{"ext4", "MinSize", func(fs *Filesystem) { fs.MinSize = nil }},
		{"ext4", "MaxSize", func(fs *Filesystem) { fs.MaxSize = nil }},
		{"ext4", "MaxSize", func(fs *Filesystem) { fs.MaxSize = most(kib) }},
		{"ext4", "Lacks", func(fs *Filesystem) { fs.Lacks = nil }},
		{"ext4", "Lacks", func(fs *Filesystem) { fs.Lacks = func(Candidate) Lacks { return fatLacks(0) } }},
		{"exfat", "Lacks", func(fs *Filesystem) { fs.Lacks = holdsAll }},
		{"ext4", "Lacks.Name", func(fs *Filesystem) {
			fs.Lacks = func(Candidate) Lacks { return Lacks{Name: func(name string) bool { return len(name) < 100 }} }
		}},
		{"ext4", "Check, or NoCheck", func(fs *Filesystem) { fs.Check = nil }},
		{"ext4", "ReadCheck", func(fs *Filesystem) { fs.ReadCheck = readJfsCheck }},
		{"nilfs2", "Repair, or NoRepair", func(fs *Filesystem) { fs.NoRepair = "" }},
		{"ext4", "Verify", func(fs *Filesystem) { fs.Verify = verifyJfs }},
		{"ext4", "Threads", func(fs *Filesystem) { fs.Threads = nil }},
		{"ext4", "Threads", func(fs *Filesystem) { fs.Threads = []string{"*"} }},
		{"vfat", "Threads", func(fs *Filesystem) { fs.Threads = []string{"jfsIO"} }},
		{"ext4", "Properties", func(fs *Filesystem) { fs.Properties = nil }},
		{"ext4", "Properties.Journal", func(fs *Filesystem) {
			fs.Properties = func(c Candidate) Properties { p := extProperties(c); p.Journal.Source = ""; return p }
		}},
		{"ext4", "Promises (of what is written on block devices)", func(fs *Filesystem) { fs.Promises = nil }},
		{"ext4", "Magics (of what is written on block devices)", func(fs *Filesystem) { fs.Magics = nil }},
		{"ext4", "Needs", func(fs *Filesystem) { fs.Needs = fs.Needs[1:] }},
		{"ext4", "says.Tags", func(fs *Filesystem) { fs.says.Tags = nil }},
		{"ext4", "syntax (of its mkfs)", func(fs *Filesystem) { fs.syntax = syntax{} }},
		{"ext4", "Abilities", func(fs *Filesystem) { fs.Abilities = nil }},
		{"xfs", "Abilities", func(fs *Filesystem) { fs.Abilities = map[Ability]Means{Snapshot: {}} }},
		{"ext4", "Facts.Source", func(fs *Filesystem) { fs.Facts.Source = "" }},
	} {
		fs, _ := ByName(x.of)
		x.spoil(&fs)
		seen, err := tried.Of(fs.Name)
		complaints := strings.Join(contract(fs, os.DirFS("testdata"), seen, err), "\n")
		if !strings.Contains(complaints, x.of+".go: "+x.field+": ") {
			t.Errorf("%s: nothing is said of %s: %q", x.of, x.field, complaints)
		}
	}
	// Captures and observations, one left out at a time.
	fs, _ := ByName("xfs")
	whole := fstest.MapFS{}
	for _, name := range []string{"super/xfs.bin", "check/xfs-clean.txt", "check/xfs-dirty.txt", "check/xfs-missing.txt", "repair/xfs-nothing.txt", "repair/xfs-not.txt", "kernel/xfs-clean.txt", "kernel/xfs-fail.txt"} {
		whole[name] = &fstest.MapFile{}
	}
	made, err := os.ReadFile("testdata/super/xfs.bin")
	if err != nil {
		t.Fatal(err)
	}
	whole["super/xfs.bin"].Data = made
	seen, err := tried.Of("xfs")
	if complaints := contract(fs, whole, seen, err); len(complaints) != 0 {
		t.Error(complaints)
	}
	empty := maps.Clone(whole)
	empty["super/xfs.bin"] = &fstest.MapFile{}
	if complaints := contract(fs, empty, seen, err); len(complaints) != 1 || !strings.Contains(complaints[0], "xfs.go: Verify: testdata/super/xfs.bin: cannot read") {
		t.Errorf("with an empty superblock: %q", complaints)
	}
	for name := range whole {
		less := maps.Clone(whole)
		delete(less, name)
		if complaints := contract(fs, less, seen, err); len(complaints) != 1 || !strings.Contains(complaints[0], "testdata/"+path.Dir(name)+"/xfs") {
			t.Errorf("without %s: %q", name, complaints)
		}
	}
}

// nandBlock is an erase block of a chip with pages of 2 KiB, in bytes.
const nandBlock = 128 << 10

func TestArgv(t *testing.T) {
	var b strings.Builder
	lines := slices.Concat(studyCandidates, flashCandidates)
	for _, name := range Names() {
		if !slices.Contains(lines, name) {
			lines = append(lines, name)
		}
	}
	for _, line := range append(lines, "ext4 -L 'two words' -o noatime", "squashfs -comp xz -b 1M -o noatime") {
		c := parse(t, line)
		fs := c.Filesystem()
		b.WriteString("# " + line + "\n")
		argv := func(words []string) {
			b.WriteString("  " + (Candidate{FS: words[0], words: join(words[1:])}).String() + "\n")
		}
		switch {
		case c.Way.Image():
			for _, step := range fs.FlashImage(c, nandBlock, "/run/image", "/run/tree") {
				argv(step)
			}
		case fs.Image != nil:
			argv(fs.Image(c, "/run/image", "/run/tree"))
		case fs.Make != nil:
			argv(fs.Make(c, "/dev/vda"))
		default:
			b.WriteString("  (" + fs.Made + ")\n")
		}
		if fs.Check != nil {
			argv(fs.Check("/dev/vda"))
		}
		if fs.Repair != nil {
			for _, words := range fs.Repair("/dev/vda") {
				argv(words)
			}
		}
	}
	golden.Check(t, "argv.golden", b.String())
}

func TestMinSize(t *testing.T) {
	for line, want := range map[string]int64{
		"ext4": 2 << 20, "ext4 -O ^has_journal": 104 << 10, "ext4 -O extent,^has_journal": 104 << 10, "ext2": 104 << 10,
		"xfs": 300 << 20, "btrfs": 109 << 20, "btrfs -m dup": 109 << 20, "btrfs -m single": 45 << 20, "btrfs --metadata=single": 45 << 20,
		"btrfs -d dup": 229 << 20, "btrfs --mixed": 16 << 20, "btrfs -M": 16 << 20,
		"f2fs": 52 << 20, "f2fs -s 2": 67 << 20, "f2fs -s 999999999999": 52 << 20,
		"nilfs2": 128<<20 + 4096, "nilfs2 -B 512": 32<<20 + 4096, "nilfs2 -b 1024 -B 16": 1 << 20,
		"jfs": 16 << 20, "reiserfs": 32896 << 10, "reiserfs -s 1024": 4224 << 10,
		"vfat": 52 << 10, "vfat -F 16": 8208 << 10, "exfat": 2068 << 10, "exfat -b 64K": 148 << 10, "exfat -b 1G": 2068 << 10, "squashfs": 4096, "erofs": 4096,
		"jffs2": 80 << 10, "jffs2@image": 80 << 10, "ubifs": 416 << 10,
	} {
		c := parse(t, line)
		if got := c.Filesystem().MinSize(c); got != want {
			t.Errorf("MinSize(%s) = %d, want %d", line, got, want)
		}
	}
}

func TestTooSmall(t *testing.T) {
	for _, c := range []struct {
		line         string
		size         int64
		reason, hint string
	}{
		{"xfs", 64 << 20, "xfs needs at least 300 MiB, this storage has 64 MiB", "give storage of 300 MiB or more"},
		{"xfs", 300<<20 - 4096, "xfs needs at least 300 MiB, this storage has 307196 KiB", "give storage of 300 MiB or more"},
		{"ext2", 512, "ext2 needs at least 104 KiB, this storage has 512 B", "give storage of 104 KiB or more"},
		{"xfs", 300 << 20, "", ""},
		{"nilfs2", 1 << 40, "", ""},
	} {
		if reason, hint := parse(t, c.line).Misfit(c.size); reason != c.reason || hint != c.hint {
			t.Errorf("%s on %d bytes: %q, %q", c.line, c.size, reason, hint)
		}
	}
}

func matches(fs Filesystem, thread string) bool {
	for _, p := range fs.Threads {
		if ok, _ := path.Match(strings.ReplaceAll(p, "%d", "vda"), thread); ok {
			return true
		}
	}
	return false
}

func TestFatName(t *testing.T) {
	lacks := fatLacks(0)
	for name, want := range map[string]bool{
		"a": true, "README.txt": true, ".hidden": true, "ünï": true, "a b": true, "+,;=[]": true,
		"": false, "a:b": false, "a*": false, "q?": false, "<x>": false, "p|q": false, `b\s`: false, `"q"`: false,
		"dot.": false, "blank ": false, "tab\t": false, "nl\n": false,
	} {
		if got := lacks.Name(name); got != want {
			t.Errorf("Name(%q) = %v, want %v", name, got, want)
		}
	}
}
