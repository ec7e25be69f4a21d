package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a filesystem has lived through comes before the phase, and is changed like the other steps.
func TestEarlierSteps(t *testing.T) {
	s := Scenario{{Work: "mkfs", Phase: "mkfs"}, {Work: "meta-create", Phase: "create", Files: 100}, {Work: "meta-create", Phase: "create", Files: 200}}
	v := Variant{Name: "aged", Earlier: Scenario{{Work: "meta-create", Files: 50}, {Work: "remount"}}, Before: "create", Files: 0.1}
	want := Scenario{{Work: "mkfs", Phase: "mkfs"}, {Work: "meta-create", Files: 5}, {Work: "remount"},
		{Work: "meta-create", Phase: "create", Files: 10}, {Work: "meta-create", Phase: "create", Files: 20}}
	if d := cmp.Diff(want, v.Apply(s)); d != "" {
		t.Error(d)
	}
	if s[1].Files != 100 || v.Earlier[0].Files != 50 {
		t.Errorf("the scenario or the variant was changed: %v %v", s, v)
	}
	for _, before := range []string{"", "nosuch"} {
		v := Variant{Earlier: Scenario{{Work: "remount"}}, Before: before}
		if d := cmp.Diff(s, v.Apply(s)); d != "" {
			t.Errorf("before %q: %s", before, d)
		}
	}
}
