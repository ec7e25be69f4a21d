package aftermath

import (
	"os"
	"path/filepath"
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
		if text, ours := l.take(kmsg.Text(record), nil); ours != (want != "") || ours && text != want {
			t.Errorf("%q: %q, %v", record, text, ours)
		}
	}
	if death([]string{"WARNING: CPU: 0 PID: 1 at fs/x.c:5", "EXT4-fs (loop1): error"}) != "" || death([]string{"x", "kernel BUG at fs/ext4/inode.c:5!"}) != "kernel BUG at fs/ext4/inode.c:5!" {
		t.Error("a warning is not the end, and a BUG is")
	}
}

// If nothing else is in use, lines without a device are about the disk, too, except those about a
// device above it.
func TestKernelLinesAlone(t *testing.T) {
	l := kernelLog{own: regexp.MustCompile(`\bloop1\b`), alone: true}
	for line, want := range map[string]string{
		"EXT4-fs (loop1): mounted":                     "EXT4-fs (disk): mounted",
		"jfs_mount: diMount(ipaimap) failed w/rc = -5": "jfs_mount: diMount(ipaimap) failed w/rc = -5",
		"EXT4-fs error (device dm-0): late":            "",
		"EXT4-fs (dm-0): error: late":                  "",
	} {
		if text, ours := l.take(line, nil); ours != (want != "") || ours && text != want {
			t.Errorf("%q: %q, %v", line, text, ours)
		}
	}
}

// A warning that another task's call has met is not this disk's, whatever that
// task is called; one of the kernel's threads or of a task that is gone may be.
func TestWarningOfAnotherTask(t *testing.T) {
	proc := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("31/stat", "31 (a) b (c) R 1 31 31 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 9")
	put("32/stat", "32 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 3 4 0 0 20 0 1 0 9")
	put("33/stat", "33 (odd)")
	put("40/stat", "40 (ours) R 1 31 31 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 9")
	namespace := filepath.Join(proc, "self/ns/pid")
	if err := os.MkdirAll(filepath.Dir(namespace), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pid:[4026531836]", namespace); err != nil {
		t.Fatal(err)
	}
	var c caller
	c.thread.Store(40)
	l := kernelLog{own: regexp.MustCompile(`\bloop1\b`), others: tasks{proc, &c}.others}
	for line, want := range map[string]bool{
		"WARNING: CPU: 0 PID: 31 at fs/ext4/ext4_jbd2.c:79 ext4_journal_check_start+0x9a/0xd0": false,
		"WARNING: fs/ext4/inode.c:10 at ext4_x+0x9a/0xd0, CPU#3: a/b:c/31":                     false,
		"WARNING: CPU: 0 PID: 32 at fs/x.c:5 x+0x1/0x2":                                        true,
		"WARNING: CPU: 0 PID: 33 at fs/x.c:5 x+0x1/0x2":                                        true,
		"WARNING: CPU: 0 PID: 34 at fs/x.c:5 x+0x1/0x2":                                        true,
		"WARNING: CPU: 0 PID: 40 at fs/x.c:5 x+0x1/0x2":                                        true,
		"WARNING: at fs/x.c:5":                                true,
		"kernel BUG at fs/x.c:5!":                             true,
		"EXT4-fs (loop1): error, and PID: 31 is in the words": true,
	} {
		if _, ours := l.take(line, nil); ours != want {
			t.Errorf("%q: ours %v", line, ours)
		}
	}
	if err := os.Remove(namespace); err != nil {
		t.Fatal(err)
	}
	if _, ours := l.take("WARNING: CPU: 0 PID: 31 at fs/x.c:5 x+0x1/0x2", nil); !ours {
		t.Error("PIDs of another namespace were taken for this one's")
	}
}

// A kernel thread's warning is about the device that its report names.
func TestWarningOfWorkOnAnotherDevice(t *testing.T) {
	l := kernelLog{own: regexp.MustCompile(`\bloop1\b`), flush: "flush-7:1", others: func(string) bool { return false }}
	const first, taints, registers = "CPU: 0 UID: 0 PID: 31 Comm: kworker/u8:1 Tainted: G        W           6.18.44 #1 PREEMPT(none)", "Tainted: [W]=WARN", "RIP: 0010:ext4_journal_check_start+0x9a/0xd0"
	for work, want := range map[string]bool{
		"Workqueue: loop6 loop_rootcg_workfn":                                false,
		"Workqueue: loop1 loop_rootcg_workfn":                                true,
		"Workqueue: writeback wb_workfn (flush-7:16)":                        false,
		"Workqueue: writeback wb_workfn (flush-7:1)":                         true,
		"Workqueue: events_unbound x":                                        true,
		"CPU: 1 PID: 9 Comm: jbd2/loop4-8 Not tainted 6.1.0-32-amd64":        false,
		"CPU: 1 PID: 9 Comm: jbd2/loop1-8 Not tainted 6.1.0-32-amd64":        true,
		"EXT4-fs error (device loop6): a line of another disk in between it": true,
	} {
		if _, ours := l.take("WARNING: CPU: 0 PID: 31 at fs/x.c:5 x+0x1/0x2", []string{first, taints, work, registers}); ours != want {
			t.Errorf("%q: ours %v", work, ours)
		}
	}
}
