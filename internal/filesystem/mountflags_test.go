package filesystem

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMountFlags(t *testing.T) {
	for _, tc := range []struct {
		options string
		flags   uintptr
		data    string
	}{
		{"", 0, ""},
		{"noatime,compress=lzo,ro,ssd", unix.MS_NOATIME | unix.MS_RDONLY, "compress=lzo,ssd"},
		{"ro,rw", 0, ""},
		{"noatime,relatime", unix.MS_RELATIME, ""},
		{"relatime,strictatime", unix.MS_STRICTATIME, ""},
		{"sync,dirsync,nodiratime,lazytime,mand", unix.MS_SYNCHRONOUS | unix.MS_DIRSYNC | unix.MS_NODIRATIME | unix.MS_LAZYTIME | unix.MS_MANDLOCK, ""},
		{"nosuid,nodev,noexec,suid", unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"defaults,x-systemd.automount,nofail,_netdev,data=journal", 0, "data=journal"},
		{"async,sync=1", 0, "sync=1"},
	} {
		flags, data := MountFlags(strings.FieldsFunc(tc.options, func(r rune) bool { return r == ',' }))
		if flags != tc.flags || data != tc.data {
			t.Errorf("%q: %#x %q, want %#x %q", tc.options, flags, data, tc.flags, tc.data)
		}
	}
}

func TestMountData(t *testing.T) {
	if got, want := MountData(parse(t, "erofs -zlz4 -o noacl")), []string{"noacl", "ro"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := MountData(parse(t, "xfs -m crc=1")); len(got) != 0 {
		t.Errorf("%q, want none", got)
	}
}
