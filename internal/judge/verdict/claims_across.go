package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"whichfs/internal/judge/stats"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
	"whichfs/internal/sys/units"
)

// checkAcross compares the figures of a column on several storages of a series.
// Runs are independent, so the half-widths of their logarithms add as squares.
func checkAcross(out *SeriesClaim, k study.AcrossCheck, st study.Study, storages []SeriesStorage) {
	run := func(key string) (Verdict, bool) {
		at := slices.IndexFunc(storages, func(s SeriesStorage) bool { return s.Key == key })
		if at < 0 {
			return Verdict{}, false
		}
		return storages[at].Verdict, true
	}
	label := func(key string) string {
		s, _ := st.Storage("", key)
		return cmp.Or(s.Label, key)
	}
	on, ok := run(k.On)
	if !ok {
		out.Figures = "the series has no run on " + label(k.On)
		return
	}
	names := k.Candidates
	if len(names) == 0 {
		names = on.Run.Candidates
	}
	var results, texts, missing []string
	for _, key := range k.Over {
		other, ok := run(key)
		if !ok {
			missing = append(missing, "no run on "+label(key))
			continue
		}
		for _, n := range names {
			ratio, ok := across(on, other, k.Column, n)
			if !ok {
				missing = append(missing, n+" on "+label(key))
				continue
			}
			results = append(results, within(ratio, k.Low, k.High))
			texts = append(texts, fmt.Sprintf("%s %s of %s", n, ratioOf(ratio), label(key)))
		}
	}
	if len(results) == 0 {
		out.Figures = "the series has no ratio: " + units.List(missing, 3)
		return
	}
	out.Result = allOf(results)
	if len(missing) > 0 {
		out.Result = weaker(out.Result, false)
	}
	out.Figures = fmt.Sprintf("on %s: %s", label(k.On), strings.Join(texts, ", "))
	if len(missing) > 0 {
		out.Figures += "; missing: " + units.List(missing, 3)
	}
}

// across is the ratio of a candidate's times in two runs, for the same amount of
// work where both have a rate.
func across(a, b Verdict, key, name string) (Interval, bool) {
	cell := func(v Verdict) (Cell, bool) {
		for _, c := range slices.Concat(v.Columns, v.Extra) {
			if c.Key != key {
				continue
			}
			for _, one := range c.Cells {
				if one.Candidate == name && one.Absent == "" && one.Estimate.Value > 0 {
					return one, true
				}
			}
		}
		return Cell{}, false
	}
	x, there := cell(a)
	y, both := cell(b)
	if !there || !both {
		return Interval{}, false
	}
	first, second := x.Estimate, y.Estimate
	if x.Rate != nil && y.Rate != nil {
		first, second = *y.Rate, *x.Rate // less time is a higher rate
	}
	ratio := Interval{Value: first.Value / second.Value, N: min(first.N, second.N), Single: first.Single || second.Single}
	half := 0.0
	if !ratio.Single {
		half = math.Hypot(halfLog(first), halfLog(second))
	}
	ratio.Low, ratio.High = ratio.Value*math.Exp(-half), ratio.Value*math.Exp(half)
	return ratio, true
}

// checkKernels compares boots under the newest kernel of a run with those under
// the oldest.
func (f *figures) checkKernels(out *Claim, k study.KernelsCheck) error {
	kernels := f.bootKernels()
	if len(kernels) < 2 {
		out.Figures = "it compares boots under two kernels: whichfs run " + f.study.Name + " --kernels 6.1,6.12 does that in the lab, and kernels in a board's file on a board"
		return nil
	}
	oldest, newest := kernels[0], kernels[len(kernels)-1]
	boot := func(kernel string) study.Column {
		return study.Column{Name: "Boot", Unit: "s", Terms: []study.Term{{Phase: loginPhase + kernel, Metric: result.BootLogin}}}
	}
	newer := func(name string) (stats.Sample, string) {
		x, y, why := f.between(name, boot(newest), boot(oldest))
		if why != "" {
			return nil, why
		}
		return divided(x, y)
	}
	found := limited{low: k.Low, high: k.High}
	for _, name := range k.Candidates {
		sample, why := newer(name)
		if why == "" && k.Base != "" {
			var base stats.Sample
			if base, why = newer(k.Base); why == "" {
				sample, why = divided(sample, base)
			}
		}
		if why != "" {
			found.without(name, why)
			continue
		}
		if err := found.ratio(name, sample); err != nil {
			return fmt.Errorf("claim %s, %s: %w", out.ID, name, err)
		}
	}
	what := fmt.Sprintf("boot under %s over that under %s", newest, oldest)
	if k.Base != "" {
		what += ", in relation to " + k.Base
	}
	found.conclude(out, what)
	return nil
}

// bootKernels are the kernels under which anything was booted, oldest first.
func (f *figures) bootKernels() []string {
	var all []string
	for _, s := range f.subjects {
		for k, x := range s.figures {
			kernel, booted := strings.CutPrefix(k.phase, loginPhase)
			if booted && k.metric == result.BootLogin && len(x.values) > 0 && !slices.Contains(all, kernel) {
				all = append(all, kernel)
			}
		}
	}
	slices.SortFunc(all, compareKernels)
	return all
}

func compareKernels(a, b string) int { return slices.Compare(version(a), version(b)) }

// version is a kernel's version in numbers: 6.12 is newer than 6.1.
func version(kernel string) (numbers []int) {
	for word := range strings.SplitSeq(kernel, ".") {
		n, _ := strconv.Atoi(word)
		numbers = append(numbers, n)
	}
	return numbers
}
