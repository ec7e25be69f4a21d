package filesystem

import (
	"strings"
	"testing"
)

func TestSyntaxRead(t *testing.T) {
	for _, tc := range []struct{ name, words, want string }{
		{"ext4", "-qb4096 -O a,^b -E stride=2 -E x,y", "-q | -b4096 | -O a | -O ^b | -E stride=2 | -E x | -E y"},
		{"ext4", "-Qx y z", "-Qx | y? | z!"},
		{"btrfs", "--metadata single --data=dup --mixed -M -m dup", "--metadata single | --data=dup | --mixed | -M | -m dup"},
		{"btrfs", "-m", "-m"},
		{"xfs", "-m crc=0,finobt=0 -f", "-m crc=0 | -m finobt=0 | -f"},
		{"squashfs", "-comp lzo -b 64K -noI -Xnew 7", "-comp lzo | -b 64K | -noI | -Xnew | 7?"},
		{"erofs", "-zlz4hc,12 -C65536 -Eztailpacking,dedupe --all-root", "-zlz4hc,12 | -C65536 | -E ztailpacking | -E dedupe | --all-root"},
		{"vfat", "-", "-!"},
	} {
		fs, _ := ByName(tc.name)
		var got []string
		for _, o := range fs.syntax.read(strings.Fields(tc.words)) {
			text := o.Text
			switch {
			case o.Flag == "" && o.Stray:
				text += "?"
			case o.Flag == "":
				text += "!"
			}
			got = append(got, text)
		}
		if s := strings.Join(got, " | "); s != tc.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.name, tc.words, s, tc.want)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "4096": 4096, "64k": 65536, "64K": 65536, "8m": 8 << 20, "1G": 1 << 30} {
		if got, ok := size(text); !ok || got != want {
			t.Errorf("size(%q) = %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "k", "-1", "1.5k", "4 k", "99999999999G", "0x10", "1KiB"} {
		if got, ok := size(text); ok {
			t.Errorf("size(%q) = %d, want an error", text, got)
		}
	}
}
