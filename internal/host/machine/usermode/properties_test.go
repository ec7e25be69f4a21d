package usermode

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
)

// propertiesScript tries one candidate on the guest's disk: it writes a tree with everything that a
// filesystem may be unable to hold, dates a file, and counts the flushes of an fsync; after
// unmounting and mounting, everything that should be preserved is there, and nothing else. "large"
// is a size that a file cannot have. The fewest flushes of three fsyncs count: others may come from
// concurrent activity.
const propertiesScript = `d=$(for v in /dev/vd?; do [ "$(blockdev --getsize64 $v)" = 536870912 ] && echo ${v#/dev/}; done)
modprobe -aq %s
mkdir -p /tmp/m /tmp/t
flushes() { read -r _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ flushed _ </sys/block/$d/stat; }
names=$(for k in 1 14 15 30 31 60 61 127 128 252 253 254 255; do printf "%%0${k}d " 0; done)
fill() { for y in $years; do : >$1/$y; touch -d "$y-01-15 UTC" $1/$y; done; mkdir $1/c $1/n; : >$1/c/a; : >$1/c/A; : >$1/f
ln -s f $1/s; ln $1/f $1/h; mkfifo $1/p; chown 123:456 $1/f; chmod 741 $1/f; : >$1/q:; for k in $names; do : >$1/n/$k; done; } 2>/dev/null
kept() { [ "$(readlink $1/s)" = f ] && printf 'symlinks '; set -- $1 $(stat -c '%%a %%u %%g %%h' $1/f); [ "$2 $3" = "741 123" ] && printf 'owners '; [ "$4" = 456 ] && printf 'groups '; [ -p $1/p ] && printf 'specials '
[ "$5" = 2 ] && printf 'hardlinks '; k=0; for x in $1/c/*; do k=$((k+1)); done; [ $k = 2 ] && printf 'case '; for x in $1/*; do [ "$x" = $1/q: ] && printf 'colons '; done; }
dates() { for y in $years; do t=$(stat -c %%y $1/$y) && printf '%%s ' ${t%%%%-*}; done; }
longest() { most=; for x in $1/n/*; do x=${x##*/}; [ ${#x} -gt ${most:-0} ] && most=${#x}; done; printf %%s $most; }
own() { for x in $(ls -A $1); do case $x in [cfnsphgl]|q:) ;; *[!0-9]*) printf '%%s ' $x;; esac; done; }
try() { n=$1 fs=$2 o=$3 years=$4 large=$5; shift 5; wipefs -aq /dev/$d; rm -rf /tmp/i /tmp/t/*; case "$*" in */tmp/i*) fill /tmp/t;; esac
"$@" >/tmp/log 2>&1 || { echo "RESULT $n failed $(tail -1 /tmp/log)"; return; }
[ -e /tmp/i ] && dd if=/tmp/i of=/dev/$d conv=fsync 2>/dev/null
mount -t $fs $o /dev/$d /tmp/m 2>/tmp/log || { echo "RESULT $n failed $(tail -1 /tmp/log)"; return; }
few=0; [ -e /tmp/i ] || { fill /tmp/m; [ $large = 0 ] || truncate -s $large /tmp/m/l 2>&1 | sed "s/^/LARGE $n /"; rm -f /tmp/m/l; sync; few=99; for g in 1 2 3; do flushes; a=$flushed; dd if=/dev/zero of=/tmp/m/g bs=4096 count=1 conv=fsync 2>/dev/null; flushes; b=$((flushed-a)); [ $b -lt $few ] && few=$b; done; }
umount /tmp/m; echo 3 >/proc/sys/vm/drop_caches; mount -t $fs $o /dev/$d /tmp/m; echo "RESULT $n $few $(dates /tmp/m)"
echo "HOLDS $n $(kept /tmp/m)"; echo "NAME $n $(longest /tmp/m)"; echo "TOP $n $(own /tmp/m)"; umount /tmp/m; }
`

// What the filesystems' files claim to hold, and to promise about dates and flushes, is compared
// with their tools and the kernel: the last year is kept and the one after it is not, and every
// candidate that is safe in a power loss flushes the device on fsync. Earlier observations are
// confirmed.
func TestProperties(t *testing.T) {
	t.Parallel()
	modules := []string{}
	for _, fs := range filesystem.All {
		if fs.NotMainline == "" {
			modules = slices.Concat(modules, []string{fs.Module}, fs.Codecs[""])
		}
	}
	var script strings.Builder
	fmt.Fprintf(&script, propertiesScript, strings.Join(modules, " "))
	type trial struct {
		triedCandidate
		years []string
		large int64
	}
	var trials []trial
	for _, one := range triedWith(t, "") {
		c := one.c
		fs, until := c.Filesystem(), c.Properties().Dates.Until
		x := trial{one, []string{fmt.Sprint(until), fmt.Sprint(until + 1)}, 0}
		if most := fs.Lacks(c).MaxFile; most > 0 && !fs.ReadOnly {
			x.large = most + 1
		}
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
		fmt.Fprintf(&script, "try %d %s \"%s\" \"%s\" %d %s\n", len(trials), c.FS, options, strings.Join(x.years, " "), x.large, strings.Join(argv, " "))
		trials = append(trials, x)
	}
	said := machinetest.Script(t, theLab(t, Options{}), machine.Spec{Storage: "sim:free,512M", Virtual: true}, script.String())
	lines := func(word string) map[string]string {
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^`+word+` (\d+) (.*?) *$`).FindAllStringSubmatch(said, -1) {
			found[m[1]] = m[2]
		}
		return found
	}
	results, held, names, tops, large := lines("RESULT"), lines("HOLDS"), lines("NAME"), lines("TOP"), lines("LARGE")
	for i, x := range trials {
		n := fmt.Sprint(i)
		flushes, dates, _ := strings.Cut(results[n], " ")
		p := x.c.Properties()
		if flushes == "" || flushes == "failed" {
			t.Errorf("%s: %v", x.c, results[n])
			continue
		}
		found := strings.Fields(dates)
		for k, year := range x.years {
			if kept := k < len(found) && found[k] == year; kept != (k == 0) {
				t.Errorf("%s: files of %v are of %v after mounting again; dates are said to go until %d", x.c, x.years, found, p.Dates.Until)
			}
		}
		fs, lacks := x.c.Filesystem(), x.c.Filesystem().Lacks(x.c)
		if want := strings.Join(lacks.Holds(), " "); held[n] != want {
			t.Errorf("%s holds %q; it is said to hold %q", x.c, held[n], want)
		}
		if want, ok := x.Get("name"); ok && names[n] != want {
			t.Errorf("%s keeps names of %s bytes; before it was %s", x.c, names[n], want)
		}
		for _, name := range strings.Fields(tops[n]) {
			if !slices.Contains(fs.Own, name) {
				t.Errorf("%s has %q at its top, which is not said to be its own", x.c, name)
			}
		}
		if x.large > 0 && !strings.Contains(large[n], "File too large") {
			t.Errorf("%s: a file of %d bytes: %q", x.c, x.large, large[n])
		}
		if fs.ReadOnly {
			continue
		}
		if flushed := flushes != "0"; p.PowerLoss.Has && !flushed || strings.Contains(p.PowerLoss.Why, "flush") && flushed {
			t.Errorf("%s flushes the device %s times for one fsync; it is said that it %s", x.c, flushes, p.PowerLoss.Why)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}
