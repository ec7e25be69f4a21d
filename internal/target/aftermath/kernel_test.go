package aftermath

import (
	"regexp"
	"testing"

	"whichfs/internal/sys/kmsg"
)

func TestKernelLinesOfOneDevice(t *testing.T) {
	l := kernelLog{own: regexp.MustCompile(`\bloop1\b`)}
	for record, want := range map[string]string{
		"6,100,5,-;EXT4-fs (loop1): recovery complete\n SUBSYSTEM=x\n":   "EXT4-fs (disk): recovery complete",
		"3,101,5,-;JBD2: journal transaction 5 on loop1-8 is corrupt.\n": "JBD2: journal transaction 5 on disk-8 is corrupt.",
		"6,102,5,-;EXT4-fs (loop12): recovery complete\n":                "",
		"6,103,5,-;EXT4-fs (loop2): recovery complete\n":                 "",
		"4,104,5,-;hrtimer: interrupt took 5 ns\n":                       "",
		"1,105,5,-;BUG: kernel NULL pointer dereference, address: 0\n":   "BUG: kernel NULL pointer dereference, address: 0",
		"nonsense": "",
	} {
		if text, ours := l.take(kmsg.Text(record)); ours != (want != "") || ours && text != want {
			t.Errorf("%q: %q, %v", record, text, ours)
		}
	}
	if death([]string{"WARNING: CPU: 0 PID: 1 at fs/x.c:5", "EXT4-fs (loop1): error"}) != "" || death([]string{"x", "kernel BUG at fs/ext4/inode.c:5!"}) != "kernel BUG at fs/ext4/inode.c:5!" {
		t.Error("a warning is not the end, and a BUG is")
	}
}

// Where nothing else is in use, lines without a device are the disk's as well, but
// for those about a device above it.
func TestKernelLinesAlone(t *testing.T) {
	l := kernelLog{own: regexp.MustCompile(`\bloop1\b`), alone: true}
	for line, want := range map[string]string{
		"EXT4-fs (loop1): mounted":                     "EXT4-fs (disk): mounted",
		"jfs_mount: diMount(ipaimap) failed w/rc = -5": "jfs_mount: diMount(ipaimap) failed w/rc = -5",
		"EXT4-fs error (device dm-0): late":            "",
		"EXT4-fs (dm-0): error: late":                  "",
	} {
		if text, ours := l.take(line); ours != (want != "") || ours && text != want {
			t.Errorf("%q: %q, %v", line, text, ours)
		}
	}
}
