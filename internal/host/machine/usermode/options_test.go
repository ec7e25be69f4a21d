package usermode

import (
	"strings"
	"testing"

	"whichfs/internal/filesystem"
	"whichfs/internal/host/machine"
	"whichfs/internal/host/machine/machinetest"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// Wrong options yield the tools' and the kernel's own error messages.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	s := begin(t, theLab(t, Options{}), machine.Spec{Storage: fastDisk, Data: machinetest.TinyData(t)})
	st := study.Bootlin2023()
	scale := st.Scales["quick"]
	for _, x := range []struct {
		candidate string
		outcome   result.Outcome
		phase     string
		reason    string
		option    string
		state     result.OptionState
	}{
		{"ext4 -Q", result.SubjectFailed, "mkfs", "invalid option -- 'Q'", "", ""},
		{"ext4 -O nosuchfeature", result.SubjectFailed, "mkfs", "Invalid filesystem option set: nosuchfeature", "", ""},
		{"f2fs -O nosuchfeature", result.SubjectFailed, "mkfs", "Wrong features nosuchfeature", "", ""},
		{"ext4 -o nosuchoption", result.SubjectFailed, "first-mount", "Unknown parameter 'nosuchoption'", "", ""},
		{"xfs -o nosuchoption", result.SubjectFailed, "first-mount", "Unknown parameter 'nosuchoption'", "", ""},
		{"btrfs -o nosuchoption", result.SubjectFailed, "first-mount", "unrecognized mount option 'nosuchoption'", "", ""},
		{"vfat -o nosuchoption", result.SubjectFailed, "first-mount", `Unrecognized mount option "nosuchoption"`, "", ""},
		{"xfs -b size=16k", result.Unsupported, "first-mount", "blocks of 16 KiB are larger than this kernel's pages of 4 KiB: mount -t xfs: function not implemented", "", ""},
		{"nilfs2 -b 8192", result.Unsupported, "mkfs", "blocks of 8 KiB are larger than this kernel's pages of 4 KiB: mkfs.nilfs2 (exit status 1)", "", ""},
		{"squashfs -comp lzma", result.SubjectFailed, "mount", `uses "lzma" compression. This is not supported`, "", ""},
		{"btrfs -o compress=lzo:3", result.Done, "", "", "-o compress=lzo:3", result.Altered},
		{"f2fs -o compress_algorithm=lz4", result.Done, "", "", "-o compress_algorithm=lz4", result.Ignored},
		{"erofs -Enosuchthing", result.Done, "", "", "-Enosuchthing", result.Ignored},
	} {
		t.Run(strings.ReplaceAll(x.candidate, " ", "_"), func(t *testing.T) {
			c, err := filesystem.Parse(x.candidate)
			if err != nil {
				t.Fatal(err)
			}
			got := machinetest.CarryOut(t, s, x.candidate, st.Scenario(c.Filesystem().ReadOnly, scale))
			if d := got.Done; d.Outcome != x.outcome || d.Phase != x.phase || !strings.Contains(d.Reason, x.reason) {
				t.Errorf("%+v", d)
			}
			seen := false
			for _, o := range got.Options {
				seen = true
				if o.Text != x.option || o.State != x.state {
					t.Errorf("option %+v", o)
				}
			}
			if seen != (x.option != "") {
				t.Errorf("options %v", got.Options)
			}
		})
	}
}
