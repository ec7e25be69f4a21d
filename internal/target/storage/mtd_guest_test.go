package storage_test

import (
	"fmt"
	"strings"
	"testing"

	"whichfs/internal/host/lab/labtest"
	"whichfs/internal/host/machine/qemu/qemutest"
)

// asked are questions to the guard in a guest with real drivers, filesystems and UBI on simulated
// flash, each after some shell commands.
var asked = []struct{ before, storage, destroy, want string }{
	{storage: "mtd:/dev/mtd0", want: "no such device; see whichfs list storage"},
	{storage: "nand:128M", want: "the kernel does not list it as raw flash (MTD): such storage exists only in the lab; use --machine lab"},
	{before: "modprobe nandsim id_bytes=0xec,0xa1,0x00,0x15 parts=64,128 badblocks=5,6 weakblocks=9:0; modprobe mtdram total_size=4096 erase_size=128",
		storage: "mtd:/dev/mtd0", want: "it is blank as far as the first pages of its 62 good erase blocks show; to destroy everything on it, add --destroy '" + name0 + "'"},
	{storage: "mtd:/dev/mtd0", destroy: name0, want: "raw true, emptied (61 erase blocks were erased, 2 are bad, 1 could not be erased and keep their contents " +
		"(the first: /dev/mtd0: erasing block 9: input/output error), <nil>), sentinel the timing of a simulated chip is configured"},
	{storage: "mtd:/dev/mtd3", destroy: name3, want: "raw true, emptied (, <nil>), sentinel took time, recheck <nil>, close <nil>"},
	{storage: "mtd:/dev/mtd3", want: "it is blank"}, // the sentinel left nothing behind
	{storage: "nand:16M", want: "the simulated chip has 8388608 B, pages of 2048"},
	{storage: "mtd:/dev/mtd0ro", want: "it is the read-only node of the flash; write mtd:/dev/mtd0"},
	{storage: "mtd:/dev/vda", want: "it is a block device, not raw flash; write --storage /dev/vda"},
	{storage: "/dev/mtd0", want: "it is raw flash, not a block device; write mtd:/dev/mtd0"},
	{before: "mkdir -p /m; mount -t jffs2 mtd0 /m; echo text > /m/file; sync",
		storage: "mtd:/dev/mtd0", want: "it is mounted at /m (jffs2); unmount it first: umount /m"},
	{storage: "mtd:/dev/mtd0", destroy: name0, want: "it is mounted at /m (jffs2); unmount it first: umount /m"},
	{storage: "nand:128M", want: "it is mounted at /m (jffs2)"},
	{before: "umount /m", storage: "mtd:/dev/mtd0", want: "it holds jffs2 (in 1 of 6"},
	{storage: "mtd:/dev/mtd0", want: "to destroy everything on it, add --destroy '" + name0 + "'"},
	{storage: "mtd:/dev/mtd0", destroy: "mtd:NAND simulator partition 0/16M", want: "does not name this flash"},
	{storage: "mtd:/dev/mtd1", destroy: name0, want: "does not name this flash"},
	{storage: "mtd:/dev/mtd0", destroy: name0, want: "raw true, emptied ("},
	{storage: "mtd:/dev/mtd0", want: "it is blank"},
	{before: "modprobe ubi; ubiformat -q -y /dev/mtd1; ubiattach -p /dev/mtd1 >/dev/null",
		storage: "mtd:/dev/mtd1", destroy: name1, want: "it is attached to UBI as ubi0; unmount its volumes and detach it first: ubidetach -m 1"},
	{before: "ubimkvol /dev/ubi0 -N data -m >/dev/null; mount -t ubifs ubi0:data /m",
		storage: "mtd:/dev/mtd1", destroy: name1, want: "it is attached to UBI as ubi0, with a volume mounted at /m"},
	{before: "umount /m; ubidetach -p /dev/mtd1", storage: "mtd:/dev/mtd1", want: "it holds UBI (in 128 of 128 good erase blocks, the first is number 0)"},
	{storage: "mtd:/dev/mtd1", destroy: name1, want: "raw true, emptied (, <nil>)"},
	{before: "modprobe mtdblock", storage: "/dev/mtdblock0", want: "it is raw flash behind a block device; write mtd:/dev/mtd0"},
	{storage: "mtd:/dev/mtdblock0", want: "it is the block device on top of the flash; write mtd:/dev/mtd0"},
	{before: "mkswap /dev/mtdblock3 >/dev/null; swapon /dev/mtdblock3", storage: "mtd:/dev/mtd3", want: "it is in use as swap"},
	{before: "swapoff /dev/mtdblock3", storage: "mtd:/dev/mtd3", want: "it holds swap"},
}

const (
	name0 = "mtd:NAND simulator partition 0/8M"
	name1 = "mtd:NAND simulator partition 1/16M"
	name3 = "mtd:mtdram test device/4M"
)

func TestFlashInGuest(t *testing.T) {
	t.Parallel()
	script := ""
	for i, q := range asked {
		script += fmt.Sprintf("%s\nWHICHFS_TEST_HELPER='guard %d %s %s' /tmp/t </dev/null\n", q.before, i, q.storage, q.destroy)
	}
	screen := qemutest.Play(t, labtest.Program(t, "whichfs/internal/target/storage"), "disk:1M", script)
	answers := map[string]string{}
	for _, line := range strings.Split(screen, "\n") {
		if number, text, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(number, "answer ") {
			answers[number] = text
		}
	}
	for i, q := range asked {
		if got := answers[fmt.Sprintf("answer %d", i)]; !strings.Contains(got, q.want) {
			t.Errorf("%s %s after %q:\n%q, want\n%q", q.storage, q.destroy, q.before, got, q.want)
		}
	}
	if t.Failed() {
		t.Logf("the same by hand: whichfs lab shell\n%s", screen)
	}
}
