package storage

import (
	"strings"
	"testing"
)

// Cards are what can be plugged in and is not in use.
func TestCards(t *testing.T) {
	for fixed, want := range map[string]string{"sata": "", "nvme": "", "virtio": "", "usb-twins": "sdc sdd", "sd-card": "mmcblk0"} {
		r := fixture(t, fixed)
		shows := func(want string) {
			t.Helper()
			cards, err := Cards(r)
			var names []string
			for _, c := range cards {
				names = append(names, strings.TrimPrefix(c.Path, r.Dev+"/"))
			}
			if got := strings.Join(names, " "); err != nil || got != want {
				t.Errorf("%s: %q, want %q: %v", fixed, got, want, err)
			}
		}
		shows(want)
		if fixed == "sd-card" {
			put(t, r.Proc+"/self/mountinfo", "27 1 179:1 / / rw - ext4 /dev/mmcblk0p1 rw\n", "")
			shows("")
		}
	}
}
