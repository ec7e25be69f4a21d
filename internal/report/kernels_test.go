package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whichfs/internal/judge/verdict"
	"whichfs/internal/result"
)

// sampleKernels are two kernels compared with a third: one that changed more than a text lists, with one
// of everything, and one that changed nothing.
func sampleKernels() []verdict.Kernel {
	all := func(v float64) verdict.Interval { return verdict.Interval{Value: v, Low: v, High: v, N: 3} }
	k := verdict.Kernel{Reference: "Linux 6.1", Name: "Linux 6.12", Compared: 184, Changes: []verdict.KernelChange{
		{Column: "settle-unmount", Title: "settle-unmount", Unit: "s", Candidate: "btrfs -m single", Then: all(0.00767), Now: all(0.0005), Ratio: all(0.0005 / 0.00767)},
		{Column: "unmount", Title: "Unmount", Unit: "s", Candidate: "btrfs -m single", Then: all(0.0669), Now: all(0.0156), Ratio: verdict.Interval{Value: 0.234, Low: 0.031, High: 1.789, N: 3}},
		{Column: "write", Title: "Write", Unit: "s", Candidate: "ext4", Then: all(0.928), Now: all(1.722), Ratio: verdict.Interval{Value: 1.856, Low: 1.832, High: 1.880, N: 3}},
	}, Missing: []verdict.KernelMissing{{Title: "Read", Candidate: "xfs", Reason: "on Linux 6.12: no trial of it counts: mount: it broke"}, {Title: "Write", Candidate: "xfs", Reason: "on Linux 6.12: no trial of it counts: mount: it broke"}}}
	for i := range mostKernelChanges {
		k.Changes = append(k.Changes, verdict.KernelChange{Column: "p", Title: fmt.Sprintf("phase %d", i+1), Unit: "B", Candidate: "f2fs", Then: all(1 << 20), Now: all(1.05 * (1 << 20)), Ratio: all(1.05)})
	}
	return []verdict.Kernel{k, {Reference: "Linux 6.1", Name: "Linux 7.3", Compared: 184, Changes: []verdict.KernelChange{}}}
}

func TestKernelsGolden(t *testing.T) {
	v, trials := sample()
	v.Kernels = sampleKernels()
	v.Run.Conditions = append(v.Run.Conditions, result.Condition{Group: "machine", Name: "kernel [Linux 6.12]", Value: "6.12.95-virtual", Matters: true})
	text := string(render(t, "text", v, nil))
	if !strings.Contains(strings.Join(strings.Fields(text), " "), ", compared with 6.12.95-virtual, Linux 7.3") {
		t.Error("the head does not name the kernels")
	}
	_, text, _ = strings.Cut(text, "What the kernel changes")
	text, _, _ = strings.Cut(text, "Further measures")
	golden(t, "kernels.text", []byte("What the kernel changes"+text))
	page := string(render(t, "html", v, nil))
	_, section, _ := strings.Cut(page, `<section id="kernels"`)
	section, _, _ = strings.Cut(section, "</section>")
	golden(t, "kernels.html", []byte(`<section id="kernels"`+section+"</section>"))
	if !strings.Contains(page, `<a href="#kernels">`) || strings.Count(section, "phase ") != mostKernelChanges+1 { // and one row for their column
		t.Error("the page lacks the section in its contents, or some changes")
	}
	summary := string(render(t, "summary", v, nil))
	if !strings.Contains(summary, "None of 184 figures changed by more than 1 %") {
		t.Errorf("the summary does not say that nothing changed:\n%s", summary)
	}
	if json := string(render(t, "json", v, trials)); strings.Count(json, `"candidate": "f2fs"`) < mostKernelChanges {
		t.Error("the JSON report lacks changes")
	}
}

// By wall clock the section says how noise is told from change.
func TestTimedKernels(t *testing.T) {
	v, _ := sample()
	v.Kernels = sampleKernels()
	for _, timed := range []bool{false, true} {
		v.Kernels[0].Timed = timed
		text := strings.Join(strings.Fields(string(render(t, "text", v, nil))), " ")
		if strings.Contains(text, "The host adds no noise") == timed || strings.Contains(text, "one is listed by chance") != timed {
			t.Errorf("timed %t: %s", timed, text)
		}
	}
}

func TestKernelsHostile(t *testing.T) {
	v, _ := sample()
	v.Kernels = sampleKernels()
	n := 0
	poison(reflect.ValueOf(&v.Kernels).Elem(), &n)
	if text := render(t, "text", v, nil); slices.ContainsFunc([]rune(string(text)), func(r rune) bool { return r != '\n' && harmful(r) }) {
		t.Error("the text has control characters")
	}
	if page := string(render(t, "html", v, nil)); strings.Contains(page, "<script>window.pwned") || strings.Contains(page, "<img src=x") {
		t.Error("the page has elements from outside")
	}
}
