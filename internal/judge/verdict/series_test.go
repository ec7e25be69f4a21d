package verdict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichfs/internal/judge/verdict/toy"
	"whichfs/internal/plan/study"
	"whichfs/internal/result"
)

// together judges runs on several storages.
func together(t *testing.T, storages ...string) SeriesVerdict {
	t.Helper()
	var all []Verdict
	for i, s := range storages {
		all = append(all, judged(t, toy.Run{Storage: s, Seed: uint64(i + 1)}))
	}
	return Series("the-series", all, toy.Study())
}

func seriesClaim(t *testing.T, v SeriesVerdict, id string) SeriesClaim {
	t.Helper()
	for _, c := range v.Claims {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no claim %s", id)
	return SeriesClaim{}
}

func TestSeries(t *testing.T) {
	v := together(t, toy.Disk, toy.Card, toy.SSD)
	var labels []string
	for _, s := range v.Storages {
		labels = append(labels, s.Label)
		if len(s.Answers) != 1 || !s.Settled {
			t.Errorf("%s: %q", s.Label, s.Answers)
		}
	}
	if diff := cmp.Diff([]string{"8 GB SD card, class 4", "120 GB SSD on USB", "1 TB hard disk"}, labels); diff != "" {
		t.Error(diff)
	}
	if len(v.Missing) != 0 || len(v.Warnings) != 0 || v.Reach == "" || v.Scale != "quick" {
		t.Errorf("missing %q, warnings %q, reach %q", v.Missing, v.Warnings, v.Reach)
	}
	// Four tables of the card, one of the disk, and one of any storage, three
	// times.
	if len(v.Numbers.Tables) != 8 || v.Numbers.Card.Tables != 2 || v.Numbers.Card.Cells != 12 {
		t.Errorf("%d tables, card %+v", len(v.Numbers.Tables), v.Numbers.Card)
	}
	if len(v.Choices) != 2 || len(v.Choices[0].Rows) != 3 || v.Choices[0].Rows[1].Published != [4]string{} || v.Choices[1].Of != 4 || v.Choices[1].Same != 4 {
		t.Errorf("%+v", v.Choices)
	}
}

// Of several machines each has its own place, in the order of the series, on whatever storage.
func TestSeriesOfMachines(t *testing.T) {
	var all []Verdict
	for i, machine := range []string{"ssh:b", "ssh:a"} {
		one := judged(t, toy.Run{Storage: toy.Card, Seed: uint64(i + 1)})
		one.Run.Machine = machine
		all = append(all, one)
	}
	v := Series("the-series", all, toy.Study())
	if !v.ByMachine || len(v.Storages) != 2 || v.Storages[0].Label != "ssh:b" || v.Storages[1].Key != "ssh:a" || len(v.Missing) != 0 || len(v.Warnings) != 0 {
		t.Errorf("%+v", v)
	}
	if len(v.Choices) == 0 || len(v.Choices[0].Rows) != 2 || !strings.HasSuffix(v.Choices[0].Rows[1].Storage, ", ssh:a") {
		t.Errorf("%+v", v.Choices)
	}
	if last := v.Numbers.Tables[len(v.Numbers.Tables)-1]; last.Storage != "ssh:a" {
		t.Errorf("%+v", last)
	}
}

func TestSeriesClaims(t *testing.T) {
	v := together(t, toy.Card, toy.SSD, toy.Disk)
	st := toy.Study()
	var all []Verdict
	for _, s := range v.Storages {
		all = append(all, s.Verdict)
	}
	// An emulated processor distorts what compression gains; hardware does not.
	if c := seriesClaim(t, v, "slower-gains-more"); c.Result != Undecided || !strings.HasSuffix(c.Figures, emulatedDistortion) {
		t.Errorf("%+v", c)
	}
	for i := range all {
		all[i].Trends[0].Doubt = ""
	}
	v = Series("hardware", all, st)
	for id, want := range map[string]string{
		"table-write": Agrees, "dirsync": Agrees, "noatime": Agrees, "shifted-none": Disagrees, "ratio": Agrees, "disk-write": Agrees,
		"slower-gains-more": Agrees, "boots": NotTested,
	} {
		c := seriesClaim(t, v, id)
		if c.Result != want {
			t.Errorf("%s: %s, want %s: %+v", id, c.Result, want, c)
		}
		if (len(c.On) > 0) == (c.Figures != "") {
			t.Errorf("%s has figures of the whole and of each storage, or neither: %+v", id, c)
		}
	}
	if c := seriesClaim(t, v, "dirsync"); len(c.On) != 3 || c.On[2].Storage != "1 TB hard disk" {
		t.Errorf("%+v", c)
	}
	if c := seriesClaim(t, v, "disk-write"); len(c.On) != 1 {
		t.Errorf("%+v", c)
	}
	trend := seriesClaim(t, v, "slower-gains-more")
	mustContain(t, "trend", trend.Figures, "btrfs relative to btrfs -o compress=lzo: 1.0", "on 120 GB SSD on USB, 1.3", "on 1 TB hard disk, 1.6")
	// The reverse trend is refuted, and two storages are enough for that.
	for i := range st.Claims {
		if k, ok := st.Claims[i].Check.(study.TrendCheck); ok {
			k.Falls = true
			st.Claims[i].Check = k
		}
	}
	two := Series("two", []Verdict{v.Storages[0].Verdict, v.Storages[1].Verdict}, st)
	if c := seriesClaim(t, two, "slower-gains-more"); c.Result != Disagrees || !strings.HasSuffix(c.Figures, "; no figure on 1 TB hard disk") {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]string{"The series has no run on 1 TB hard disk."}, two.Warnings); diff != "" {
		t.Error(diff)
	}
	if c := seriesClaim(t, Series("one", all[:1], st), "slower-gains-more"); c.Result != NotTested {
		t.Errorf("one storage shows a trend: %+v", c)
	}
	if v := Series("none", nil, st); len(v.Missing) != 3 || len(v.Claims) != len(st.Claims) {
		t.Errorf("%+v", v)
	}
}

