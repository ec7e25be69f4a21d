package filesystem

import (
	"strings"
	"testing"
)

func TestVerifyMinix(t *testing.T) {
	verifyFixture(t, "minix", "-1 -2 -3 -n 30 -n 14 -i 21856 -i 100 -c", yes, alt, alt, yes, alt, yes, alt, unv)
	verifyFixture(t, "minix-14", "-1 --namelength=14 -n 30", yes, yes, alt)
	verifyFixture(t, "minix-2", "-2 -v -1 -i 1000 --inodes=2000 --lock=yes", yes, yes, alt, yes, alt, unv)
	verifyFixture(t, "minix-3", "-3 -2 -n 60", yes, alt, yes)
	c := parse(t, "minix -o noatime,compress=lzo")
	for i, o := range c.Filesystem().Verify(c, Evidence{Mount: []string{"rw", "noatime"}}) {
		if want := []any{yes, ign}[i]; o.State != want {
			t.Errorf("%+v, want %v", o, want)
		}
	}
	if _, err := Parse("minix -l /tmp/blocks"); err == nil {
		t.Error("mkfs.minix may read any file")
	}
}

// Its limits follow the version.
func TestMinixVersions(t *testing.T) {
	for line, want := range map[string]struct {
		name, group int
		file        int64
	}{
		"minix": {30, 255, 268966912}, "minix -1 -n 14": {14, 255, 268966912}, "minix -2": {30, 65535, 1<<31 - 1},
		"minix -v --namelength 14": {14, 65535, 1<<31 - 1}, "minix -3": {60, 65535, 1<<31 - 1}, "minix -3 -1": {30, 255, 268966912},
	} {
		lacks := minixLacks(parse(t, line))
		if !lacks.Name(strings.Repeat("x", want.name)) || lacks.Name(strings.Repeat("x", want.name+1)) ||
			lacks.MaxGroup != uint32(want.group) || lacks.MaxFile != want.file {
			t.Errorf("%s: %+v, want %+v", line, lacks, want)
		}
	}
}

// mkfs.minix silently uses only a part of larger storage.
func TestMinixMisfit(t *testing.T) {
	for _, x := range []struct {
		line         string
		size         int64
		reason, hint string
	}{
		{"minix", 64 * mib, "", ""},
		{"minix", gib, "minix fills at most 64 MiB, this storage has 1024 MiB", "give it the mkfs option -2 (or -3, on up to 15 GiB), or storage of 64 MiB or less"},
		{"minix -2", gib, "", ""},
		{"minix -2", 480 * gib, "minix -2 fills at most 479 GiB, this storage has 480 GiB", "give it the mkfs option -i 1000, or storage of 479 GiB or less"},
		{"minix -3", 15 * gib, "", ""},
		{"minix -3", 16 * gib, "minix -3 fills at most 15 GiB, this storage has 16 GiB", "give it the mkfs option -i 65535, or storage of 15 GiB or less"},
		{"minix -3 -i 65535", 16 * gib, "", ""},
		{"minix -3 -i 1000", tib, "minix -3 -i 1000 fills at most 511 GiB, this storage has 1 TiB", "give storage of 511 GiB or less"},
		{"minix", 8 * kib, "minix needs at least 10 KiB, this storage has 8 KiB", "give storage of 10 KiB or more"},
	} {
		if reason, hint := parse(t, x.line).Misfit(x.size); reason != x.reason || hint != x.hint {
			t.Errorf("%s on %d bytes: %q, %q", x.line, x.size, reason, hint)
		}
	}
}
