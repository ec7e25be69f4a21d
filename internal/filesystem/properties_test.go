package filesystem

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every filesystem gives a reason and a source for every property, and its dates are those of the
// facts table.
func TestPropertiesContract(t *testing.T) {
	for _, line := range slices.Concat(Names(), studyCandidates, flashCandidates) {
		c := parse(t, line)
		if c.Filesystem().Properties == nil {
			t.Fatalf("%s has no properties", line)
		}
		p := c.Properties()
		for name, one := range map[string]Property{
			"power loss": p.PowerLoss, "compression": p.Compression, "encryption": p.Encryption,
			"checksums": p.Checksums, "metadata checksums": p.MetaChecksums, "journal": p.Journal,
		} {
			if one.Why == "" || one.Source == "" || one.Has && one.With != "" {
				t.Errorf("%s: %s: %+v", line, name, one)
			}
			if strings.HasSuffix(one.Why, ".") || strings.ToLower(one.Why[:1]) != one.Why[:1] {
				t.Errorf("%s: %s: %q is no clause", line, name, one.Why)
			}
		}
		if p.Checksums.Has && !p.MetaChecksums.Has {
			t.Errorf("%s: checksums of data and none of metadata", line)
		}
		if p.Dates.Why == "" || p.Dates.Source == "" {
			t.Errorf("%s: %+v", line, p.Dates)
		}
		if year, _, _ := strings.Cut(c.Filesystem().Facts.DatesUntil, " "); year != strconv.FormatInt(p.Dates.Until, 10) {
			t.Errorf("%s: dates until %d, the facts say %s", line, p.Dates.Until, year)
		}
		if (c.Filesystem().Facts.Compression == "") != (!p.Compression.Has && p.Compression.With == "") {
			t.Errorf("%s: compression %+v, the facts say %q", line, p.Compression, c.Filesystem().Facts.Compression)
		}
		if c.Filesystem().Facts.Encryption != (p.Encryption.Has || p.Encryption.With != "") {
			t.Errorf("%s: encryption %+v, the facts say %v", line, p.Encryption, c.Filesystem().Facts.Encryption)
		}
	}
}

// The options listed for a property do provide it.
func TestOptionsProvideTheProperty(t *testing.T) {
	tried := 0
	for _, line := range slices.Concat(Names(), studyCandidates, flashCandidates) {
		for name, of := range map[string]func(Properties) Property{
			"compression":        func(p Properties) Property { return p.Compression },
			"encryption":         func(p Properties) Property { return p.Encryption },
			"metadata checksums": func(p Properties) Property { return p.MetaChecksums },
		} {
			c := parse(t, line)
			with := of(c.Properties()).With
			if with == "" {
				continue
			}
			tried++
			if more := parse(t, line+" "+with); !of(more.Properties()).Has {
				t.Errorf("%s: %s does not give %s", line, with, name)
			}
		}
	}
	if tried < 5 {
		t.Errorf("%d were tried", tried)
	}
}

// The effect of options, as one letter each: power loss, compression, encryption, checksums,
// checksums of metadata, journal.
func TestPropertiesByOptions(t *testing.T) {
	for line, want := range map[string]string{
		"ext2": "------ 2446", "ext2 -O has_journal": "P----J 2446", "ext2 -j": "P----J 2446", "ext2 -I 128": "------ 2038",
		"ext3": "P----J 2446", "ext4": "P---MJ 2446", "ext4 -T hurd": "P---MJ 2038", "ext4 -J device=memory": "----MJ 2446", "ext4 -T hurd -I 256": "P---MJ 2446",
		"ext4 -I 128": "P---MJ 2038", "ext4 -O ^has_journal": "----M- 2446", "ext4 -O none": "------ 2446",
		"ext4 -O none,has_journal": "P----J 2446", "ext4 -O encrypt,^metadata_csum": "P-E--J 2446",
		"ext4 -o nobarrier": "----MJ 2446", "ext4 -o barrier=0,barrier=1": "P---MJ 2446", "ext4 -o noatime,barrier=0": "----MJ 2446",
		"xfs": "P---MJ 2486", "xfs -m bigtime=0": "P---MJ 2038", "xfs -m crc=0": "P----J 2038", "xfs -m crc=0,finobt=0": "P----J 2038",
		"btrfs": "P--CM- 292277026596", "btrfs -o compress=lzo": "PC-CM- 292277026596", "btrfs -o compress": "PC-CM- 292277026596",
		"btrfs -o compress-force=zstd:3": "PC-CM- 292277026596", "btrfs -o compress=lzo,compress=no": "P--CM- 292277026596",
		"btrfs -o nodatacow": "P---M- 292277026596", "btrfs -o nodatasum": "P---M- 292277026596", "btrfs -o compress=lzo,nodatacow": "P---M- 292277026596",
		"btrfs -o nodatacow,compress=lzo": "PC-CM- 292277026596", "btrfs -o nodatacow,datasum": "P--CM- 292277026596", "btrfs -o nobarrier": "---CM- 292277026596",
		"f2fs": "P----- 292277026596", "f2fs -O extra_attr,compression": "P----- 292277026596",
		"f2fs -o compress_extension=*": "P----- 292277026596", "f2fs -O extra_attr,compression -o compress_extension=*": "PC---- 292277026596",
		"f2fs -O encrypt": "P-E--- 292277026596", "f2fs -O extra_attr,inode_checksum": "P---M- 292277026596",
		"f2fs -o nobarrier": "------ 292277026596", "f2fs -o fsync_mode=nobarrier": "------ 292277026596", "f2fs -o checkpoint=disable:10%": "------ 292277026596",
		"nilfs2": "P----- 292277026596", "nilfs2 -o nobarrier": "------ 292277026596",
		"jfs": "-----J 2106", "reiserfs": "P----J 2106", "reiserfs -o barrier=none": "-----J 2106", "reiserfs -o nolog": "------ 2106",
		"vfat": "------ 2107", "exfat": "------ 2107",
		"jffs2": "PC-CM- 2106", "jffs2 -o compr=none": "P--CM- 2106", "jffs2@image -m none": "P--CM- 2106", "jffs2 -m none": "PC-CM- 2106",
		"ubifs": "PC-CM- 292277026596", "ubifs -x none": "P--CM- 292277026596", "ubifs -x none -o compr=zlib": "PC-CM- 292277026596",
		"ubifs -o compr=none": "P--CM- 292277026596", "ubifs -o no_chk_data_crc": "PC--M- 292277026596",
		"squashfs": "PC---- 2106", "squashfs -comp xz": "PC---- 2106", "squashfs -noD": "P----- 2106",
		"erofs": "P----- 292277026596", "erofs -zlz4hc,12": "PC---- 292277026596",
	} {
		p := parse(t, line).Properties()
		got := ""
		for i, one := range []Property{p.PowerLoss, p.Compression, p.Encryption, p.Checksums, p.MetaChecksums, p.Journal} {
			if one.Has {
				got += "PCECMJ"[i : i+1]
			} else {
				got += "-"
			}
		}
		if got += " " + strconv.FormatInt(p.Dates.Until, 10); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
