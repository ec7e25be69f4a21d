package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrecondition(t *testing.T) {
	s := Scenario{{Work: "mkfs", Phase: "mkfs"}, {Work: "mount", Phase: "first-mount"}, {Work: "unmount"}, {Work: "mount", Phase: "mount"}}
	want := Scenario{s[0], s[1], {Work: "precondition", Phase: "precondition"}, s[2], s[3]}
	if d := cmp.Diff(want, Precondition(s)); d != "" {
		t.Error(d)
	}
	if len(s) != 4 || s[2].Work != "unmount" {
		t.Errorf("the scenario itself was changed: %v", s)
	}
	for _, left := range []Scenario{{{Work: "image"}, {Work: "mount"}}, {{Work: "mkfs"}}, nil} {
		if d := cmp.Diff(left, Precondition(left)); d != "" {
			t.Error(d)
		}
	}
}
