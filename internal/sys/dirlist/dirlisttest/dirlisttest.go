// Package dirlisttest has directories be listed as damaged ones are.
package dirlisttest

import (
	"testing"

	"golang.org/x/sys/unix"

	"whichfs/internal/sys/dirlist"
)

// Parent is the entry "..", a struct linux_dirent64.
const Parent = "\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x18\x00\x04..\x00\x00\x00"

// Gives has every system call that lists a directory give the same entries, until the test ends. A
// caller that goes on and on fails the test. Parent is what JFS gives whose root directory has lost
// a page.
func Gives(t testing.TB, entries string) {
	t.Helper()
	was, calls := dirlist.Getdents, 0
	t.Cleanup(func() { dirlist.Getdents = was })
	dirlist.Getdents = func(_ int, buf []byte) (int, unix.Errno) {
		if calls++; calls > 100 {
			t.Fatal("it goes on")
		}
		return copy(buf, entries), 0
	}
}
