package qemu

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/machine"
)

// propertiesScript tries one candidate on the guest's disk: a file is dated, an
// fsync sends flushes to the device or none, and after unmounting and mounting
// the date is there or another one.
const propertiesScript = `# What is typed before the shell reads is lost in part: this line is for that.
d=$(for v in /dev/vd?; do [ "$(blockdev --getsize64 $v)" = 536870912 ] && echo ${v#/dev/}; done)
modprobe -aq virtio_blk ext4 xfs btrfs f2fs nilfs2 jfs reiserfs vfat exfat squashfs erofs nls_cp437 nls_ascii
mkdir -p /tmp/m /tmp/t
flushes() { awk '{print $16}' /sys/block/$d/stat; }
try() { n=$1 fs=$2 o=$3 years=$4; shift 4; wipefs -aq /dev/$d; rm -rf /tmp/i /tmp/t/*; for y in $years; do : >/tmp/t/$y; touch -d "$y-01-15 UTC" /tmp/t/$y; done
"$@" >/tmp/log 2>&1 || { echo "RESULT $n failed $(tail -1 /tmp/log)"; return; }
[ -e /tmp/i ] && dd if=/tmp/i of=/dev/$d conv=fsync 2>/dev/null
mount -t $fs $o /dev/$d /tmp/m 2>/tmp/log || { echo "RESULT $n failed $(tail -1 /tmp/log)"; return; }
a=0 b=0; [ -e /tmp/i ] || { cp -p /tmp/t/* /tmp/m/; sync; a=$(flushes); dd if=/dev/zero of=/tmp/m/g bs=4096 count=1 conv=fsync 2>/dev/null; b=$(flushes); }
umount /tmp/m; echo 3 >/proc/sys/vm/drop_caches; mount -t $fs $o /dev/$d /tmp/m; echo "RESULT $n $((b-a)) $(for y in $years; do stat -c %y /tmp/m/$y | cut -d- -f1; done | tr '\n' ' ')"; umount /tmp/m; }
`

// What filesystems are said to promise of dates and of flushing is held against
// their tools and the kernel: the last year is kept and the one after it is
// not, and whatever is safe when the power fails flushes the device on fsync.
func TestProperties(t *testing.T) {
	t.Parallel()
	// Those for raw flash alone are tried on a chip (TestRawDates).
	names := slices.DeleteFunc(filesystem.Names(), func(name string) bool { fs, _ := filesystem.ByName(name); return fs.Raw })
	lines := append(names, "ext4 -I 128", "ext4 -o nobarrier", "xfs -m bigtime=0", "btrfs -o nobarrier",
		"f2fs -o nobarrier", "f2fs -o fsync_mode=nobarrier", "nilfs2 -o nobarrier", "reiserfs -o barrier=none")
	var script strings.Builder
	script.WriteString(propertiesScript)
	type trial struct {
		c     filesystem.Candidate
		years []string
	}
	var trials []trial
	for _, line := range lines {
		c, err := filesystem.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		fs, until := c.Filesystem(), c.Properties().Dates.Until
		x := trial{c, []string{fmt.Sprint(until), fmt.Sprint(until + 1)}}
		if until > 9999 {
			x.years = []string{"9999"}
		}
		var argv []string
		if fs.Image != nil {
			argv = fs.Image(c, "/tmp/i", "/tmp/t")
		} else {
			argv = fs.Make(c, "/dev/$d")
		}
		options := ""
		if words := filesystem.MountData(c); len(words) > 0 {
			options = "-o" + strings.Join(words, ",")
		}
		fmt.Fprintf(&script, "try %d %s \"%s\" \"%s\" %s\n", len(trials), c.FS, options, strings.Join(x.years, " "), strings.Join(argv, " "))
		trials = append(trials, x)
	}
	script.WriteString("exit\n")
	var out bytes.Buffer
	if err := theLab(t, Options{}).Shell(t.Context(), strings.NewReader(script.String()), &out, machine.Spec{Storage: "disk:512M"}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	results := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:.*# )?RESULT (\d+) (\S+) (.*?)\r?$`).FindAllStringSubmatch(out.String(), -1) {
		results[m[1]] = m[2:]
	}
	for i, x := range trials {
		got := results[fmt.Sprint(i)]
		p := x.c.Properties()
		if got == nil || got[0] == "failed" {
			t.Errorf("%s: %v", x.c, got)
			continue
		}
		found := strings.Fields(got[1])
		for k, year := range x.years {
			if kept := k < len(found) && found[k] == year; kept != (k == 0) {
				t.Errorf("%s: files of %v are of %v after mounting again; dates are said to go until %d", x.c, x.years, found, p.Dates.Until)
			}
		}
		if x.c.Filesystem().ReadOnly {
			continue
		}
		if flushed := got[0] != "0"; p.PowerLoss.Has && !flushed || strings.Contains(p.PowerLoss.Why, "flush") && flushed {
			t.Errorf("%s flushes the device %s times for one fsync; it is said that it %s", x.c, got[0], p.PowerLoss.Why)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
