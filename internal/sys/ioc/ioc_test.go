package ioc

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The numbers are those of x/sys/unix, which has them from the kernel's headers, for the architecture of this test.
func TestNumbers(t *testing.T) {
	for name, c := range map[string]struct{ got, want uintptr }{
		"BLKPG":              {None(0x12, 105), unix.BLKPG},
		"BLKGETSIZE64":       {Read(0x12, 114, wordSize), unix.BLKGETSIZE64},
		"MEMERASE":           {Write('M', 2, 8), unix.MEMERASE},
		"DM_TABLE_LOAD":      {ReadWrite(0xfd, 9, unix.SizeofDmIoctl), unix.DM_TABLE_LOAD},
		"FS_IOC_SETFLAGS":    {Write('f', 2, wordSize), unix.FS_IOC_SETFLAGS},
		"RNDADDTOENTCNT":     {Write('R', 1, 4), unix.RNDADDTOENTCNT},
		"UBI, _IOW('o', 64)": {Write('o', 64, 24), ubiAttach},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", name, c.got, c.want)
		}
	}
}

const wordSize = 4 << (^uintptr(0) >> 63)

// ubiAttach is UBI_IOCATT as gcc compiles it for amd64.
const ubiAttach = 0x40186f40
