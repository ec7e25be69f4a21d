package filesystem

import (
	"path"
	"slices"
	"strings"
	"testing"

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
	"squashfs -comp lzo", "squashfs@ubiblock -comp lzo", "squashfs@ubiblock+fastmap -comp lzo", "erofs@ubiblock -zlz4hc",
}

// TestContract holds every filesystem to what the rest of whichfs relies on.
func TestContract(t *testing.T) {
	seen := map[string]bool{}
	for _, fs := range All {
		t.Run(fs.Name, func(t *testing.T) {
			switch {
			case fs.Name == "" || fs.Title == "" || fs.Module == "":
				t.Error("name, title or module is missing")
			case seen[fs.Name]:
				t.Error("listed twice")
			case fs.ReadOnly != (fs.Image != nil):
				t.Error("read-only filesystems have Image, the others have not")
			case (fs.Make != nil) == (fs.ReadOnly || fs.Made != ""):
				t.Error("what can be written has Make, or the reason why nothing needs to be made")
			case fs.Raw && len(fs.Ways) == 0:
				t.Error("it works on raw flash alone and has no way there")
			case (fs.FlashImage != nil) != slices.ContainsFunc(fs.Ways, Way.Image):
				t.Error("FlashImage belongs to the ways by an image")
			case (fs.Check == nil) == (fs.NoCheck == ""):
				t.Error("either Check or the reason why there is none")
			case (fs.Check == nil) != (fs.ReadCheck == nil):
				t.Error("Check and ReadCheck belong together")
			case (fs.Repair == nil) == (fs.NoRepair == ""):
				t.Error("either Repair or the reason why there is none")
			case (fs.Repair == nil) != (fs.ReadRepair == nil):
				t.Error("Repair and ReadRepair belong together")
			case (fs.Tune == nil) != fs.ReadOnly:
				t.Error("Tune belongs to what can be made, and to nothing else")
			case fs.Verify == nil || fs.MinSize == nil:
				t.Error("Verify or MinSize is missing")
			case fs.syntax.Short == "" && len(fs.syntax.Long) == 0 && (fs.Make != nil || fs.Image != nil):
				t.Error("the syntax of its mkfs options is missing")
			}
			seen[fs.Name] = true
			c := parse(t, fs.Name)
			if fs.MinSize(c) < 4096 {
				t.Errorf("MinSize %d", fs.MinSize(c))
			}
			contractTools(t, fs, c)
			f := fs.Facts
			if f.Year < 1990 || f.Design == "" || f.MaxFile == "" || f.MaxSize == "" || f.DatesUntil == "" || f.Source == "" {
				t.Errorf("facts are incomplete: %+v", f)
			}
			for _, p := range fs.Threads {
				if _, err := path.Match(strings.ReplaceAll(p, "%d", "vda"), "x"); err != nil {
					t.Errorf("pattern %q: %v", p, err)
				}
			}
			if len(fs.Verify(c, Evidence{})) != 0 {
				t.Error("a candidate without options has options to verify")
			}
			if got, ok := ByName(fs.Name); !ok || got.Title != fs.Title {
				t.Error("ByName does not find it")
			}
			if !slices.Contains(Names(), fs.Name) {
				t.Error("Names does not name it")
			}
		})
	}
	if _, ok := ByName("none"); ok {
		t.Error("ByName finds a filesystem that is not there")
	}
}

