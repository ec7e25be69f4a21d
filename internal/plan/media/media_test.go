package media

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Storage{
		"/dev/sdb":        {Kind: KindDevice, Path: "/dev/sdb"},
		"/dev//disk/../x": {Kind: KindDevice, Path: "/dev/x"},
		"loop:2G":         {Kind: KindLoop, Size: 2 << 30},
		"loop:1048576":    {Kind: KindLoop, Size: 1 << 20},
		"disk:1GiB":       {Kind: KindDisk, Size: 1 << 30},
		"disk:1G,bps=20M,iops_rd=500,iops_wr=200": {Kind: KindDisk, Size: 1 << 30,
			Options: map[string]string{"bps": "20M", "iops_rd": "500", "iops_wr": "200"}},
		"sd:256m":              {Kind: KindSD, Size: 256 << 20},
		"sim:sd-basic,1G":      {Kind: KindSim, Path: "sd-basic", Size: 1 << 30},
		"sim:nvme":             {Kind: KindSim, Path: "nvme"},
		"sim:./my card.toml":   {Kind: KindSim, Path: "./my card.toml"},
		"sim:/a:b/c.toml,512M": {Kind: KindSim, Path: "/a:b/c.toml", Size: 512 << 20},
		"ram:512M":             {Kind: KindRAM, Size: 512 << 20},
		"nand:128M":            {Kind: KindNAND, Size: 128 << 20},
		"nand:64M,page=512,bad=5:6,weak=7/100:9,weakpages=1401/2,grave=3,bitflips=1,cycles=3000": {Kind: KindNAND, Size: 64 << 20,
			Options: map[string]string{"page": "512", "bad": "5:6", "weak": "7/100:9", "weakpages": "1401/2", "grave": "3", "bitflips": "1", "cycles": "3000"}},
		"mtd:/dev/mtd3": {Kind: KindMTD, Path: "/dev/mtd3"},
		"serial:target": {Kind: KindSerial, Path: "target"},
		"serial:a:b, c": {Kind: KindSerial, Path: "a:b, c"},
		"mmc:0":         {Kind: KindMMC, Path: "0"},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Storage{})); d != "" {
			t.Errorf("%s: %s", text, d)
		}
		if got.String() != text {
			t.Errorf("%s is printed as %s", text, got)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "no storage given",
		"sdb":                      "not a path that begins with /",
		"dev/sdb":                  "allowed are /dev/NAME",
		"nand:":                    "there is no number",
		"nand:100M":                "no simulated chip has 100M; there are 8M, 64M, 128M, 256M, 512M, 1G with pages of 2k, and 16M, 32M, 64M, 128M with pages of 512",
		"nand:16M,page=2k":         "no simulated chip has 16M and pages of 2k; there are",
		"nand:256M,page=512":       "no simulated chip has 256M and pages of 512",
		"nand:64M,page=4k":         `option page: "4k" is not 2k or 512`,
		"nand:64M,page=":           "is not 2k or 512",
		"nand:64M,bps=1M":          `unknown option "bps"; allowed are page, bad, weak, weakpages, grave, bitflips, ecc, cycles`,
		"nand:64M,":                "unknown option",
		"nand:64M,bad=1,bad=2":     "option bad is given twice",
		"nand:64M,bad=":            `"" is not the number of a block`,
		"nand:64M,bad=5:5":         "block 5 is named twice",
		"nand:64M,bad=512":         "block 512 is not on the chip, which has 512, from 0 to 511",
		"nand:64M,bad=5/3":         "has no number of times",
		"nand:64M,bad=0x5":         "is not the number of a block",
		"nand:64M,bad=9-3":         "goes backwards",
		"nand:64M,bad=0-511":       "the list is too long",
		"nand:1G,grave=0-524287":   "the list is too long",
		"nand:64M,weak=7/":         "not a whole number from 0",
		"nand:64M,weak=7/-1":       "not a whole number from 0",
		"nand:64M,weakpages=32768": "page 32768 is not on the chip",
		"nand:64M,bitflips=many":   "not a whole number from 0 to 256",
		"nand:64M,ecc=10":          "not a whole number from 1 to 9",
		"nand:16M,ecc=4":           "too few spare bytes",
		"nand:64M,cycles=0":        "not a whole number from 1",
		"mtd:0":                    `"0" is not the path of the flash's node, as in mtd:/dev/mtd3`,
		"mtd:":                     "is not the path",
		"sim:":                     "the model is missing",
		"sim:,1G":                  "the model is missing",
		"sim:card,":                "there is no number",
		"sim:card,big":             "not a whole number",
		"sim:card,1G,2G":           "not a whole number",
		"sim:card,bps=1M":          "not a whole number",
		"ram:1000":                 "multiple of 512",
		"ram:1G,bps=1M":            "takes no options",
		"sim:card,1000":            "multiple of 1 MiB",
		"twin:x":                   `unknown kind "twin"`,
		"tape:1G":                  `unknown kind "tape"`,
		"loop:":                    "there is no number",
		"loop:0":                   "above zero",
		"loop:-1":                  "not a whole number",
		"loop:1.5G":                "fractions",
		"loop:2GB":                 "not a whole number with a known unit",
		"loop:1000":                "multiple of 512",
		"loop:99999999T":           "too large",
		"loop:1G,bps=1M":           "takes no options",
		"sd:1000M":                 "512M or 1G",
		"disk:1G,speed=2":          "allowed are bps, bps_rd, bps_wr, iops, iops_rd, iops_wr",
		"disk:1G,bps=1M,bps=2M":    "twice",
		"disk:1G,bps=1M,bps_rd=2M": "both directions",
		"disk:1G,iops=many":        "requests per second",
		"disk:1G,iops=":            "requests per second",
		"disk:1G,bps":              "there is no number",
		"disk:1G,":                 "unknown option",
		"mmc:":                     "not a number from 0",
		"mmc:-1":                   "not a number from 0",
		"mmc:00":                   "not a number from 0",
		"serial:":                  "serial number is missing",
		"/dev/sd\x00b":             "control characters",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
}