// One storage that disagrees decides, then one that is undecided; best on one and
// sharing the place on another is sharing it.
func TestSeriesJoin(t *testing.T) {
	c := study.Claim{ID: "x", Contradicted: "1 against 2"}
	for _, x := range []struct {
		found []string
		want  string
	}{
		{[]string{Agrees, Agrees}, Agrees}, {[]string{Agrees, Shares}, Shares}, {[]string{Shares, Undecided, Agrees}, Undecided},
		{[]string{Undecided, Shares, Disagrees}, Disagrees}, {[]string{NotTested, Shares}, Shares}, {[]string{NotTested}, NotTested},
	} {
		var v SeriesVerdict
		for _, r := range x.found {
			v.Storages = append(v.Storages, SeriesStorage{Verdict: Verdict{Claims: []Claim{{ID: "x", Result: r, Figures: "f", Follows: "the mapping", DecidedBy: "a command"}}}})
		}
		got := v.claim(c, study.Study{})
		by := map[bool]string{true: "a command"}[x.want == Undecided || x.want == NotTested]
		if got.Result != x.want || got.Contradicted != c.Contradicted || got.Follows != "the mapping" || got.DecidedBy != by {
			t.Errorf("%v: %+v, want %s", x.found, got, x.want)
		}
	}
}

func TestSteps(t *testing.T) {
	iv := func(v, spread float64) Interval { return Interval{Value: v, Low: v / spread, High: v * spread} }
	for _, c := range []struct {
		ratios []Interval
		falls  bool
		want   string
	}{
		{[]Interval{iv(1, 1.05), iv(2, 1.05), iv(3, 1.05)}, false, Agrees},
		{[]Interval{iv(1, 1.05), iv(2, 1.05), iv(3, 1.05)}, true, Disagrees},
		{[]Interval{iv(1, 1.05), iv(2, 1.05), iv(1.98, 1.05)}, false, Undecided},
		{[]Interval{iv(1, 1.05), iv(2, 1.05), iv(1.5, 1.05)}, false, Disagrees},
		{[]Interval{iv(1, 2), iv(2, 2)}, false, Undecided},
		{[]Interval{{Value: 1, Low: 1, High: 1, Single: true}, iv(2, 1.01)}, false, Undecided},
	} {
		if got := steps(c.ratios, c.falls); got != c.want {
			t.Errorf("%+v falls %v: %s, want %s", c.ratios, c.falls, got, c.want)
		}
	}
}

// A run without any results joins a series as it is.
func TestSeriesWithEmptyRun(t *testing.T) {
	run, _, st := toy.Run{Storage: toy.SSD}.Make()
	run.State = result.Interrupted
	empty, err := Compute(run, nil, nil, st, Beside{})
	if err != nil {
		t.Fatal(err)
	}
	v := Series("s", []Verdict{judged(t, toy.Run{}), empty}, st)
	if len(v.Storages) != 2 || v.Storages[1].Settled || len(v.Storages[1].Answers) != 1 {
		t.Errorf("%+v", v.Storages[1])
	}
	if c := v.Choices[0].Rows[1]; c.Absent == "" {
		t.Errorf("%+v", c)
	}
}

// A series that leaves out a claim's storage says which one has it.
func TestSeriesWithoutStorage(t *testing.T) {
	st := toy.Study()
	st.Claims = []study.Claim{{ID: "late", Storage: "late", At: "claims", Check: study.ValueCheck{Column: "write", Candidate: toy.Ext4, High: 1}}}
	st.Storages = append(st.Storages, study.Storage{Key: "late", Label: "Late", At: "claims"})
	v := Series("s", []Verdict{judged(t, toy.Run{Storage: toy.Disk, Seed: 1}), judged(t, toy.Run{Storage: toy.Card, Seed: 2}), judged(t, toy.Run{Storage: toy.SSD, Seed: 3})}, st)
	if c := seriesClaim(t, v, "late"); c.Result != NotTested || !strings.Contains(c.DecidedBy, "--claims all") || len(v.Missing) != 0 {
		t.Errorf("%+v, missing %q", c, v.Missing)
	}
}