// contractTools: what is run is needed, what may be missing is optional.
func contractTools(t *testing.T, fs Filesystem, c Candidate) {
	t.Helper()
	tools := map[string]bool{}
	for _, n := range fs.Needs {
		if n.Program == "" || n.Package == "" {
			t.Errorf("tool %+v is incomplete", n)
		}
		tools[n.Program] = n.Optional
	}
	var makers []string
	if fs.Make != nil {
		argv := fs.Make(c, "/dev/x")
		makers = append(makers, argv[0])
		if argv[len(argv)-1] != "/dev/x" && !(fs.Raw && slices.Contains(argv, "/dev/x")) {
			t.Errorf("the device is not the last word of %q", argv)
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
		if optional, ok := tools[maker]; !ok || optional {
			t.Errorf("%s is run and not needed", maker)
		}
	}
	if fs.Check != nil {
		if optional, ok := tools[fs.Check("/dev/x")[0]]; !ok || !optional {
			t.Errorf("%s must be an optional need", fs.Check("/dev/x")[0])
		}
	}
	if fs.Repair != nil {
		for _, argv := range fs.Repair("/dev/x") {
			if optional, ok := tools[argv[0]]; !ok || !optional || argv[len(argv)-1] != "/dev/x" {
				t.Errorf("%q must be an optional need, with the device last", argv)
			}
		}
	}
}

// nandBlock is an erase block of a chip with pages of 2 KiB, in bytes.
const nandBlock = 128 << 10

func TestArgv(t *testing.T) {
	var b strings.Builder
	for _, line := range append(slices.Concat(studyCandidates, flashCandidates), "ext4 -L 'two words' -o noatime", "squashfs -comp xz -b 1M -o noatime") {
		c := parse(t, line)
		fs := c.Filesystem()
		b.WriteString("# " + line + "\n")
		argv := func(words []string) {
			b.WriteString("  " + (Candidate{FS: words[0], words: words[1:]}).String() + "\n")
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
		if reason, hint := TooSmall(parse(t, c.line), c.size); reason != c.reason || hint != c.hint {
			t.Errorf("%s on %d bytes: %q, %q", c.line, c.size, reason, hint)
		}
	}
}

// Names of kernel threads as Linux 6.1 shows them, cut at 15 characters.
func TestThreads(t *testing.T) {
	for name, threads := range map[string][]string{
		"ext4":     {"jbd2/vda-8", "ext4-rsv-conver", "ext4lazyinit"},
		"xfs":      {"xfsaild/vda", "xfs-buf/vda", "xfs-conv/vda", "xfs-log/vda", "xfs-cil/vda", "xfs-reclaim/vda", "xfs-blockgc/vda", "xfs-inodegc/vda", "xfsalloc", "xfs_mru_cache"},
		"btrfs":    {"btrfs-cleaner", "btrfs-transacti", "btrfs-endio-met", "btrfs-worker-hi"},
		"f2fs":     {"f2fs_ckpt-254:0", "f2fs_discard-25", "f2fs_flush-254:", "f2fs_gc-254:0"},
		"nilfs2":   {"segctord"},
		"jfs":      {"jfsCommit", "jfsIO", "jfsSync"},
		"reiserfs": {"reiserfs/vda"},
		"jffs2":    {"jffs2_gcd_vda"},
		"ubifs":    {"ubi_bgt0d", "ubifs_bgt0_0"},
	} {
		fs, _ := ByName(name)
		for _, thread := range threads {
			if !matches(fs, thread) {
				t.Errorf("%s does not own %s", name, thread)
			}
		}
		for _, other := range []string{"kworker/0:1-eve", "kswapd0", "jbd2/vdb-8", "xfsaild/vdb", "loop0"} {
			if matches(fs, other) {
				t.Errorf("%s owns %s", name, other)
			}
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
	fs, _ := ByName("vfat")
	for name, want := range map[string]bool{
		"a": true, "README.txt": true, ".hidden": true, "ünï": true, "a b": true, "+,;=[]": true,
		"": false, "a:b": false, "a*": false, "q?": false, "<x>": false, "p|q": false, `b\s`: false, `"q"`: false,
		"dot.": false, "blank ": false, "tab\t": false, "nl\n": false,
	} {
		if got := fs.Lacks.Name(name); got != want {
			t.Errorf("Name(%q) = %v, want %v", name, got, want)
		}
	}
}
