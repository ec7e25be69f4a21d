package lab

import (
	"strings"
	"testing"
	"time"
)

func TestVanished(t *testing.T) {
	for _, c := range []struct{ wanted, got, gone string }{
		{"CONFIG_A=y\n", "CONFIG_A=m\n", "CONFIG_A=y"},
		{"CONFIG_A=y\n", "# CONFIG_A is not set\n", "CONFIG_A=y"},
		{"CONFIG_A=\"x y\"\n", "CONFIG_A=\"x y\"\n", ""},
		{"# CONFIG_A is not set\n", "CONFIG_A=y\n", "# CONFIG_A is not set"},
		{"# CONFIG_A is not set\n", "# CONFIG_A is not set\n", ""},
		{"# CONFIG_A is not set\n", "CONFIG_AB=y\n", ""},
		{"# words about CONFIG_A=y\n\n", "", ""},
	} {
		if gone := strings.Join(Vanished(c.wanted, c.got), "; "); gone != c.gone {
			t.Errorf("%q in %q: %q", c.wanted, c.got, gone)
		}
	}
}

func FuzzCompiled(f *testing.F) {
	f.Add("  CC [M]  fs/ext4/super.o\n  CC      fs/super.o\n  LD [M]  fs/ext4/ext4.ko\n  CALL    scripts/checksyscalls.sh\n")
	f.Add("  HOSTCC  scripts/basic/fixdep\n  AS      usr/initramfs_data.o\nCC x\n  CC\n  CC [M]\n  CC a b c\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole := Counter{seen: map[string]bool{}}
		_, _ = whole.Write([]byte(text))
		pieces := Counter{seen: map[string]bool{}}
		for i := range len(text) {
			_, _ = pieces.Write([]byte(text[i : i+1]))
		}
		for file := range whole.seen {
			if file == "" || strings.ContainsAny(file, " \n\t") {
				t.Errorf("%q", file)
			}
			if !pieces.seen[file] && len(text) < longestLine {
				t.Errorf("%q is missed when it arrives in pieces", file)
			}
		}
		if len(whole.rest) > longestLine {
			t.Errorf("%d bytes are kept", len(whole.rest))
		}
	})
}

func TestTimeLeft(t *testing.T) {
	begun := time.Now()
	c := Counter{all: 1230, before: 200, begun: begun, seen: map[string]bool{}}
	for n := range 600 {
		c.seen[string(rune(n+1000))] = true
	}
	if got := c.state() + c.left(begun.Add(100*time.Second)); got != "600 of about 1,230 files, about 3 min left" { // 630 files at 4 a second
		t.Errorf("%q", got)
	}
	c.before = 590
	if got := c.left(begun.Add(time.Second)); got != "" {
		t.Errorf("an estimate from ten files: %q", got)
	}
	c.all, c.before = 500, 0
	if got := c.state() + c.left(begun.Add(100*time.Second)); got != "600 of about 600 files, about 0 s left" {
		t.Errorf("%q", got)
	}
}
