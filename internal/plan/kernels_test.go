package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
)

func virtual(kernels ...string) Plan {
	p := sound()
	p.Clock, p.Storage = result.ClockVirtual, "sim:sd-basic,1G"
	p.ReadWrite = p.ReadWrite[:1]
	p.ReadOnly[0].Data = ""
	p.OnKernels(kernels)
	return p
}

// The first kernel is that of the candidates, and every candidate, an image as well, has a trial on each
// of the others.
func TestOnKernels(t *testing.T) {
	p := virtual("6.12", "6.1", "7.3")
	p.Candidates = parsed.Candidates("ext4", "erofs")
	must.Do(t, p.Check())
	var got []string
	for _, s := range Round(p, 2) {
		v, ok := p.Variant(s.Variant)
		if !ok {
			t.Errorf("no variant %q", s.Variant)
		}
		got = append(got, s.Named()+" "+v.Kernel)
	}
	slices.Sort(got)
	want := []string{"erofs ", "erofs [Linux 6.1] 6.1", "erofs [Linux 7.3] 7.3", "ext4 ", "ext4 [Linux 6.1] 6.1", "ext4 [Linux 7.3] 7.3"}
	if d := cmp.Diff(want, got); d != "" || p.Kernel != "6.12" || p.Factors[0].Reference != "Linux 6.12" {
		t.Errorf("%s\n%+v", d, p.Factors)
	}
	timed := p
	timed.Clock = result.ClockWall
	must.Do(t, timed.Check())
	text, err := p.Encode()
	must.Do(t, err)
	if again, err := Decode(text); err != nil || cmp.Diff(p, again, parsed.ByValue) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(p, again, parsed.ByValue))
	}
	if one := virtual("6.12"); one.Kernel != "6.12" || one.Factors != nil || one.Check() != nil {
		t.Errorf("a single kernel: %q, %v, %v", one.Kernel, one.Factors, one.Check())
	}
	if none := virtual(); none.Kernel != "" || none.Factors != nil {
		t.Errorf("no kernel: %q, %v", none.Kernel, none.Factors)
	}
}

func TestKernelsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		kernels     []string
		clock, want string
	}{
		"twice":         {[]string{"6.1", "6.12", "6.1"}, result.ClockVirtual, "kernel 6.1 appears twice"},
		"a level twice": {[]string{"6.1", "6.12", "6.12"}, result.ClockVirtual, "appears twice"},
		"counts":        {[]string{"6.1", "6.12"}, result.ClockInstructions, "have only the lab's own kernel"},
		"counts, one":   {[]string{"6.12"}, result.ClockInstructions, "have only the lab's own kernel"},
	} {
		p := virtual(c.kernels...)
		if p.Clock = c.clock; c.clock == result.ClockInstructions {
			p.Storage = "ram:512M"
		}
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
