package agent

import (
	"errors"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/plan/media"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/target/storage"
)

func theChip(t *testing.T, text string) *simulatedChip {
	t.Helper()
	spec, err := media.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	chip, err := spec.NAND()
	if err != nil {
		t.Fatal(err)
	}
	return &simulatedChip{whole: chip, chip: chip}
}

// A block device is neither partitioned nor given faults.
func TestCutOfBlockDevice(t *testing.T) {
	a := &Agent{claim: &storage.Claim{}}
	if err := a.cut(filesystem.Candidate{}, scenario.Variant{Mount: []string{"noatime"}}); err != nil {
		t.Error(err)
	}
	for _, v := range []scenario.Variant{{Size: 8 << 20}, {Chip: "bitflips=1"}} {
		var f *result.Failure
		if err := a.cut(filesystem.Candidate{}, v); !errors.As(err, &f) || f.Outcome != result.Unsupported || !strings.Contains(f.Reason, "only a simulated raw chip") {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// Impossible requests are refused before the existing chip is touched.
func TestCutRefuses(t *testing.T) {
	a := &Agent{raw: true, chip: theChip(t, "nand:64M")}
	for says, v := range map[string]scenario.Variant{
		"is not a multiple of the chip's erase blocks": {Size: 8<<20 + 1},
		"does not fit on a chip of 64M":                {Size: 65 << 20},
		"unknown option":                               {Chip: "worse=1"},
		"is not on the chip":                           {Chip: "bad=512"},
		"parts of a block device":                      {Part: &scenario.Part{}},
	} {
		c, err := filesystem.Parse("jffs2")
		if err != nil {
			t.Fatal(err)
		}
		var f *result.Failure
		if err := a.cut(c, v); !errors.As(err, &f) || f.Outcome != result.Refused || !strings.Contains(f.Reason, says) {
			t.Errorf("%+v: %v", v, err)
		}
	}
	if a.chip.size != 0 || a.chip.bytes() != 64<<20 {
		t.Errorf("the chip became %+v", a.chip)
	}
	a.chip.size = 8 << 20
	if a.chip.bytes() != 8<<20 {
		t.Errorf("a partition of 8 MiB has %d bytes", a.chip.bytes())
	}
}

func TestWritable(t *testing.T) {
	const signed = "~Module signature appended~\n"
	for says, file := range map[string]string{
		"bad magic":              "this is certainly no module of any kernel",
		"bad magic number '[115": "short\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff" + signed, // its signature is longer than the file
		"bad magic number '[116": "this is not a module, but it is signed" + "abc" + strings.Repeat("\x00", 11) + "\x03" + signed,
	} {
		if _, err := writable([]byte(file), changeable...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

// A nil chip is not marked.
func TestTouchedChipCountsAsUsed(t *testing.T) {
	var none *simulatedChip
	none.touched()
	c := theChip(t, "nand:64M")
	if c.touched(); !c.used {
		t.Error("a trial had the chip, and it counts as new")
	}
}

func TestChipNoise(t *testing.T) {
	for text, want := range map[string]bool{
		"kernel: [nandsim] warning: read_byte: unexpected data output cycle, state is STATE_READY return 0x0": true,
		"kernel: [nandsim] warning: simulating read error in page 7":                                          false,
		"kernel: [nandsim] warning: simulating erase failure in erase block 3":                                false,
	} {
		if chipNoise(result.Note{Text: text}) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
