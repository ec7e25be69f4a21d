package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/plan/processor"
	"whichfs/internal/plan/scenario"
	"whichfs/internal/result"
	"whichfs/internal/testing/must"
	"whichfs/internal/testing/parsed"
)

func wall() Plan {
	p := virtual()
	p.Clock = result.ClockWall
	p.Candidates = parsed.Candidates("ext4", "erofs")
	return p
}

// levels are the trials of a round with what each needs of a guest.
func levels(t *testing.T, p Plan) map[string]scenario.Guest {
	t.Helper()
	got := map[string]scenario.Guest{}
	for _, s := range Round(p, 2) {
		v, ok := p.Variant(s.Variant)
		if !ok {
			t.Errorf("no variant %q", s.Variant)
		}
		got[s.Named()] = v.Guest()
	}
	return got
}

// The first number of processors is that of all trials, and every candidate, an image as well, has a
// trial with each of the others.
func TestOnCPUs(t *testing.T) {
	p := wall()
	p.OnCPUs([]int{2, 1, 4})
	must.Do(t, p.Check())
	want := map[string]scenario.Guest{
		"ext4": {}, "ext4 [1 processor]": {CPUs: 1}, "ext4 [4 processors]": {CPUs: 4},
		"erofs": {}, "erofs [1 processor]": {CPUs: 1}, "erofs [4 processors]": {CPUs: 4},
	}
	if d := cmp.Diff(want, levels(t, p)); d != "" || p.CPUs != 2 || p.Factors[0].Reference != "2 processors" {
		t.Errorf("%s\n%+v", d, p.Factors)
	}
	if names := slices.Collect(func(yield func(string) bool) {
		for _, v := range p.Guests() {
			if !yield(v.Name) {
				return
			}
		}
	}); !slices.Equal(names, []string{"1 processor", "4 processors"}) {
		t.Errorf("levels with a guest of their own: %q", names)
	}
	if one := wall(); one.CPUs != 0 || len(one.Guests()) != 0 {
		t.Errorf("nothing asked for: %+v", one)
	}
}

func TestCPUsRefused(t *testing.T) {
	slow, err := processor.Parse("250MIPS")
	must.Do(t, err)
	for name, c := range map[string]struct {
		cpus   []int
		change func(*Plan)
		want   string
	}{
		"twice":       {[]int{2, 1, 2}, func(*Plan) {}, "2 processors: the number appears twice"},
		"one, twice":  {[]int{1, 1}, func(*Plan) {}, "1 processor: the number appears twice"},
		"too many":    {[]int{257}, func(*Plan) {}, "from 1 to 256, not 257"},
		"negative":    {[]int{1, -1}, func(*Plan) {}, "from 1 to 256, not -1"},
		"virtual":     {[]int{2}, func(p *Plan) { p.Clock = result.ClockVirtual }, "only guests with the clock wall"},
		"instruction": {[]int{1, 2}, func(p *Plan) { p.Clock, p.Storage = result.ClockInstructions, "ram:64M" }, "only guests with the clock wall"},
		"paced":       {[]int{2}, func(p *Plan) { p.Processor = &slow }, "their own processors"},
	} {
		p := wall()
		p.OnCPUs(c.cpus)
		c.change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	single := wall()
	single.Clock = result.ClockVirtual
	single.OnCPUs([]int{1})
	must.Do(t, single.Check())
}

func TestOnMemory(t *testing.T) {
	p := wall()
	p.OnMemory([]int64{256 << 20, 1 << 30})
	p.OnCPUs([]int{1, 2})
	must.Do(t, p.Check())
	want := map[string]scenario.Guest{
		"ext4": {}, "ext4 [memory 1G]": {Memory: 1 << 30}, "ext4 [2 processors]": {CPUs: 2},
		"erofs": {}, "erofs [memory 1G]": {Memory: 1 << 30}, "erofs [2 processors]": {CPUs: 2},
	}
	if d := cmp.Diff(want, levels(t, p)); d != "" || p.Memory != 256<<20 || p.Factors[0].Reference != "memory 256M" {
		t.Errorf("%s\n%+v", d, p.Factors)
	}
	p.Clock = result.ClockVirtual
	p.OnCPUs([]int{1})
	p.Factors = p.Factors[:1]
	must.Do(t, p.Check())
	for want, change := range map[string]func(*Plan){
		"memory 256M appears twice": func(p *Plan) { p.OnMemory([]int64{256 << 20, 1 << 20, 256 << 20}) },
		"not -1":                    func(p *Plan) { p.OnMemory([]int64{256 << 20, -1}) },
		"must be a number of bytes": func(p *Plan) { p.OnMemory([]int64{-5}) },
		"instruction counts do not": func(p *Plan) {
			p.OnMemory([]int64{256 << 20, 1 << 30})
			p.Clock, p.Storage = result.ClockInstructions, "ram:64M"
		},
	} {
		p := wall()
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