func TestSpecWithoutText(t *testing.T) {
	s := Storage{Kind: KindDisk, Size: 3 << 29, Options: map[string]string{"iops": "5", "bps": "1M"}}
	if got := s.String(); got != "disk:1536M,bps=1M,iops=5" {
		t.Error(got)
	}
	if s.Limit("bps") != 1<<20 || s.Limit("iops") != 5 || s.Limit("iops_rd") != 0 {
		t.Errorf("limits %d %d %d", s.Limit("bps"), s.Limit("iops"), s.Limit("iops_rd"))
	}
}

func TestFormatSize(t *testing.T) {
	for size, want := range map[int64]string{512: "512", 1 << 10: "1K", 3 << 20: "3M", 1<<30 + 1: "1073741825", 5 << 40: "5T", 0: "0"} {
		if got := FormatSize(size); got != want {
			t.Errorf("%d is %s", size, got)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"/dev/sda", "loop:2G", "disk:1G,bps=20M", "sd:1G,iops=5", "sim:card,1G", "sim:a/b.toml", "sim:,", "ram:64M", "serial:x", "mmc:3", "nand:64M,bad=1:2,weak=3/4", "nand:16M,page=512", "mtd:/dev/mtd0", "::", "sd:4611686018427387905K"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if s.String() != text {
			t.Fatalf("%q is printed as %q", text, s)
		}
		s.text = ""
		again, err := Parse(s.String())
		if err != nil {
			t.Fatalf("%q, printed anew as %q: %v", text, s, err)
		}
		if d := cmp.Diff(s, again, cmpopts.IgnoreUnexported(Storage{})); d != "" {
			t.Fatal(d)
		}
		if s.Kind == KindSim && (s.Path == "" || s.Size < 0) {
			t.Fatalf("%q has model %q and size %d", text, s.Path, s.Size)
		}
		// A model has its own size.
		if s.Kind != KindSim && (s.Kind == KindLoop || s.Lab()) && s.Size <= 0 {
			t.Fatalf("%q has size %d", text, s.Size)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1", "2G", "3KiB", "08", "9999999999999T"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSize(text)
		if err != nil {
			return
		}
		if back, err := ParseSize(FormatSize(n)); err != nil || back != n {
			t.Fatalf("%q: %d is written %s and read as %d (%v)", text, n, FormatSize(n), back, err)
		}
	})
}
