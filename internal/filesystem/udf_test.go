package filesystem

import (
	"strings"
	"testing"

	"whichfs/internal/result"
)

func TestVerifyUdf(t *testing.T) {
	verifyFixture(t, "udf", "-b 512 -b 2048 -r 2.01 --udfrev=0x0150 --lvid=LinuxUDF -l other --spartable --vat --media-type=hd --mode=0700",
		yes, alt, yes, alt, yes, alt, ign, ign, unv, unv)
	verifyFixture(t, "udf-1k", "-b 1024 --blocksize=512 -r 2.00 -r 0x0200 --lvid=lv --vid=vv --vid=lv -u 0123456789abcdef -u 1123456789abcdef --vsid=LinuxUDF",
		yes, alt, yes, yes, yes, yes, alt, yes, alt, yes)
	verifyFixture(t, "udf-spare", "-b 512 -m cdrw --spartable --vat", yes, unv, yes, ign)
}

// The partition table that mkudffs would write is omitted unless requested, after the options that
// must come first.
func TestUdfMake(t *testing.T) {
	for line, want := range map[string]string{
		"udf --utf8 -m hd -r 2.01": "mkudffs --utf8 -m hd -r 2.01 --bootarea=erase /dev/x", "udf --bootarea=mbr": "mkudffs --bootarea=mbr /dev/x",
	} {
		c := parse(t, line)
		if got := strings.Join(udfMake(c, "/dev/x"), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestUdfNames(t *testing.T) {
	for name, want := range map[string]bool{
		strings.Repeat("x", 254): true, strings.Repeat("x", 255): false, strings.Repeat("ü", 127): true,
		strings.Repeat("ж", 127): true, strings.Repeat("ж", 128): false, strings.Repeat("𝄞", 63): true, strings.Repeat("𝄞", 64): false, "\xff": false, "a:b*?": true,
	} {
		if got := udfLacks(Candidate{}).Name(name); got != want {
			t.Errorf("%.20q: %v", name, got)
		}
	}
}

func TestUdfSizes(t *testing.T) {
	for line, want := range map[string][2]int64{
		"udf": {93 * 512, 2 * tib}, "udf -b 2048": {36 * 2048, 8 * tib}, "udf --blocksize=4096": {28 * 4096, 16 * tib},
		"udf -m cdrw": {1510 * 512, 2 * tib}, "udf --media-type=dvdrw --udfrev=1.50 -b 2048": {1398 * 2048, 8 * tib},
	} {
		c := parse(t, line)
		if most, _ := udfMaxSize(c); udfMinSize(c) != want[0] || most != want[1] {
			t.Errorf("%s: %d to %d, want %d", line, udfMinSize(c), most, want)
		}
	}
}

// A volume with fewer than 257 blocks has its anchor in the last one.
func TestVerifyUdfAnchorInLastBlock(t *testing.T) {
	seen := fixture(t, "udf-small", offset("udf"))
	c := parse(t, "udf -b 2048 -b 512")
	for size, want := range map[string][]result.OptionState{"144\n": {yes, alt}, "": {unv, unv}, "160\n": {unv, unv}} {
		seen.File = func(string) (string, error) { return size, nil }
		for i, o := range c.Filesystem().Verify(c, seen) {
			if o.State != want[i] {
				t.Errorf("%q: %+v, want %s", size, o, want[i])
			}
		}
	}
}
