package machine

import "testing"

func TestStaleCode(t *testing.T) {
	for text, want := range map[string]bool{
		"[    4.745931] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI": true, // Linux 6.12
		"[    4.745931] int3: 0000 [#1] PREEMPT SMP NOPTI":       true, // Linux 6.1
		"[    8.1] Oops: general protection fault: 0000 [#1]":    false,
		"[    8.1] kernel BUG at fs/btrfs/inode.c:1":             false,
	} {
		if got := StaleCode([]string{"[    0.1] Linux", text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
