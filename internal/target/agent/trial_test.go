package agent

import (
	"errors"
	"testing"

	"whichfs/internal/result"
	"whichfs/internal/target/workload"
)

func TestFailureQuotesKernelMessages(t *testing.T) {
	notes := []result.Note{
		{Level: result.Warning, Text: "kernel: of the phase before"},
		{Phase: "mount", Level: result.Info, Text: "2 kernel threads ended"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: ext4: Unknown parameter 'x'"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: two"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: three"},
		{Phase: "mount", Level: result.Warning, Text: "kernel: four"},
	}
	failed := workload.Subject("mount: invalid argument")
	for _, c := range []struct {
		err   error
		notes []result.Note
		want  string
	}{
		{failed, notes, "mount: invalid argument (the kernel: ext4: Unknown parameter 'x'; two; three)"},
		{failed, notes[:2], "mount: invalid argument"},
		{result.Refuse("", "no room"), notes, "no room"},
		{errors.New("a fault of ours"), notes, "a fault of ours"},
	} {
		if got := withKernel(c.err, c.notes).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if failed.Reason != "mount: invalid argument" {
		t.Errorf("the failure itself was changed: %q", failed.Reason)
	}
}
